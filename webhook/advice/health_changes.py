"""What an admin changed in a table's health settings, in words (H6 and the rest of the section)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from selection_spec.durations import duration_text
from selection_spec.health import ConditionRule, HealthPolicy, LabelRule, Mode, TaintRule
from selection_spec.labels import Toleration
from selection_spec.table import Table
from webhook.advice.words import listed, toleration


@dataclass(frozen=True, slots=True)
class Reach:
    """Rows with which health goes further than before, and how far: it acts on them at once."""

    mode: Mode
    rows: tuple[str, ...]
    is_all: bool

    def __str__(self) -> str:
        """Return what comes of it, and how to see that first."""
        whose = "of every row" if self.is_all else f"of {', '.join(self.rows)}"
        does = (
            "new Pods are kept away"
            if self.mode is Mode.QUARANTINE
            else "new Pods are kept away and those that are there evicted"
        )
        return (
            f"mode {self.mode} acts at once on what has failed already {whose}: {does}, but not "
            "where a person has removed our mark and nothing new was heard; see what that is "
            "before: gpuspec health"
        )


def reaches(old: Table, new: Table, successors: Mapping[str, str]) -> tuple[Reach, ...]:
    """Return with which rows a new table's health goes further than the old one's (H6).

    Args:
        old: The table that served until now.
        new: The one that is to serve.
        successors: For each row of the old table that is still there its id in the new one.
    """
    before = {after: old.health.mode_of((row,)) for row, after in successors.items()}
    found: dict[Mode, list[str]] = {}
    for row in new.rows:
        mode = new.health.mode_of((row.id,))
        if mode.reach > before.get(row.id, Mode.OBSERVE).reach:
            found.setdefault(mode, []).append(row.id)
    return tuple(
        Reach(mode, tuple(rows), len(rows) == len(new.rows))
        for mode, rows in sorted(found.items(), key=lambda item: item[0].reach)
    )


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
