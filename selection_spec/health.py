"""The health settings of a selection table as values (design §5, semantics H2, H3, H4, H6).

Times are seconds. Lists of rules are sorted: their order means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Mode(StrEnum):
    """How far we go with what has failed (H6), in rising order.

    ``OBSERVE`` only says what would be done, ``QUARANTINE`` keeps new Pods away, ``EVICT`` also
    moves the Pods that are there.
    """

    OBSERVE = "Observe"
    QUARANTINE = "Quarantine"
    EVICT = "Evict"

    @property
    def reach(self) -> int:
        """How far it goes, 0 to 2; modes do not compare by their names."""
        return tuple(Mode).index(self)


class Severity(StrEnum):
    """What a signal is worth (H3).

    ``FATAL`` fails its subject at once, ``ERROR`` after several bad observations, ``WARNING`` never
    makes it more than suspect.
    """

    FATAL = "Fatal"
    ERROR = "Error"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class ConditionRule:
    """A node condition that is listened to (H2 a).

    Attributes:
        bad_status: The status that is bad: ``True`` or ``False``, as text.
        reason: A regular expression that is searched in the condition's reason; "" for any reason.
        min_duration_s: Seconds that the condition has to be bad before it counts.
    """

    type: str
    bad_status: str
    severity: Severity
    reason: str = ""
    min_duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TaintRule:
    """A node taint of somebody else's that is listened to (H2 b); None stands for any."""

    key: str
    severity: Severity
    value: str | None = None
    effect: str | None = None


@dataclass(frozen=True, slots=True)
class LabelRule:
    """A node label of somebody else's that is listened to where it has this value."""

    key: str
    value: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """All that a table says about health; what it does not say is as here.

    Attributes:
        mode: How far we go for rows without a mode of their own.
        row_modes: Modes by row id (H6).
        conditions: What is listened to besides what is shipped; likewise the taints and labels.
        ignored: Types of shipped conditions, keys of shipped taints and labels that are not
            listened to.
        observe_every_s: Seconds between two observations that count as two (H3).
        bad_observations: How many fail a subject whose signal is not fatal (H3).
        good_observations: How many in a row a recovery needs (H3).
        crash_window_s: Seconds within which crashes of different owners are one signal (H2 g).
        recovery_s: Seconds that the first recovery takes; each relapse doubles them (H3).
        longest_recovery_s: Seconds beyond which they are not doubled.
        quarantine_percent: The share of a row's nodes or devices that is ever in quarantine, at
            least one of them (H4).
        evictions: The most evictions in a window (H4).
        evictions_per_namespace: The most of them in one namespace (H4).
        eviction_window_s: Seconds of that window.
        evict_after_s: Seconds between a failure and the first eviction, so that a breaker may come
            between (H5).
    """

    mode: Mode = Mode.OBSERVE
    row_modes: Mapping[str, Mode] = field(default_factory=dict, hash=False)
    conditions: tuple[ConditionRule, ...] = ()
    taints: tuple[TaintRule, ...] = ()
    labels: tuple[LabelRule, ...] = ()
    ignored: frozenset[str] = frozenset()
    observe_every_s: float = 10.0
    bad_observations: int = 3
    good_observations: int = 3
    crash_window_s: float = 600.0
    recovery_s: float = 300.0
    longest_recovery_s: float = 86_400.0
    quarantine_percent: int = 20
    evictions: int = 10
    evictions_per_namespace: int = 8
    eviction_window_s: float = 600.0
    evict_after_s: float = 3.0

    def mode_of(self, rows: Iterable[str]) -> Mode:
        """Return how far we go with a subject of these rows: as far as the most cautious (H6).

        A row without a mode of its own has the table's. What is of no row is only observed.
        """
        modes = (self.row_modes.get(row, self.mode) for row in rows)
        return min(modes, key=lambda mode: mode.reach, default=Mode.OBSERVE)
