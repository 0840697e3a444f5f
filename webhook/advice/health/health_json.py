"""``gpuspec health`` for programs: the same as for people, in documented fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from webhook.advice.health.fates import fates
from webhook.advice.health.judged import Judged
from webhook.advice.health.spending import evictions
from webhook.health.actions import Action
from webhook.health.budget import quarantine_limit
from webhook.health.cases import Case
from webhook.health.decisions import Decision
from webhook.health.subjects import Kind, Subject
from webhook.health.verdicts import recovery_s
from webhook.inventory.times import written

Json = dict[str, Any]


def as_json(judged: Judged) -> Json:
    """Return the whole report."""
    policy = judged.moment.policy
    return {
        **about_json(judged),
        "rowModes": {row: mode.value for row, mode in sorted(policy.row_modes.items())},
        "subjects": [subject_json(one, judged) for one in judged.reported],
        "evicted": list(_evicted(judged)),
        "budget": _budget(judged),
        "breakers": [
            {"row": row, "since": written(at)}
            for row, at in sorted(judged.step.breakers.rows.items())
        ],
        "stopsAll": judged.step.breakers.stops_all,
        "marksLeft": [one.node for one in judged.left_behind],
        "taintedByHand": sorted(judged.tainted_by_hand),
        "notes": list(judged.step.notes),
    }


def about_json(judged: Judged) -> Json:
    """Return what all reports begin with."""
    about, table = judged.about, judged.table
    return {
        "server": about.server,
        "kubernetes": about.kubernetes,
        "namespace": about.namespace,
        "table": {"name": table.name, "digest": table.digest},
        "at": written(judged.now),
        "mode": judged.moment.policy.mode.value,
        "missingSignals": list(about.missing),
        "unseen": list(about.unseen),
    }


def named(subject: Subject) -> Json:
    """Return what a subject is."""
    return {"node": subject.node, "kind": subject.kind.value, "device": subject.name or None}


def subject_json(decision: Decision, judged: Judged) -> Json:
    """Return what is known of a subject, and done about it."""
    case, fence = decision.case, decision.fence
    return {
        **named(case.subject),
        "rows": list(judged.moment.rows(case.subject.node)),
        "mode": decision.mode.value,
        "verdict": case.verdict.value,
        "held": case.held.value,
        "since": written(case.since),
        "recorded": judged.remembered_case(case.subject) is not None,
        "observations": _observations(decision, judged),
        "evidence": [
            {
                "source": one.source.value,
                "name": one.name,
                "grade": one.grade.name.title(),
                "said": one.said,
                "since": written(one.at),
            }
            for one in case.evidence
        ],
        "said": list(decision.look.said),
        "mark": case.mark.value or None,
        "fence": None if fence is None else {"by": fence.by.value, "inPlace": fence.is_in_place},
        "holders": _holders(decision, judged),
        "actions": [_action(one) for one in decision.actions],
        "heldBack": decision.held_back.value or None,
        "spent": None if decision.spent is None else decision.spent.value,
        "lockedOut": list(decision.locked_out),
    }


def _observations(decision: Decision, judged: Judged) -> Json:
    case, policy = decision.case, judged.moment.policy
    return {
        "bad": case.bad,
        "badWanted": policy.bad_observations,
        "good": case.good,
        "goodWanted": policy.good_observations,
        "goodSince": _time(case.good_since),
        "recoverySeconds": int(recovery_s(case, policy)),
        "relapses": case.relapses,
    }


def case_times(case: Case) -> Json:
    """Return when a subject failed and recovered last; null for never."""
    return {"failed": _time(case.failed), "recovered": _time(case.recovered)}


def _time(at: float) -> str | None:
    return written(at) if at else None


def _holders(decision: Decision, judged: Judged) -> list[Json] | None:
    if decision.holders is None:
        return None
    becomes = {one.pod.uid: one for one in fates((decision,), judged)}
    return [
        {
            "pod": one.pod.key,
            "stays": one.why or None,
            "becomes": becomes[one.pod.uid].state.value,
            "why": becomes[one.pod.uid].why or None,
        }
        for one in decision.holders
    ]


def _action(action: Action) -> Json:
    return {
        "do": action.doing.value,
        **named(action.subject),
        "pod": None if action.pod is None else action.pod.key,
        "effect": action.effect or None,
    }


def _evicted(judged: Judged) -> Iterator[Json]:
    """Yield what was evicted within the window; a Pod's name while it is still ending."""
    pods = judged.moment.observed.by_uid
    for one in evictions(judged):
        pod = pods.get(one.pod)
        yield {
            "namespace": one.namespace,
            "uid": one.pod,
            "pod": None if pod is None else pod.name,
            "at": written(one.at),
        }


def _budget(judged: Judged) -> Json:
    policy, budget = judged.moment.policy, judged.step.budget
    return {
        "evictions": policy.evictions,
        "evictionsLeft": max(budget.evictions_left, 0),
        "evictionsWouldBeLeft": max(judged.step.imagined.evictions_left, 0),
        "evictionsPerNamespace": policy.evictions_per_namespace,
        "windowSeconds": int(policy.eviction_window_s),
        "namespaces": dict(sorted(Counter(e.namespace for e in budget.ledger.evictions).items())),
        "rows": list(_rows(judged)),
    }


def _rows(judged: Judged) -> Iterator[Json]:
    observed, step = judged.moment.observed, judged.step
    percent = judged.moment.policy.quarantine_percent
    for row in sorted(observed.row_nodes):
        found: Json = {"id": row}
        for kind, name in ((Kind.NODE, "nodes"), (Kind.DRA, "devices")):
            size = observed.size(row, kind)
            limit = quarantine_limit(size, percent) if size else 0
            left, would = (
                max(of.left(row, kind), 0) if size else 0 for of in (step.budget, step.imagined)
            )
            found[name] = {
                "count": size,
                "quarantineLimit": limit,
                "quarantinesLeft": left,
                "quarantinesWouldBeLeft": min(left, would),
            }
        yield found
