"""Why an answer is what it is: one word for logs and metrics, one sentence for people."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """A closed set, so that it may be a metric's label."""

    TRANSLATED = "Translated"
    ZERO_REMOVED = "ZeroRemoved"
    NO_SPEC = "NoSpec"
    OTHER_OPERATION = "OtherOperation"
    MIRROR_POD = "MirrorPod"
    LEFT_AS_IS = "LeftAsIs"
    BAD_KEY = "BadKey"
    BAD_AMOUNT = "BadAmount"
    AMBIGUOUS = "Ambiguous"
    NO_SUCH_DEVICE = "NoSuchDevice"
    NO_COMMON_DEVICE = "NoCommonDevice"
    OWN_SELECTORS = "OwnSelectors"
    OTHER_PLATFORM = "OtherPlatform"
    TOO_MANY_FOR_A_NODE = "TooManyForANode"
    NO_CLAIM_POSSIBLE = "NoClaimPossible"
    NO_DEVICE_CLASS = "NoDeviceClass"
    DAEMON_SET = "DaemonSet"
    NO_SUCH_PRIORITY = "NoSuchPriority"
    GOOD_TABLE = "GoodTable"
    BAD_TABLE = "BadTable"
    TABLE_IN_USE = "TableInUse"
    GOOD_WORKLOAD = "GoodWorkload"

    @property
    def sentence(self) -> str:
        """What it means, for people."""
        return _SENTENCES[self]


_SENTENCES = {
    Reason.TRANSLATED: "The spec became a resource and a place.",
    Reason.ZERO_REMOVED: "A spec of zero devices was removed (A3).",
    Reason.NO_SPEC: "No container has a key <domain>/gpu-... of this table.",
    Reason.OTHER_OPERATION: "Not the creation of a Pod (R1), or nothing new about Pods.",
    Reason.MIRROR_POD: "The kubelet has already started this Pod (N7).",
    Reason.LEFT_AS_IS: "A field has a shape that the API server refuses later (R6).",
    Reason.BAD_KEY: "A key is a misspelt spec (G1, G4).",
    Reason.BAD_AMOUNT: "An amount is no number of devices that a node can have (A1 to A4).",
    Reason.AMBIGUOUS: "Two requests where one is possible, or a key in the wrong place (A5, A8).",
    Reason.NO_SUCH_DEVICE: "No device has that name, or that much memory (G5, D6).",
    Reason.NO_COMMON_DEVICE: "No device meets the specs of all containers (D1).",
    Reason.OWN_SELECTORS: "The Pod's own selectors exclude every device that fits (N3, N4).",
    Reason.OTHER_PLATFORM: "The devices that fit are on another os or architecture (D10).",
    Reason.TOO_MANY_FOR_A_NODE: "No node has that many devices (D2).",
    Reason.NO_CLAIM_POSSIBLE: "A claim cannot hold that many, or a node is given (C2, C6, N7).",
    Reason.NO_DEVICE_CLASS: "The DeviceClass that the devices need does not exist (C3).",
    Reason.DAEMON_SET: "A DaemonSet picks its nodes before admission (N8).",
    Reason.NO_SUCH_PRIORITY: "The API server refuses the Pod's priority (D3).",
    Reason.GOOD_TABLE: "The selection table breaks no law.",
    Reason.BAD_TABLE: "The selection table breaks a law, or changes its domain.",
    Reason.TABLE_IN_USE: "The selection table decides for every Pod and may not be deleted.",
    Reason.GOOD_WORKLOAD: "No Pod of the workload would be refused.",
}

_BY_RULE = {
    "G1": Reason.BAD_KEY,
    "G4": Reason.BAD_KEY,
    "A1": Reason.BAD_AMOUNT,
    "A2": Reason.BAD_AMOUNT,
    "A4": Reason.BAD_AMOUNT,
    "A5": Reason.AMBIGUOUS,
    "A8": Reason.AMBIGUOUS,
    "G5": Reason.NO_SUCH_DEVICE,
    "D6": Reason.NO_SUCH_DEVICE,
    "D1": Reason.NO_COMMON_DEVICE,
    "N3": Reason.OWN_SELECTORS,
    "N4": Reason.OWN_SELECTORS,
    "D10": Reason.OTHER_PLATFORM,
    "D2": Reason.TOO_MANY_FOR_A_NODE,
    "C2": Reason.NO_CLAIM_POSSIBLE,
    "C6": Reason.NO_CLAIM_POSSIBLE,
    "N7": Reason.NO_CLAIM_POSSIBLE,
    "C3": Reason.NO_DEVICE_CLASS,
    "N8": Reason.DAEMON_SET,
    "D3": Reason.NO_SUCH_PRIORITY,
}


def reason_of_rule(rule: str) -> Reason:
    """Return the reason of a denial by the rule of its first problem."""
    return _BY_RULE[rule]
