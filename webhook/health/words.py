"""What people are told about health: conditions and Events (semantics H4, H11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from selection_spec.denial import few
from selection_spec.health import HealthPolicy, Mode
from webhook.health.breaker import Breakers
from webhook.health.budget import Spent
from webhook.health.cases import Case, Mark, Verdict
from webhook.health.decisions import REFUSED, Decision, HeldBack
from webhook.health.fences import UNHEALTHY
from webhook.health.records import is_reported
from webhook.health.step import Step
from webhook.health.subjects import Subject
from webhook.inventory.conditions import Condition
from webhook.inventory.problems import counted
from webhook.terms import HEALTH, HEALTH_BREAKER, HEALTH_BUDGET

MISSING_SIGNALS = (
    "ResourceSlice taints",
    "allocatedResourcesStatus of Pods",
    "extendedResourceClaimStatus of Pods",
)
"""What Kubernetes before 1.36 drops by default (H2)."""

FIRST_WITH_ALL = (1, 36)
"""The first version that has them."""


class Reason(StrEnum):
    """Why an Event was made; the whole list."""

    SUSPECT = "HealthSuspect"
    FAILED = "HealthFailed"
    UNKNOWN = "HealthUnknown"
    RECOVERED = "HealthRecovered"
    HELD_BACK = "HealthHeldBack"
    QUARANTINED = "HealthQuarantined"
    EVICTED = "EvictedFromFailedDevice"
    REFUSED = "EvictionRefused"
    KEPT = "KeptOnFailedDevice"


_OF_VERDICT = {
    Verdict.SUSPECT: Reason.SUSPECT,
    Verdict.FAILED: Reason.FAILED,
    Verdict.UNKNOWN: Reason.UNKNOWN,
    Verdict.HEALTHY: Reason.RECOVERED,
}


_SPENT = {
    Spent.ROW: HeldBack.ROW.value,
    Spent.NAMESPACE: "all evictions that one namespace may have in this window are spent",
    Spent.WINDOW: "all evictions of this window are spent",
}


NODES_REFUSE = "NodesRefuse"
EVICTIONS_REFUSED = "EvictionsRefused"
"""Reasons of the condition ``Health`` where something is in the way."""


@dataclass(frozen=True, slots=True)
class Told:
    """One thing to be told on an object.

    Attributes:
        cause: Tells it from other things that are told on the same object.
        is_bad: Whether it is a warning.
    """

    reason: Reason
    cause: str
    message: str
    is_bad: bool = True


def reported(decisions: Iterable[Decision], now: float) -> tuple[Decision, ...]:
    """Return the decisions about subjects that people are told of."""
    return tuple(one for one in decisions if is_reported(one.case, now))


def verdicts(decisions: Iterable[Decision], now: float) -> Counter[Verdict]:
    """Count the subjects that people are told of by verdict."""
    return Counter(one.case.verdict for one in reported(decisions, now))


def of_node(decision: Decision, breakers: Breakers, now: float) -> Iterator[Told]:
    """Yield what is to be told on a subject's node, once each."""
    case = decision.case
    if case.recovered and case.verdict is Verdict.HEALTHY:
        said = f"{case.subject} is healthy again"
        yield Told(Reason.RECOVERED, _cause(case), said, is_bad=False)
    if not is_reported(case, now):
        return
    evidence = "; ".join(one.said for one in case.evidence) or "; ".join(decision.look.said)
    said = f"{case.subject}: {case.verdict}: {evidence}{done(decision)}"
    # What is done differs by the mode: in another one it is told anew.
    cause = _cause(case) if decision.fence is None else f"{_cause(case)} {decision.mode}"
    yield Told(_OF_VERDICT[case.verdict], cause, said)
    yield from _placed(decision)
    if decision.is_for_want_of_budget or decision.held_back in (HeldBack.BREAKER, HeldBack.WAIVED):
        why = spent(decision) or held_back(decision, breakers)
        yield Told(Reason.HELD_BACK, f"{_cause(case)} {why}", f"{case.subject}: {why}")


def _placed(decision: Decision) -> Iterator[Told]:
    """Yield that a mark of ours was seen in place."""
    case, fence = decision.case, decision.fence
    if fence is not None and fence.is_in_place and case.mark is not Mark.NONE:
        said = f"no new Pod comes to {case.subject}: our {fence.by} {UNHEALTHY} is in place"
        yield Told(Reason.QUARANTINED, f"{_cause(case)} {case.mark}", said)


def kept(decision: Decision) -> Iterator[tuple[str, Told]]:
    """Yield by Pod uid why it stays on what has failed although others would be moved."""
    if decision.mode is not Mode.EVICT or decision.fence is None:
        return
    for holder in decision.holders or ():
        if holder.why and holder.why != REFUSED and not holder.pod.leaves:
            said = f"{decision.case.subject} has failed and this Pod stays there: {holder.why}"
            yield holder.pod.uid, Told(Reason.KEPT, f"{_cause(decision.case)} {holder.why}", said)


def done(decision: Decision) -> str:
    """Return what was done about a subject, or would be, as the end of a sentence."""
    if decision.fence is None:
        return ""
    fence = decision.fence
    if fence.is_in_place:
        said = f"; no new Pod comes there ({fence.by})"
    elif decision.mode is Mode.OBSERVE:
        said = f"; mode Observe: a {fence.by} would keep new Pods away"
    else:
        said = f"; mode {decision.mode}: a {fence.by} is to keep new Pods away"
    if decision.locked_out:
        said += f"; beside it these DaemonSets would not come back: {few(decision.locked_out)}"
    return said


def held_back(decision: Decision, breakers: Breakers) -> str:
    """Return why nothing more is done about a subject, in words; "" where nothing holds it back."""
    if decision.held_back is HeldBack.BREAKER and breakers.stops_all:
        return f"everything is stopped, by {' and '.join(sorted(breakers.rows))}"
    return decision.held_back.value


def spent(decision: Decision) -> str:
    """Return which budget is spent, in words; "" where none is."""
    if decision.held_back is HeldBack.ROW:
        return decision.held_back.value
    return "" if decision.spent is None else _SPENT[decision.spent]


def conditions(
    step: Step, policy: HealthPolicy, missing: Sequence[str], now: float, refused: str = ""
) -> tuple[Condition, ...]:
    """Return the conditions of the table in use.

    Args:
        step: What was judged and decided.
        policy: What the table says.
        missing: The signals that this Kubernetes drops.
        now: Seconds since 1970.
        refused: Why a node cannot be written on, so that nothing is done about it; "" where all
            can.
    """
    found = verdicts(step.decisions, now)
    said = [f"mode {policy.mode}"]
    said += [f"{row}: {mode}" for row, mode in sorted(policy.row_modes.items())]
    said += [f"{counted(found[one], 'subject')} {one}" for one in (Verdict.FAILED, Verdict.SUSPECT)]
    said.append(f"{found[Verdict.UNKNOWN]} Unknown")
    if step.notes:
        said.append(few(step.notes))
    if refused:
        said.append(f"nothing is done about some nodes: {refused}")
    kept_back = _refused(step)
    if kept_back:
        count = counted(len(kept_back), "refused eviction")
        said.append(f"{count}, by PodDisruptionBudgets mostly, tried again: {few(kept_back)}")
    if missing:
        said.append(f"this Kubernetes drops by default: {', '.join(missing)}")
    reason = "SignalsMissing" if missing else "Watching"
    reason = EVICTIONS_REFUSED if kept_back else reason
    reason = NODES_REFUSE if refused else reason
    return (
        Condition(HEALTH, "True", reason, "; ".join(said)),
        _budget(step),
        _breaker(step),
    )


def summary(step: Step, policy: HealthPolicy, now: float) -> dict[str, object]:
    """Return the numbers of the table's status (H11)."""
    found = verdicts(step.decisions, now)
    return {
        "mode": policy.mode.value,
        # A list, for it is written by a merge patch: that keeps keys of a map that are gone.
        "rowModes": [
            {"id": row, "mode": mode.value} for row, mode in sorted(policy.row_modes.items())
        ],
        "failed": found[Verdict.FAILED],
        "suspect": found[Verdict.SUSPECT],
        "unknown": found[Verdict.UNKNOWN],
        "quarantined": len(step.state.ledger.quarantined),
        "evictionsLeft": max(step.budget.evictions_left, 0),
        "stoppedRows": sorted(step.breakers.rows),
    }


def blind(why: str) -> Condition:
    """Return that nothing is judged now, and why (H3)."""
    return Condition(HEALTH, "False", "CannotFollow", f"nothing is judged or done: {why}")


def _refused(step: Step) -> list[str]:
    """Return the Pods whose evictions were refused and are tried again (H9)."""
    found = {
        holder.pod.key
        for one in step.decisions
        for holder in one.holders or ()
        if holder.why == REFUSED
    }
    return sorted(found)


def _budget(step: Step) -> Condition:
    waiting = [one for one in step.decisions if one.is_for_want_of_budget]
    left = f"{counted(max(step.budget.evictions_left, 0), 'eviction')} left"
    if not waiting:
        return Condition(HEALTH_BUDGET, "True", "Left", f"nothing waits; {left}")
    said = few(f"{one.case.subject} ({spent(one)})" for one in waiting)
    return Condition(HEALTH_BUDGET, "False", "Spent", f"these wait: {said}; {left}")


def _breaker(step: Step) -> Condition:
    rows = sorted(step.breakers.rows)
    if not rows:
        return Condition(HEALTH_BREAKER, "False", "Closed", "no row is stopped")
    what = "everything is stopped" if step.breakers.stops_all else f"{few(rows)} is stopped"
    said = (
        f"{what}: too much failed at once in {few(rows)}, so the sensor is suspected; look at it, "
        f"then: gpuspec health resume {' '.join(rows)}"
    )
    return Condition(HEALTH_BREAKER, "True", "TooManyAtOnce", said)


def _cause(case: Case) -> str:
    subject: Subject = case.subject
    return f"{subject.name} {case.verdict} {case.since}"
