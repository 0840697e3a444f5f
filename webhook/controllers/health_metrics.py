"""What the health loop exports; label values are from closed sets."""

from __future__ import annotations

from collections import Counter

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client import Counter as Count

from selection_spec.health import Mode
from webhook.controllers.health_acts import Outcome, Result
from webhook.health.actions import Doing
from webhook.health.cases import Verdict
from webhook.health.step import Step
from webhook.health.subjects import Kind

_COUNTED = (Verdict.SUSPECT, Verdict.FAILED, Verdict.UNKNOWN)


class HealthMetrics:
    """Subjects by verdict, actions by what became of them, the budget, and breakers."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._subjects = Gauge(
            "gpuspec_health_subjects",
            "Nodes and devices that are not healthy, by verdict.",
            ["verdict"],
            registry=registry,
        )
        self._actions = Count(
            "gpuspec_health_actions_total",
            "What was done about failed nodes and devices, and what became of it.",
            ["action", "mode", "result"],
            registry=registry,
        )
        self._left = Gauge(
            "gpuspec_health_budget_remaining",
            "How much may still be done: evictions in the window, and nodes and devices that may "
            "be quarantined in the row that has least left.",
            ["budget"],
            registry=registry,
        )
        self._breaker = Gauge(
            "gpuspec_health_breaker_open",
            "1 while too much failed at once: rows are stopped, or everything is.",
            ["scope"],
            registry=registry,
        )
        self._held_back = Gauge(
            "gpuspec_health_held_back",
            "Failed nodes and devices about which nothing more is done, for want of budget.",
            registry=registry,
        )
        for verdict in _COUNTED:
            self._subjects.labels(verdict.value)
        for doing in Doing:
            for result in Result:
                self._actions.labels(doing.value, Mode.EVICT.value, result.value)

    def looked(self, step: Step, verdicts: Counter[Verdict], rows: tuple[str, ...]) -> None:
        """Show what one step came to.

        Args:
            step: The step.
            verdicts: How many subjects that are told of have each verdict.
            rows: The ids of the table's rows.
        """
        for verdict in _COUNTED:
            self._subjects.labels(verdict.value).set(verdicts[verdict])
        self._left.labels("evictions").set(step.budget.evictions_left)
        for name, kind in (("nodes", Kind.NODE), ("devices", Kind.DRA)):
            least = min((step.budget.left(row, kind) for row in rows), default=0)
            self._left.labels(name).set(least)
        self._breaker.labels("row").set(bool(step.breakers.rows))
        self._breaker.labels("all").set(step.breakers.stops_all)
        self._held_back.set(sum(one.is_for_want_of_budget for one in step.decisions))

    def acted(self, outcome: Outcome) -> None:
        """Count what became of an action."""
        action = outcome.action
        self._actions.labels(action.doing.value, action.mode.value, outcome.result.value).inc()
