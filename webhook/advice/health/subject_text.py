"""One subject for people, or several alike: verdict, why, what was done and what would be (H11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from selection_spec.health import Mode
from webhook.advice.health.fates import Fate, State, fates
from webhook.advice.health.folds import Fold, whom
from webhook.advice.health.judged import Judged
from webhook.advice.health.phrases import (
    deed,
    fence_name,
    lasting,
    lasting_each,
    progress_said,
    untaint,
)
from webhook.advice.words import counted, some
from webhook.health import words
from webhook.health.actions import Action, Doing
from webhook.health.cases import Mark
from webhook.health.decisions import HeldBack
from webhook.health.fences import UNHEALTHY, Fence
from webhook.inventory.pod_facts import PodFacts

# Evidence and Pods of one subject in a list of many; `health explain` has all of them.
_EVIDENCE = 3
_PODS = 4

_UNKNOWN_HOLDER = "nobody is evicted from it: no Pod's status tells which of them holds this device"
_ACTS_AGAIN = (
    "gpuspec acts again on another signal, on this one after the node was good for long enough to "
    "recover, and after a reboot"
)
_MOVING = (Doing.EVICT, Doing.REMOVE)


def headline(fold: Fold, judged: Judged) -> str:
    """Return what is said of subjects, and since when."""
    how_long = lasting_each((one.case.since for one in fold), judged.now)
    said = f"{whom(fold)}, {how_long}"
    cases = [one.case for one in fold]
    progress = progress_said(cases, judged.moment, is_bad=fold[0].look.is_bad)
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
    """Yield what was done about subjects, what would be, and what holds it back.

    Each Pod that holds any of them is in it, with what becomes of it.
    """
    first = fold[0]
    yield from _done(fold, judged)
    yield from _planned(fold, judged, at_most)
    yield from held_back(fold, judged)
    yield from _staying(fold, judged, at_most)
    if first.locked_out:
        out = some(first.locked_out, at_most)
        yield (
            f"these DaemonSets would not come back beside it: {out}; give them a toleration of "
            f"{UNHEALTHY.key}, operator Exists"
        )
    if judged.remembered_case(first.case.subject) is None:
        yield "seen by this command only: the controller has not written it down"


def _done(fold: Fold, judged: Judged) -> Iterator[str]:
    decision = fold[0]
    fence, before = decision.fence, judged.remembered_case(decision.case.subject)
    mark = Mark.NONE if before is None else before.mark
    if fence is not None and fence.is_in_place:
        yield f"done: new Pods are kept away by {fence_name(fence.by)}"
        nodes = sorted({one.case.subject.node for one in fold} & judged.tainted_by_hand)
        if fence.by is Fence.TAINT and nodes:
            yield f"a person has placed it, so it stays once all is well, until: {untaint(nodes)}"
    elif mark is not Mark.NONE and decision.case.mark is mark:
        seen = "is there" if decision.case.is_seen else "was placed, and is not seen there yet"
        yield f"done: {_marked(mark)} {seen}"


def _marked(mark: Mark) -> str:
    return f"our taint {UNHEALTHY}" if mark is Mark.TAINT else "our DeviceTaintRule"


def _planned(fold: Fold, judged: Judged, at_most: int | None) -> Iterator[str]:
    """Yield what is to be done now, in ``Observe`` what would be; then what would follow."""
    first = fold[0]
    head = "would" if first.mode is Mode.OBSERVE else "next"
    actions = [action for one in fold for action in one.actions]
    found = fates(fold, judged)
    refused = {one.pod.uid for one in found if one.state is State.REFUSED}
    possible = [one for one in actions if one.pod is None or one.pod.uid not in refused]
    yield from (f"{head}: {said}" for said in deeds(possible, at_most))
    if following := [one.pod for one in found if one.state is State.FOLLOWS]:
        yield f"then, once no new Pod can come: evict {some(_keys(following), at_most)}"
    for why, pods in _by_why(found, State.REFUSED):
        yield f"{head}: evict {some(_keys(pods), at_most)}, once that is allowed: {why}"


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


def _keys(pods: Iterable[PodFacts]) -> list[str]:
    return [one.key for one in pods]


def held_back(fold: Fold, judged: Judged) -> Iterator[str]:
    """Yield why nothing is done about subjects now."""
    first = fold[0]
    why = words.held_back(first, judged.step.breakers)
    if first.held_back is HeldBack.BREAKER:
        stopped = sorted(judged.step.breakers.rows)
        yield f"held back: {why}; gpuspec health resume {' '.join(stopped)}"
    elif first.held_back is HeldBack.WAIVED:
        yield f"held back: {why}; {_ACTS_AGAIN}"
    elif first.held_back and first.held_back is not HeldBack.RECOVERING:
        yield f"held back: {why}"
    is_open = first.fence is not None and not first.fence.is_in_place
    if is_open and first.held_back in (HeldBack.ROW, HeldBack.BREAKER, HeldBack.WAIVED):
        yield "new Pods may still come there"


def _staying(fold: Fold, judged: Judged, at_most: int | None) -> Iterator[str]:
    first = fold[0]
    if first.fence is None:
        return
    if first.holders is None:
        yield _UNKNOWN_HOLDER
        return
    found = fates(fold, judged)
    for why, pods in _by_why(found, State.WAITS):
        budget = "its" if len(pods) == 1 else "their"
        head = "evictions wait" if first.spent is not None else f"wait for {budget} row's budget"
        yield f"{head}: {why}: {some(_keys(pods), at_most)}"
    for why, pods in _by_why(found, State.LEFT_ALONE):
        yield f"left alone: {some(_keys(pods), at_most)}: {why}"
    if first.mode is Mode.QUARANTINE:
        for why, pods in _by_why(found, State.STAYS):
            stays = "stays" if len(pods) == 1 else "stay"
            names = some(_keys(pods), at_most)
            yield f"{counted(len(pods), 'Pod')} {stays} on it, for {why}: {names}"
    else:
        yield from _each(found, State.STAYS, at_most)
    yield from _each(found, State.EVICTED, at_most)
    yield from _each(found, State.LEAVES, at_most)


def _each(found: Iterable[Fate], state: State, at_most: int | None) -> Iterator[str]:
    """Yield a line for each Pod in a state, and how many there are more."""
    those = [one for one in found if one.state is state]
    yield from (f"{state}: {one.pod.key}: {one.why}" for one in those[:at_most])
    if at_most is not None and len(those) > at_most:
        verb = "stay" if state is State.STAYS else state.value
        yield f"{verb}: {len(those) - at_most} more Pods"


def _by_why(found: Iterable[Fate], state: State) -> Iterator[tuple[str, list[PodFacts]]]:
    """Yield the Pods in a state, those for the same reason together."""
    by_why: dict[str, list[PodFacts]] = {}
    for one in found:
        if one.state is state:
            by_why.setdefault(one.why, []).append(one.pod)
    yield from by_why.items()
