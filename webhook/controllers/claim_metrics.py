"""What the claim loop exports beside what every loop does."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge

from webhook.controllers.claim_jobs import Done
from webhook.controllers.claim_words import Cause, Why


class ClaimTemplateMetrics:
    """The loop's own series."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._writes = Counter(
            "gpuspec_claim_template_writes_total",
            "ResourceClaimTemplates made and swept, what could not be made, Pods nudged and told.",
            ["write"],
            registry=registry,
        )
        self._waiting = Gauge(
            "gpuspec_claim_template_waiting_pods",
            "Pods that wait for a ResourceClaimTemplate right now, by why it is not there; odd: "
            "whose template is there with other content.",
            ["why"],
            registry=registry,
        )

    def wrote(self, done: Done) -> None:
        """Count what came of a job."""
        for write, names in (
            ("made", done.made),
            ("failed", done.failed),
            ("swept", done.swept),
            ("nudged", done.nudged),
            ("told", done.told),
        ):
            self._writes.labels(write).inc(len(names))

    def waits(self, causes: Iterable[Cause]) -> None:
        """Remember how many Pods wait for what, and how many have an odd template."""
        counts = Counts(cause.why for cause in causes)
        for why in Why:
            self._waiting.labels(why.value).set(counts[why])
