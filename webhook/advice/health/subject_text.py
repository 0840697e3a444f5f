"""One subject for people, or several alike: verdict, why, what was done and what would be (H11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from selection_spec.health import Mode
from webhook.advice.health.folds import Fold, whom
from webhook.advice.health.judged import Judged
from webhook.advice.health.phrases import (
    deed,
    fence_name,
    lasting,
    lasting_each,
    progress_said,
)
from webhook.advice.words import counted, some
from webhook.health.actions import Action, Doing
from webhook.health.budget import Spent
from webhook.health.cases import Mark
from webhook.health.decisions import Decision, HeldBack, Holder
from webhook.health.fences import UNHEALTHY, Fence
from webhook.inventory.pod_facts import PodFacts

# Evidence and Pods of one subject in a list of many; `health explain` has all of them.
_EVIDENCE = 3
_PODS = 4

_UNKNOWN_HOLDER = "nobody is evicted from it: no Pod's status tells which of them holds this device"
_ACTS_AGAIN = (
    "it acts again on another signal, on this one after the node was good for long enough to "
    "recover, and after a reboot"
)
_MOVING = (Doing.EVICT, Doing.REMOVE)


def headline(fold: Fold, judged: Judged) -> str:
    """Return what is said of subjects, and since when."""
    how_long = lasting_each((one.case.since for one in fold), judged.now)
    said = f"{whom(fold)}, {how_long}"
    how = {progress_said(one.case, judged.moment, is_bad=one.look.is_bad) for one in fold}
    progress = how.pop() if len(how) == 1 else ""
    return f"{said}: {progress}" if progress else said


def evidence(fold: Fold, judged: Judged, at_most: int | None = _EVIDENCE) -> Iterator[str]:
    """Yield what speaks against subjects; where that cannot be told, why."""
    first = fold[0]
    case = first.case
    shown = case.evidence[:at_most]
    for place, one in enumerate(shown):
        began = [other.case.evidence[place].at for other in fold]
        if first.look.is_bad or case.is_blind:
            yield f"{one.said}, {lasting_each(began, judged.now)}"
        else:  # it recovers: what it has failed for is not to be seen any more
            yield f"earlier: {one.said}, first seen {lasting(judged.now - min(began))} ago"
    if len(case.evidence) > len(shown):
        yield f"and {len(case.evidence) - len(shown)} more"
    if case.is_blind:
        told = {one.said for one in case.evidence}
        yield from (f"cannot tell: {said}" for said in first.look.said if said not in told)


def measures(fold: Fold, judged: Judged, at_most: int | None = _PODS) -> Iterator[str]:
    """Yield what was done about subjects, what would be, and what holds it back."""
    first = fold[0]
    yield from _done(first, judged)
    yield from _planned(fold, at_most)
    yield from held_back(fold, judged, at_most)
    yield from _staying(fold, judged, at_most)
    if first.locked_out:
        out = some(first.locked_out, at_most)
        yield (
            f"these DaemonSets would not come back beside it: {out}; give them a toleration of "
            f"{UNHEALTHY.key}, operator Exists"
        )
    if judged.remembered_case(first.case.subject) is None:
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


def _planned(fold: Fold, at_most: int | None) -> Iterator[str]:
    """Yield what is to be done now, in ``Observe`` what would be; then what would follow."""
    first = fold[0]
    head = "would" if first.mode is Mode.OBSERVE else "next"
    actions = [action for one in fold for action in one.actions]
    yield from (f"{head}: {said}" for said in deeds(actions, at_most))
    is_waiting = first.mode is Mode.EVICT and not first.held_back and first.spent is None
    going = [one.pod for one in _holders(fold) if not one.why]
    evicted = any(one.doing is Doing.EVICT for one in actions)
    if first.fence is not None and is_waiting and going and not evicted:
        yield f"then, once no new Pod can come: evict {some(_keys(going), at_most)}"


def deeds(actions: Sequence[Action], at_most: int | None) -> Iterator[str]:
    """Yield actions in the imperative, those of one kind in one sentence."""
    alike: dict[tuple[Doing, str], list[Action]] = {}
    for one in actions:
        if one.doing not in _MOVING:
            alike.setdefault((one.doing, one.effect), []).append(one)
    for those in alike.values():
        once = {one.key: one for one in those}
        yield deed(those[0]) if len(once) == 1 else _deed_to_many(those[0], len(once))
    if evicted := _pods(actions, Doing.EVICT):
        yield f"evict {some(_keys(evicted), at_most)}"
    if dead := _pods(actions, Doing.REMOVE):
        yield f"remove {counted(len(dead), 'Pod')} that the kubelet rejected"


def _deed_to_many(action: Action, count: int) -> str:
    match action.doing:
        case Doing.TAINT:
            return f"taint {count} nodes {UNHEALTHY}"
        case Doing.RULE:
            return f"place a DeviceTaintRule on each of {count} devices, effect {action.effect}"
        case Doing.UNRULE:
            return f"remove our DeviceTaintRules from {count} devices"
        case _:
            return f"take our taint off {count} nodes"


def _pods(actions: Iterable[Action], doing: Doing) -> list[PodFacts]:
    found = {one.pod.uid: one.pod for one in actions if one.doing is doing and one.pod is not None}
    return list(found.values())


def _holders(fold: Fold) -> list[Holder]:
    """Return who holds any of it, each once."""
    found = {holder.pod.uid: holder for one in fold for holder in one.holders or ()}
    return list(found.values())


def _keys(pods: Iterable[PodFacts]) -> list[str]:
    return [one.key for one in pods]


def held_back(fold: Fold, judged: Judged, at_most: int | None = _PODS) -> Iterator[str]:
    """Yield why nothing, or not everything, is done about subjects now, and who is at risk."""
    first = fold[0]
    if first.held_back is HeldBack.BREAKER:
        stopped = sorted(judged.step.breakers.rows)
        yield f"held back: {first.held_back}; gpuspec health resume {' '.join(stopped)}"
    elif first.held_back is HeldBack.WAIVED:
        yield f"held back: {first.held_back}; {_acts_again(fold)}"
    elif first.held_back and first.held_back is not HeldBack.RECOVERING:
        yield f"held back: {first.held_back}"
    yield from _exposed(fold, at_most)
    if first.spent is not None:
        yield f"evictions wait: {spent_said(first.spent, judged)}"


def _acts_again(fold: Fold) -> str:
    """Return what ends a person's removal of our mark: new evidence, or a taint by hand (H10)."""
    fence = fold[0].fence
    if fence is None or fence.by is not Fence.TAINT:
        return _ACTS_AGAIN
    node = fold[0].case.subject.node if len(fold) == 1 else "NODE"
    return f"{_ACTS_AGAIN}; at once: kubectl taint node {node} {UNHEALTHY}"


def _exposed(fold: Fold, at_most: int | None) -> Iterator[str]:
    """Yield that nothing keeps Pods from what has failed, and which are there."""
    first = fold[0]
    is_open = first.fence is not None and not first.fence.is_in_place
    if first.held_back in (HeldBack.ROW, HeldBack.BREAKER) and is_open:
        names = _keys(one.pod for one in _holders(fold))
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


def _staying(fold: Fold, judged: Judged, at_most: int | None) -> Iterator[str]:
    first = fold[0]
    if first.fence is None:
        return
    if first.holders is None:
        yield _UNKNOWN_HOLDER
        return
    holders = _holders(fold)
    if first.mode is Mode.QUARANTINE and holders:
        count = counted(len(holders), "Pod")
        stays = "stays" if len(holders) == 1 else "stay"
        names = some(_keys(one.pod for one in holders), at_most)
        yield f"{count} {stays} on it, for mode Quarantine evicts nobody: {names}"
        return
    staying = [one for one in holders if one.why]
    for one in staying[:at_most]:
        ledger = judged.step.state.ledger
        was = "evicted" if one.pod.leaves and ledger.has_evicted(one.pod.uid) else "stays"
        yield f"{was}: {one.pod.key}: {one.why}"
    if at_most is not None and len(staying) > at_most:
        yield f"stay: {len(staying) - at_most} more Pods"
