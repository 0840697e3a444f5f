"""Every rule that a finding can be of; ids are never given twice."""

from __future__ import annotations

from typing import Final

from selection_spec.errors import Level
from webhook.advice.findings.rule import Rule

UNREADABLE: Final = Rule(
    "GS001",
    "unreadable",
    Level.ERROR,
    "A document cannot be read.",
    "kubectl could not read it either, so nothing in it would be applied. What else is in the "
    "file is judged all the same.",
    wrong="spec: {containers: [",
    right="spec: {containers: []}",
)

UNRENDERED: Final = Rule(
    "GS002",
    "unrendered-template",
    Level.WARNING,
    "A template of Helm that was not rendered.",
    "What Kubernetes will get is not known before `helm template` has filled it in, so the file "
    "is not judged. Judge its output: `helm template CHART | gpuspec validate -`; or leave the "
    "folder out by a line in `.gpuspecignore`.",
    wrong='limits: {preferred.jp/gpu-a100: "{{ .Values.gpus }}"}',
)

SURPRISE: Final = Rule(
    "GS003",
    "yaml-surprise",
    Level.WARNING,
    "YAML that kubectl reads otherwise than it looks, or than other readers do.",
    "A key that stands twice, `no` for a name, `0x10` for a number: kubectl reads them, and "
    "mostly not as they were meant.",
    wrong="limits:\n  preferred.jp/gpu-a100: 1\n  preferred.jp/gpu-a100: 8",
    right="limits:\n  preferred.jp/gpu-a100: 8",
)

UNUSED: Final = Rule(
    "GS004",
    "unused-suppression",
    Level.WARNING,
    "A suppression that suppresses nothing.",
    "What it was for is gone, or it stands in the wrong place. A comment is for its own line, or "
    "for the next one where it stands alone; an annotation is for its whole object.",
    wrong="# gpuspec: ignore GS110 -- was renamed",
)

UNREASONED: Final = Rule(
    "GS005",
    "suppression-without-reason",
    Level.WARNING,
    "A suppression that names no rule, or gives no reason, and so suppresses nothing.",
    "Whoever finds it in a year has to know whether it may go.",
    wrong="# gpuspec: ignore GS110",
    right="# gpuspec: ignore GS110 -- the card comes in March",
)

MISSPELT: Final = Rule(
    "GS101",
    "misspelt-spec",
    Level.ERROR,
    "A key is meant as a GPU Selection Spec and is none.",
    "A spec is `gpu-any`, `gpu-<name>`, `gpu-any-<N>gb` or `gpu-<name>-<N>gb`, in lower-case "
    "letters, with whole gigabytes.",
    wrong="limits: {preferred.jp/gpu-A100: 1}",
    right="limits: {preferred.jp/gpu-a100: 1}",
    semantics=("G1", "G4"),
)

AMOUNT: Final = Rule(
    "GS102",
    "impossible-amount",
    Level.ERROR,
    "An amount is no number of devices that a node can have.",
    "Devices come whole, and limits and requests have to agree.",
    wrong="limits: {preferred.jp/gpu-a100: 500m}",
    right="limits: {preferred.jp/gpu-a100: 1}",
    semantics=("A1", "A2", "A4"),
)

AMBIGUOUS: Final = Rule(
    "GS103",
    "ambiguous-request",
    Level.ERROR,
    "Two requests where one is possible, or a key in the Pod's own resources.",
    "A container gets devices of one spec, and its devices are asked for in that container alone.",
    wrong="limits: {preferred.jp/gpu-a100: 1, nvidia.com/gpu: 1}",
    right="limits: {preferred.jp/gpu-a100: 1}",
    semantics=("A5", "A8"),
)

NO_DEVICE: Final = Rule(
    "GS104",
    "no-such-device",
    Level.ERROR,
    "No device of the table has that name, or that much memory, or it is reserved.",
    "`gpuspec explain SPEC` tells for each kind of device why it is out.",
    wrong="limits: {preferred.jp/gpu-a30-32gb: 1}",
    right="limits: {preferred.jp/gpu-any-32gb: 1}",
    semantics=("G5", "D6"),
)

NO_COMMON: Final = Rule(
    "GS105",
    "no-common-device",
    Level.ERROR,
    "No device meets the specs of all containers of a Pod.",
    "A Pod runs on one node, and a node has one kind of device unless the table says otherwise.",
    semantics=("D1",),
)

OWN_SELECTORS: Final = Rule(
    "GS106",
    "own-selectors",
    Level.ERROR,
    "The Pod's own selectors exclude every device that fits.",
    "What the spec allows and what nodeSelector or affinity allow have no node in common.",
    wrong="nodeSelector: {gpu-model: v100-16gb}  # beside preferred.jp/gpu-any-24gb: 1",
    right="# no nodeSelector: the spec alone finds the nodes",
    semantics=("N3", "N4"),
)

PLATFORM: Final = Rule(
    "GS107",
    "other-platform",
    Level.ERROR,
    "The devices that fit are on nodes of another operating system or architecture.",
    "`spec.os` or a selector on `kubernetes.io/arch` excludes them.",
    semantics=("D10",),
)

TOO_MANY: Final = Rule(
    "GS108",
    "too-many-for-a-node",
    Level.ERROR,
    "No node has that many devices, so the Pod would never be scheduled.",
    "A Pod runs on one node. Ask for fewer, and for more Pods.",
    wrong="limits: {preferred.jp/gpu-a100: 12}",
    right="limits: {preferred.jp/gpu-a100: 8}",
    semantics=("D2",),
)

NO_CLAIM: Final = Rule(
    "GS109",
    "no-claim-possible",
    Level.ERROR,
    "A claim cannot hold that many devices, or a node is given where one is claimed.",
    "See `gpuspec explain -f` for the claims that the Pod would get.",
    semantics=("C2", "C6", "N7"),
)

NO_CLASS: Final = Rule(
    "GS110",
    "no-device-class",
    Level.ERROR,
    "The DeviceClass that the devices need does not exist.",
    "Only judged with `--cluster`.",
    semantics=("C3",),
)

DAEMON_SET: Final = Rule(
    "GS111",
    "daemon-set",
    Level.ERROR,
    "A DaemonSet asks by a spec, and picks its nodes before admission can.",
    "Its Pods would be denied. Apply it translated: `gpuspec mutate -f FILE | kubectl apply -f -`.",
    semantics=("N8",),
)

NO_PRIORITY: Final = Rule(
    "GS112",
    "no-such-priority",
    Level.ERROR,
    "The API server refuses the Pod's priority.",
    "Its PriorityClass does not exist, or contradicts its number.",
    semantics=("D3",),
)

ADMISSION_WARNS: Final = Rule(
    "GS120",
    "admission-warns",
    Level.WARNING,
    "Admission lets the Pod in, and warns.",
    "kubectl shows the same sentence where the Pod is created.",
)

LEFT_AS_IS: Final = Rule(
    "GS121",
    "left-as-is",
    Level.WARNING,
    "A field has a shape that the API server refuses.",
    "Admission leaves such a Pod as it is, and then Kubernetes refuses it.",
    wrong="containers: null",
    semantics=("R6",),
)

PRIORITY_MATTERS: Final = Rule(
    "GS122",
    "priority-matters",
    Level.NOTE,
    "The Pod's priority is not known, and decides which devices it may have.",
    "Give the PriorityClass among the files, by `--priority-class-file`, or say `--priority-class` "
    "or `--priority`.",
    semantics=("D3",),
)

STRAY: Final = Rule(
    "GS201",
    "key-does-nothing",
    Level.WARNING,
    "A key of ours stands where nobody reads it.",
    "Only `resources` of a Pod's containers ask for devices.",
    wrong="kind: PersistentVolumeClaim\nspec: {resources: {requests: {preferred.jp/gpu-a100: 1}}}",
    semantics=("A8",),
)

QUOTA: Final = Rule(
    "GS202",
    "quota-does-not-count",
    Level.WARNING,
    "A ResourceQuota counts a key that no Pod has once it is admitted.",
    "A quota is charged for what admission has made of a Pod: the devices' own resource, or their "
    "DeviceClass.",
    wrong="hard: {requests.preferred.jp/gpu-a100: 8}",
    right="hard: {requests.nvidia.com/gpu: 8}",
)

LIMIT_RANGE: Final = Rule(
    "GS203",
    "limit-range",
    Level.WARNING,
    "A LimitRange would give every container of its namespace a key of ours.",
    "Its defaults are put into each container that has none: then every Pod there wants a GPU.",
    wrong="kind: LimitRange\n"
    "spec: {limits: [{type: Container, default: {preferred.jp/gpu-any: 1}}]}",
    semantics=("A5",),
)

MENTIONED: Final = Rule(
    "GS204",
    "mentioned-in-text",
    Level.NOTE,
    "A text, such as a ConfigMap's, mentions a key of ours and is not judged.",
    "It may be a manifest that something applies later. Judge that where it is made.",
)

FLEET: Final = Rule(
    "GS205",
    "more-than-there-is",
    Level.WARNING,
    "A workload asks for more devices at once than all nodes that fit have together.",
    "Some of its Pods would never be scheduled. Judged with `--fleet` or `--cluster` only.",
    wrong="replicas: 500  # of Pods with preferred.jp/gpu-a100: 8",
)

BY_HAND: Final = Rule(
    "GS206",
    "by-hand",
    Level.NOTE,
    "A Pod asks for devices by their own resource, and chooses nodes by hand.",
    "A spec says the same in one line, and goes on to do so when labels or taints change.",
    wrong="limits: {nvidia.com/gpu: 1}\n# and a nodeSelector with the card's label",
    right="limits: {preferred.jp/gpu-a100: 1}",
)

TABLE: Final = Rule(
    "GS301",
    "bad-table",
    Level.ERROR,
    "A SelectionTable breaks a law, and would be refused.",
    "`gpuspec table lint FILE` tells the same.",
)

TABLE_SMELL: Final = Rule(
    "GS302",
    "doubtful-table",
    Level.WARNING,
    "Something in a SelectionTable is allowed and probably not meant.",
    "`gpuspec table lint FILE` tells the same.",
)

RULES: Final = (
    UNREADABLE,
    UNRENDERED,
    SURPRISE,
    UNUSED,
    UNREASONED,
    MISSPELT,
    AMOUNT,
    AMBIGUOUS,
    NO_DEVICE,
    NO_COMMON,
    OWN_SELECTORS,
    PLATFORM,
    TOO_MANY,
    NO_CLAIM,
    NO_CLASS,
    DAEMON_SET,
    NO_PRIORITY,
    ADMISSION_WARNS,
    LEFT_AS_IS,
    PRIORITY_MATTERS,
    STRAY,
    QUOTA,
    LIMIT_RANGE,
    MENTIONED,
    FLEET,
    BY_HAND,
    TABLE,
    TABLE_SMELL,
)
"""All of them, by id."""

BY_ID: Final = {one.id: one for one in RULES}

_BY_SEMANTICS: Final = {
    number: one for one in RULES if one.level is Level.ERROR for number in one.semantics
}


def of_denial(semantics: str) -> Rule:
    """Return the rule that stands for a denial by a rule of the semantics.

    Raises:
        KeyError: Admission denies nobody by that rule.
    """
    return _BY_SEMANTICS[semantics]
