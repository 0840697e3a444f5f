"""Every series that the service exports, on a registry of its own.

Label values come from closed sets (outcomes and reasons are enumerations) or are one value at a
time (the digest of the table in use); nothing that a user can write becomes a label.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.process_collector import ProcessCollector

# A decision takes a tenth of a millisecond and the API server waits three seconds, so the bounds
# are fine at the lower end and go on until well past the moment at which nobody waits any more.
_SECONDS = (
    *(0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005),
    *(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0),
)


class Outcome(StrEnum):
    """What became of a review.

    ``dry_run`` stands for any answer to a review that changes nothing, whatever the answer was, so
    that the others add up to what users really asked for (semantics R7).
    """

    PATCHED = "patched"
    UNCHANGED = "unchanged"
    DENIED = "denied"
    DRY_RUN = "dry_run"
    UNDECIDED = "undecided"


class Reload(StrEnum):
    """How taking up a changed file went."""

    SUCCESS = "success"
    FAILURE = "failure"


class Metrics:
    """The series and the few ways in which they change. Safe to use from any thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._reviews = Counter(
            "gpuspec_reviews_total",
            "Admission reviews by what became of them and why.",
            ["outcome", "reason"],
            registry=self.registry,
        )
        self._review_seconds = Histogram(
            "gpuspec_review_seconds",
            "Time from the head of a review to its answer.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._table_info = Gauge(
            "gpuspec_table_info",
            "The selection table in use; the value is always 1.",
            ["name", "digest"],
            registry=self.registry,
        )
        self._table_reloads = _results(
            "gpuspec_table_reloads_total",
            "Changed selection tables that were taken up (success) or refused (failure).",
            self.registry,
        )
        self._table_refused = Gauge(
            "gpuspec_table_refused",
            "1 while the newest table is refused and an older one decides, else 0.",
            registry=self.registry,
        )
        self._table_unreached = Gauge(
            "gpuspec_table_unreached",
            "1 while the table's source cannot be looked at and its last state decides, else 0.",
            registry=self.registry,
        )
        self._certificate_reloads = _results(
            "gpuspec_certificate_reloads_total",
            "Changed serving certificates that were taken up (success) or refused (failure).",
            self.registry,
        )
        self._not_after = Gauge(
            "gpuspec_certificate_not_after_timestamp_seconds",
            "When the serving certificate ends, in seconds since 1970.",
            registry=self.registry,
        )
        self._table_labels: tuple[str, str] | None = None
        self._review_children: dict[tuple[str, str], Counter] = {}

    def review(self, outcome: str, reason: str, seconds: float) -> None:
        """Count one review and the seconds that it took."""
        child = self._review_children.get((outcome, reason))
        if child is None:
            # Looking a child up by its labels costs more than counting does.
            child = self._reviews.labels(outcome, reason)
            self._review_children[outcome, reason] = child
        child.inc()
        self._review_seconds.observe(seconds)

    def table_reloaded(self, result: Reload) -> None:
        """Count one changed table, and remember whether it is the one that decides."""
        self._table_reloads[result].inc()
        self._table_refused.set(result is Reload.FAILURE)

    def table_reached(self, *, reached: bool) -> None:
        """Say whether the table's source can be looked at."""
        self._table_unreached.set(not reached)

    def table_in_use(self, name: str, digest: str) -> None:
        """Name the table that decides from now on."""
        former, self._table_labels = self._table_labels, (name, digest)
        self._table_info.labels(name, digest).set(1)
        if former is not None and former != self._table_labels:
            self._table_info.remove(*former)

    def certificate_reloaded(self, result: Reload) -> None:
        """Count one changed certificate."""
        self._certificate_reloads[result].inc()

    def certificate_in_use(self, not_after: datetime) -> None:
        """Say when the certificate that serves from now on ends."""
        self._not_after.set(not_after.timestamp())


def _results(name: str, text: str, registry: CollectorRegistry) -> dict[Reload, Counter]:
    counter = Counter(name, text, ["result"], registry=registry)
    return {result: counter.labels(result.value) for result in Reload}
