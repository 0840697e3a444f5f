"""What the controller exports: one set of series per loop, and who leads."""

from __future__ import annotations

from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.process_collector import ProcessCollector

_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0)


class Result(StrEnum):
    """How one run of a loop ended."""

    SUCCESS = "success"
    FAILURE = "failure"


class LoopMetrics:
    """The controller's series; label values are the loops' own names."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._runs = Counter(
            "gpuspec_loop_runs_total",
            "Runs of a loop of the controller, by how they ended.",
            ["loop", "result"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "gpuspec_loop_seconds",
            "How long a run of a loop takes.",
            ["loop"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._last_success = Gauge(
            "gpuspec_loop_last_success_timestamp_seconds",
            "When a loop last ended well, in seconds since 1970.",
            ["loop"],
            registry=self.registry,
        )
        self._leader = Gauge(
            "gpuspec_leader",
            "1 in the controller that acts, 0 in those that stand by.",
            registry=self.registry,
        )

    def ran(self, loop: str, result: Result, seconds: float) -> None:
        """Count one run and the seconds that it took."""
        self._runs.labels(loop, result.value).inc()
        self._seconds.labels(loop).observe(seconds)
        if result is Result.SUCCESS:
            self._last_success.labels(loop).set_to_current_time()

    def leads(self, *, leading: bool) -> None:
        """Say whether this process acts."""
        self._leader.set(leading)
