"""What an admin changed in a table's health settings, in words (H6 and the rest of the section)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from selection_spec.durations import duration_text
from selection_spec.health import ConditionRule, HealthPolicy, LabelRule, Mode, TaintRule
from selection_spec.labels import Toleration
from webhook.advice.words import listed, toleration


def health_fields(old: HealthPolicy, new: HealthPolicy) -> Iterator[tuple[str, str, str]]:
    """Yield each setting as the document calls it, and what it is in words before and after."""
    after = _settings(new)
    for field, before in _settings(old).items():
        yield f"health.{field}", before, after[field]


def _settings(policy: HealthPolicy) -> Mapping[str, str]:
    return {
        "mode": policy.mode.value,
        "rows": row_modes(policy.row_modes),
        "conditions": listed(map(_condition, policy.conditions)),
        "taints": listed(map(_taint, policy.taints)),
        "labels": listed(map(_label, policy.labels)),
        "ignore": listed(policy.ignored),
        "observations.every": duration_text(policy.observe_every_s),
        "observations.bad": str(policy.bad_observations),
        "observations.good": str(policy.good_observations),
        "observations.crashWindow": duration_text(policy.crash_window_s),
        "recovery.after": duration_text(policy.recovery_s),
        "recovery.atMost": duration_text(policy.longest_recovery_s),
        "budget.percent": str(policy.quarantine_percent),
        "budget.evictions": str(policy.evictions),
        "budget.evictionsPerNamespace": str(policy.evictions_per_namespace),
        "budget.window": duration_text(policy.eviction_window_s),
        "evictAfter": duration_text(policy.evict_after_s),
    }


def row_modes(modes: Mapping[str, Mode]) -> str:
    """Return the rows that have a mode of their own: ``a100-80gb Evict, t4-16gb Observe``."""
    return listed(f"{row} {mode}" for row, mode in modes.items())


def _condition(rule: ConditionRule) -> str:
    reason = f" with reason {rule.reason}" if rule.reason else ""
    lasting = f" for {duration_text(rule.min_duration_s)}" if rule.min_duration_s else ""
    return f"{rule.type} {rule.bad_status}{reason}{lasting} is {rule.severity}"


def _taint(rule: TaintRule) -> str:
    taint = toleration(Toleration(rule.key, "Equal", rule.value, rule.effect))
    return f"{taint} is {rule.severity}"


def _label(rule: LabelRule) -> str:
    return f"{rule.key}={rule.value} is {rule.severity}"
