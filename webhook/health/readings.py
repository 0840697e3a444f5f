"""What signals say of subjects right now (semantics H2, H3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from selection_spec.health import Severity
from webhook.health.subjects import Subject


class Source(StrEnum):
    """Where a signal comes from."""

    CONDITION = "NodeCondition"
    TAINT = "NodeTaint"
    LABEL = "NodeLabel"
    ALLOCATABLE = "Allocatable"
    DEVICE_TAINT = "DeviceTaint"
    POD_STATUS = "AllocatedResourcesStatus"
    REJECTED = "UnexpectedAdmissionError"
    CRASHES = "CrashLoop"
    PROBE = "Probe"


class Grade(IntEnum):
    """How bad a reading is; unknown neither acts nor clears (H3)."""

    GOOD = 0
    UNKNOWN = 1
    WARNING = 2
    ERROR = 3
    FATAL = 4


GRADES = {
    Severity.WARNING: Grade.WARNING,
    Severity.ERROR: Grade.ERROR,
    Severity.FATAL: Grade.FATAL,
}
"""What a configured severity comes to."""


SKEW_S = 60.0
"""By how much a node's clock may be ahead of ours: what it dates later tells no time."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One signal about one subject, anything but good.

    Attributes:
        name: Which of the source's signals: a condition's type, a taint's key.
        said: What it said, for people.
        since: Since when, in seconds since 1970; 0 where that is not known.
        times: How many observations it stands for by itself, where its source tells events rather
            than a state (H3); 0 for a state, which is observed again and again.
    """

    subject: Subject
    source: Source
    name: str
    grade: Grade
    said: str
    since: float = 0.0
    times: int = 0

    @property
    def key(self) -> tuple[Source, str]:
        """Tells it from the other readings of its subject."""
        return self.source, self.name
