"""The rules that admission itself refuses by, or warns."""

from __future__ import annotations

from typing import Final

from selection_spec.errors import Level
from webhook.advice.findings.rule import Rule

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
    wrong="""\
spec:
  containers:
    - name: train
      resources: {limits: {preferred.jp/gpu-a100: 1}}
    - name: view
      resources: {limits: {preferred.jp/gpu-a30: 1}}""",
    right="""\
spec:
  containers:
    - name: train
      resources: {limits: {preferred.jp/gpu-a100: 1}}
    - name: view
      resources: {limits: {preferred.jp/gpu-any: 1}}""",
    semantics=("D1",),
)

OWN_SELECTORS: Final = Rule(
    "GS106",
    "own-selectors",
    Level.ERROR,
    "The Pod's own selectors exclude every device that fits.",
    "What the spec allows and what nodeSelector or affinity allow have no node in common.",
    wrong="""\
spec:
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-A30}
  containers:
    - name: train
      resources: {limits: {preferred.jp/gpu-any-32gb: 1}}""",
    right="""\
spec:
  containers:
    - name: train
      resources: {limits: {preferred.jp/gpu-any-32gb: 1}}""",
    semantics=("N3", "N4"),
)

PLATFORM: Final = Rule(
    "GS107",
    "other-platform",
    Level.ERROR,
    "The devices that fit are on nodes of another operating system or architecture.",
    "`spec.os` or a selector on `kubernetes.io/arch` excludes them.",
    wrong="""\
spec:
  nodeSelector: {kubernetes.io/arch: arm64}
  containers:
    - name: train
      resources: {limits: {preferred.jp/gpu-a100: 1}}""",
    right="""\
spec:
  containers:
    - name: train
      resources: {limits: {preferred.jp/gpu-a100: 1}}""",
    semantics=("D10",),
)

TOO_MANY: Final = Rule(
    "GS108",
    "too-many-for-a-node",
    Level.ERROR,
    "No node has that many devices, so the Pod would never be scheduled.",
    "A Pod runs on one node. Ask for fewer, and for more Pods.",
    wrong="""\
spec:
  containers:
    - name: train
      resources: {limits: {preferred.jp/gpu-a30: 8}}
    - name: test
      resources: {limits: {preferred.jp/gpu-a30: 8}}""",
    right="""\
spec:
  containers:
    - name: train
      resources: {limits: {preferred.jp/gpu-a30: 4}}
    - name: test
      resources: {limits: {preferred.jp/gpu-a30: 4}}""",
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
    wrong="""\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  template:
    spec:
      containers:
        - name: agent
          resources: {limits: {preferred.jp/gpu-any: 1}}""",
    right="""\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  template:
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-A30}
      containers:
        - name: agent
          resources: {limits: {nvidia.com/gpu: 1}}""",
    semantics=("N8",),
)

NO_PRIORITY: Final = Rule(
    "GS112",
    "no-such-priority",
    Level.ERROR,
    "The API server refuses the Pod's priority.",
    "Its PriorityClass does not exist, or contradicts its number. Only judged with `--cluster`: of "
    "other classes than those among the files nothing is known.",
    semantics=("D3",),
)

ADMISSION_WARNS: Final = Rule(
    "GS120",
    "admission-warns",
    Level.WARNING,
    "Admission lets the Pod in, and warns.",
    "kubectl shows the same sentence where the Pod is created.",
    wrong="limits: {preferred.jp/a100-80gb: 1}",
    right="limits: {preferred.jp/gpu-a100-80gb: 1}",
)

LEFT_AS_IS: Final = Rule(
    "GS121",
    "left-as-is",
    Level.WARNING,
    "A field has a shape that the API server refuses.",
    "Admission leaves such a Pod as it is, and then Kubernetes refuses it.",
    wrong="spec: {containers: null}",
    right="spec: {containers: [{name: train}]}",
    semantics=("R6",),
)

PRIORITY_MATTERS: Final = Rule(
    "GS122",
    "priority-matters",
    Level.NOTE,
    "The Pod's priority is not known, and decides which devices it may have.",
    "Give the PriorityClass among the files, by `--priority-class-file`, or say `--priority-class` "
    "or `--priority`.",
    wrong="limits: {preferred.jp/gpu-any: 1}",
    right="""\
spec:
  priorityClassName: gpuspec-high
  containers:
    - name: train
      resources: {limits: {preferred.jp/gpu-any: 1}}""",
    semantics=("D3",),
)

RULES: Final = (
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
)
