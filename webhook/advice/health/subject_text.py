"""One subject for people: its verdict, why, what was done and what would be (H11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from selection_spec.health import Mode
from webhook.advice.health.judged import Judged
from webhook.advice.health.phrases import deed, fence_name, lasting, progress_said, since
from webhook.advice.words import counted, some
from webhook.health.actions import Action, Doing
from webhook.health.budget import Spent
from webhook.health.cases import Mark
from webhook.health.fences import UNHEALTHY
from webhook.health.plan import Decision, HeldBack, Holder

# Evidence and Pods of one subject in a list of many; `health explain` has all of them.
_EVIDENCE = 3
_PODS = 4

_UNKNOWN_HOLDER = "nobody is evicted from it: no Pod's status tells which of them holds this device"


def headline(decision: Decision, judged: Judged) -> str:
    """Return what is said of a subject, and since when."""
    case = decision.case
    how = progress_said(case, judged.moment, is_bad=decision.look.is_bad)
    said = f"{case.subject}, {since(case.since, judged.now)}"
    return f"{said}: {how}" if how else said


def evidence(decision: Decision, judged: Judged, at_most: int | None = _EVIDENCE) -> Iterator[str]:
    """Yield what speaks against a subject; where that cannot be told, why."""
    case = decision.case
    shown = case.evidence[:at_most]
    for one in shown:
        if decision.look.is_bad or case.is_blind:
            yield f"{one.said}, {since(one.at, judged.now)}"
        else:  # it recovers: what it has failed for is not to be seen any more
            yield f"earlier: {one.said}, first seen {lasting(judged.now - one.at)} ago"
    if len(case.evidence) > len(shown):
        yield f"and {len(case.evidence) - len(shown)} more"
    if case.is_blind:
        told = {one.said for one in case.evidence}
        yield from (f"cannot tell: {said}" for said in decision.look.said if said not in told)


def measures(decision: Decision, judged: Judged, at_most: int | None = _PODS) -> Iterator[str]:
    """Yield what was done about a subject, what would be, and what holds it back."""
    yield from _done(decision, judged)
    yield from _planned(decision, at_most)
    yield from held_back(decision, judged, at_most)
    yield from _staying(decision, judged, at_most)
    if decision.locked_out:
        out = some(decision.locked_out, at_most)
        yield (
            f"these DaemonSets would not come back beside it: {out}; give them a toleration of "
            f"{UNHEALTHY.key}, operator Exists"
        )
    if judged.remembered_case(decision.case.subject) is None:
        yield "seen by this command only: the controller has not written it down"


def _done(decision: Decision, judged: Judged) -> Iterator[str]:
    fence, before = decision.fence, judged.remembered_case(decision.case.subject)
    mark = Mark.NONE if before is None else before.mark
    if fence is not None and fence.is_in_place:
        yield f"done: new Pods are kept away by {fence_name(fence.by)}"
    elif mark is not Mark.NONE and decision.case.mark is mark:
        seen = "is there" if decision.case.is_seen else "was placed, and is not seen there yet"
        yield f"done: {_marked(mark)} {seen}"


def _marked(mark: Mark) -> str:
    return f"our taint {UNHEALTHY}" if mark is Mark.TAINT else "our DeviceTaintRule"


def _planned(decision: Decision, at_most: int | None) -> Iterator[str]:
    """Yield what is to be done now, in ``Observe`` what would be; then what would follow."""
    head = "would" if decision.mode is Mode.OBSERVE else "next"
    evictions = [one for one in decision.actions if one.doing is Doing.EVICT]
    dead = [one for one in decision.actions if one.doing is Doing.REMOVE]
    for action in decision.actions:
        if action not in evictions and action not in dead:
            yield f"{head}: {deed(action)}"
    if evictions:
        yield f"{head}: evict {_pods(evictions, at_most)}"
    if dead:
        yield f"{head}: remove {counted(len(dead), 'Pod')} that the kubelet rejected"
    is_waiting = decision.mode is Mode.EVICT and not decision.held_back and not evictions
    going = [one for one in decision.holders or () if not one.why]
    if decision.fence is not None and is_waiting and going and decision.spent is None:
        yield f"then, once no new Pod can come: evict {some(_names(going), at_most)}"


def _pods(actions: Sequence[Action], at_most: int | None) -> str:
    return some([one.pod.key for one in actions if one.pod is not None], at_most)


def _names(holders: Sequence[Holder]) -> list[str]:
    return [one.pod.key for one in holders]


def held_back(decision: Decision, judged: Judged, at_most: int | None = _PODS) -> Iterator[str]:
    """Yield why nothing, or not everything, is done about a subject now, and who is at risk."""
    if decision.held_back is HeldBack.BREAKER:
        stopped = sorted(judged.step.breakers.rows)
        yield f"held back: {decision.held_back}; gpuspec health resume {' '.join(stopped)}"
    elif decision.held_back and decision.held_back is not HeldBack.RECOVERING:
        yield f"held back: {decision.held_back}"
    yield from _exposed(decision, at_most)
    if decision.spent is not None:
        yield f"evictions wait: {spent_said(decision.spent, judged)}"


def _exposed(decision: Decision, at_most: int | None) -> Iterator[str]:
    """Yield that nothing keeps Pods from what has failed, and which are there."""
    is_open = decision.fence is not None and not decision.fence.is_in_place
    if decision.held_back in (HeldBack.ROW, HeldBack.BREAKER) and is_open:
        names = _names(decision.holders or ())
        there = f"; there now: {some(names, at_most)}" if names else ""
        yield f"new Pods may still come there{there}"


def spent_said(spent: Spent, judged: Judged) -> str:
    """Return which budget for evictions is spent, and how large it is."""
    policy = judged.moment.policy
    window = lasting(policy.eviction_window_s)
    if spent is Spent.NAMESPACE:
        most = counted(policy.evictions_per_namespace, "eviction")
        return f"the {most} in {window} of their namespace are spent"
    return f"the {counted(policy.evictions, 'eviction')} in {window} are spent"


def _staying(decision: Decision, judged: Judged, at_most: int | None) -> Iterator[str]:
    if decision.fence is None:
        return
    if decision.holders is None:
        yield _UNKNOWN_HOLDER
        return
    if decision.mode is Mode.QUARANTINE and decision.holders:
        count = counted(len(decision.holders), "Pod")
        stays = "stays" if len(decision.holders) == 1 else "stay"
        names = some(_names(decision.holders), at_most)
        yield f"{count} {stays} on it, for mode Quarantine evicts nobody: {names}"
        return
    staying = [one for one in decision.holders if one.why]
    for one in staying[:at_most]:
        ledger = judged.step.state.ledger
        was = "evicted" if one.pod.leaves and ledger.has_evicted(one.pod.uid) else "stays"
        yield f"{was}: {one.pod.key}: {one.why}"
    if at_most is not None and len(staying) > at_most:
        yield f"stay: {len(staying) - at_most} more Pods"
