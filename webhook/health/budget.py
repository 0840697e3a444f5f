"""How much may be done: a share of a row, and evictions in a window (semantics H4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum

from selection_spec.health import HealthPolicy
from webhook.health.ledger import Eviction, Ledger
from webhook.health.observed import Observed
from webhook.health.subjects import Kind, Subject
from webhook.inventory.pod_facts import PodFacts


class Spent(Enum):
    """Which budget is spent."""

    ROW = "row"
    NAMESPACE = "namespace"
    WINDOW = "window"


def quarantine_limit(size: int, percent: int) -> int:
    """Return how many of a row's nodes or devices may be quarantined: a share, at least one."""
    return max(1, size * percent // 100)


class Budget:
    """What is left, counted down while plans are made.

    Args:
        ledger: What was done, with evictions of the window only.
        observed: How large the rows are.
        policy: What may be done.
    """

    def __init__(self, ledger: Ledger, observed: Observed, policy: HealthPolicy) -> None:
        self._ledger = ledger
        self._observed = observed
        self._policy = policy
        self._quarantined = dict(ledger.quarantined)
        self._by_row: Counter[tuple[str, Kind]] = Counter()
        for subject in ledger.quarantined:
            self._count(subject)
        self._evictions = {one.pod: one for one in ledger.evictions}
        self._namespaces = Counter(one.namespace for one in ledger.evictions)

    @property
    def ledger(self) -> Ledger:
        """The ledger with what was taken."""
        return replace(
            self._ledger,
            quarantined=dict(self._quarantined),
            evictions=tuple(self._evictions.values()),
        )

    def imagined(self) -> Budget:
        """Return what is left for who only looks: all evictions, which others spend meanwhile."""
        return Budget(replace(self.ledger, evictions=()), self._observed, self._policy)

    def evicted(self, node: str, owner: str) -> float | None:
        """Return when the newest of an owner's Pods was created that was on a node at an eviction.

        None where no Pod of that owner was evicted from there lately.
        """
        times = (
            one.newest for one in self._evictions.values() if (one.node, one.owner) == (node, owner)
        )
        return max(times, default=None)

    def quarantined_at(self, subject: Subject) -> float | None:
        """Return since when a subject is quarantined, in seconds since 1970; None if it is not."""
        return self._quarantined.get(subject)

    def quarantine(self, subject: Subject, now: float) -> Spent | None:
        """Take one quarantine, unless it was taken already; return what is spent, if anything."""
        if subject in self._quarantined:
            return None
        if any(self.left(row, subject.kind) <= 0 for row in self._rows(subject)):
            return Spent.ROW
        self._quarantined[subject] = now
        self._count(subject)
        return None

    def evict(self, pod: PodFacts, now: float, newest: float) -> Spent | None:
        """Take one eviction, unless it was taken already; return what is spent, if anything.

        Args:
            pod: Who goes.
            now: Seconds since 1970.
            newest: When the newest of its owner's Pods on its node was created.
        """
        namespace = pod.namespace
        if pod.uid in self._evictions:
            return None
        if self.evictions_left <= 0:
            return Spent.WINDOW
        if self._namespaces[namespace] >= self._policy.evictions_per_namespace:
            return Spent.NAMESPACE
        before = self.evicted(pod.node, pod.owner.uid)
        kept = newest if before is None else before
        self._evictions[pod.uid] = Eviction(
            pod.uid, namespace, now, pod.node, pod.owner.uid, newest=kept
        )
        self._namespaces[namespace] += 1
        return None

    @property
    def evictions_left(self) -> int:
        """How many Pods may still be evicted in this window."""
        return self._policy.evictions - len(self._evictions)

    def left(self, row: str, kind: Kind) -> int:
        """Return how many more nodes, or devices, of a row may be quarantined."""
        size = self._observed.size(row, kind)
        limit = quarantine_limit(size, self._policy.quarantine_percent)
        return limit - self._by_row[row, _counted_as(kind)]

    def _count(self, subject: Subject) -> None:
        for row in self._rows(subject):
            self._by_row[row, _counted_as(subject.kind)] += 1

    def _rows(self, subject: Subject) -> Iterable[str]:
        rows: Mapping[str, tuple[str, ...]] = self._observed.rows
        return rows.get(subject.node, ())


def _counted_as(kind: Kind) -> Kind:
    """Return what a subject is counted among: nodes, or devices of whatever kind."""
    return Kind.NODE if kind is Kind.NODE else Kind.DRA
