"""Too much failing at once is the sensor's fault, not the hardware's (semantics H5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from webhook.health.cases import Case
from webhook.health.ledger import Ledger
from webhook.health.observed import Observed
from webhook.health.subjects import Kind, Subject

WINDOW_S = 300.0
_SUBJECTS = 3
_NODES = 2
_SHARE = 2  # one in so many

# So many rows stopped: everything stops.
_ROWS = 2


@dataclass(frozen=True, slots=True)
class Breakers:
    """Which rows are stopped.

    Attributes:
        rows: Their ids, and since when, in seconds since 1970.
        kin: By row, the one that stands for it among those that have nodes in common with it: one
            storm stopped them all. A row that is not in here stands for itself.
    """

    rows: Mapping[str, float]
    kin: Mapping[str, str] = field(default_factory=dict)

    @property
    def stops_all(self) -> bool:
        """Whether everything is stopped."""
        return len({self.kin.get(row, row) for row in self.rows}) >= _ROWS

    def stops(self, rows: Iterable[str]) -> bool:
        """Tell whether nothing may be done about a node of these rows."""
        return self.stops_all or any(row in self.rows for row in rows)


def breakers_of(ledger: Ledger, observed: Observed) -> Breakers:
    """Return the breakers that a ledger has, for the rows as their nodes are now."""
    stopped = ledger.breakers
    if len(stopped) < _ROWS:
        return Breakers(stopped)
    kin = {row: row for row in stopped}
    for rows in set(observed.rows.values()):
        those = {kin[row] for row in rows if row in kin}
        if len(those) > 1:
            one = min(those)
            kin = {row: one if whose in those else whose for row, whose in kin.items()}
    return Breakers(stopped, kin)


def with_breakers(ledger: Ledger, cases: Iterable[Case], observed: Observed, now: float) -> Ledger:
    """Return a ledger with the rows stopped in which too much failed at once."""
    failed: dict[tuple[str, bool], list[tuple[Subject, float]]] = defaultdict(list)
    for case in _counted(cases, now):
        for row in observed.rows.get(case.subject.node, ()):
            if case.failed > ledger.resumed.get(row, 0.0):
                failed[row, case.subject.is_node].append((case.subject, case.failed))
    stopped = dict(ledger.breakers)
    for (row, is_node), those in failed.items():
        nodes = {subject.node for subject, _ in those}
        size = observed.size(row, Kind.NODE if is_node else Kind.DRA)
        is_many = len(those) >= _SUBJECTS and len(nodes) >= _NODES
        if is_many and len(those) * _SHARE >= size:
            stopped.setdefault(row, now)
    return ledger if stopped == ledger.breakers else replace(ledger, breakers=stopped)


def _counted(cases: Iterable[Case], now: float) -> Iterator[Case]:
    """Yield what failed lately, each device once: withheld, and named by a Pod, it is one (H1)."""
    recent = [case for case in cases if now - WINDOW_S < case.failed]
    named = {(one.subject.node, one.subject.resource) for one in recent if one.subject.device}
    for case in recent:
        subject = case.subject
        is_withheld = bool(subject.resource) and not subject.device
        if not (is_withheld and (subject.node, subject.resource) in named):
            yield case
