"""The ``health`` section of a table document becomes a value, and what its digest is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from selection_spec.durations import parse_duration
from selection_spec.health import (
    ConditionRule,
    HealthPolicy,
    LabelRule,
    Mode,
    Severity,
    TaintRule,
)
from selection_spec.schema_health import ConditionPart, HealthPart


def policy_of(part: HealthPart) -> HealthPolicy:
    """Return the settings of a section that breaks no law.

    Raises:
        DurationError: It breaks one; ``laws_health`` says more.
    """
    after = parse_duration(part.recovery.after)
    return HealthPolicy(
        mode=Mode(part.mode),
        row_modes={one.id: Mode(one.mode) for one in part.rows},
        conditions=tuple(sorted(map(_condition, part.conditions), key=lambda one: one.type)),
        taints=tuple(
            sorted(
                {TaintRule(t.key, Severity(t.severity), t.value, t.effect) for t in part.taints},
                key=lambda one: (one.key, one.value or "", one.effect or "", repr(one)),
            )
        ),
        labels=tuple(
            sorted(
                {LabelRule(one.key, one.value, Severity(one.severity)) for one in part.labels},
                key=lambda one: (one.key, one.value, one.severity),
            )
        ),
        ignored=frozenset(part.ignore),
        observe_every_s=parse_duration(part.observations.every),
        bad_observations=part.observations.bad,
        good_observations=part.observations.good,
        crash_window_s=parse_duration(part.observations.crash_window),
        recovery_s=after,
        # Where they are written the laws hold them to be so; defaults give way.
        longest_recovery_s=max(after, parse_duration(part.recovery.at_most)),
        quarantine_percent=part.budget.percent,
        evictions=part.budget.evictions,
        evictions_per_namespace=min(part.budget.evictions, part.budget.evictions_per_namespace),
        eviction_window_s=parse_duration(part.budget.window),
        evict_after_s=parse_duration(part.evict_after),
    )


def canonical(policy: HealthPolicy) -> Mapping[str, object]:
    """Return what a policy says in JSON, without what it says by default.

    So a section reads the same whatever is written out, and a table's digest outlives settings
    that come later.
    """
    defaults = asdict(HealthPolicy())
    said = {name: value for name, value in asdict(policy).items() if value != defaults[name]}
    if policy.ignored:
        said["ignored"] = sorted(policy.ignored)
    return said


def _condition(part: ConditionPart) -> ConditionRule:
    return ConditionRule(
        type=part.type,
        bad_status=part.bad_status,
        severity=Severity(part.severity),
        reason=part.reason_regex,
        min_duration_s=parse_duration(part.min_duration),
    )
