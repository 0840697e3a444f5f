"""What comes once stopped rows go on: the same steps that the controller would take (H5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from webhook.advice.health.judged import NO_ROW, Judged
from webhook.advice.health.replica import after_evictions, placed_rule, tainted
from webhook.advice.health.subject_text import deeds
from webhook.advice.words import counted, some
from webhook.health.actions import Action, Doing
from webhook.health.fences import NO_EFFECT, NO_SCHEDULE, rule_name
from webhook.health.ledger import Ledger
from webhook.health.observed import Observed
from webhook.health.step import step
from webhook.health.subjects import Subject

# A rule is placed, read back, has its effect, and then Pods go, so many marks a step. Beyond these
# steps the preview would take longer than anybody waits for it, and says that there is more.
_STEPS = 60
_STEP_S = 1.0

# Names of Pods in one sentence; a window rarely has more.
_PODS = 20


@dataclass(frozen=True, slots=True)
class Foresight:
    """What would be done, and what would wait.

    Attributes:
        actions: All of it, each once, in its order.
        waiting: Subjects about which more would be done, were there budget left (H4).
        is_cut: Whether more would follow than was looked at.
    """

    actions: tuple[Action, ...]
    waiting: frozenset[Subject]
    is_cut: bool = False


def foresee(judged: Judged, ledger: Ledger) -> Foresight:
    """Take the controller's next steps with this ledger, each as if the last one had taken effect.

    Args:
        judged: A cluster as it is.
        ledger: What counts and what is stopped.
    """
    moment, state = judged.moment, replace(judged.remembered, ledger=ledger)
    found = step(moment, state)
    actions = {one.key: one for one in found.actions}
    # Whoever waits for what is placed to be seen, or for a failure to last, has waited by then.
    now = moment.now + max(_STEP_S, moment.policy.evict_after_s)
    new, number = found.actions, 0
    while (new or number == 0) and number < _STEPS:
        observed = _after(moment.observed, new)
        moment = replace(moment, observed=observed, now=now + number * _STEP_S)
        found = step(moment, found.state)
        new = tuple(one for one in found.actions if one.key not in actions)
        actions |= {one.key: one for one in new}
        number += 1
    waiting = (one.case.subject for one in found.decisions if one.is_for_want_of_budget)
    return Foresight(tuple(actions.values()), frozenset(waiting), bool(new))


def coming(judged: Judged, rows: frozenset[str]) -> Iterator[str]:
    """Yield what comes once rows go on that have stopped, and would not come otherwise.

    Args:
        judged: A cluster as it is.
        rows: Those that are to go on.
    """
    ledger = judged.remembered.ledger
    before, after = foresee(judged, ledger), foresee(judged, ledger.resume(rows))
    anyway = {one.key for one in before.actions}
    by_rows = _by_rows(judged, [one for one in after.actions if one.key not in anyway])
    for row in sorted(rows):
        by_rows.setdefault(row, [])
    for row, actions in sorted(by_rows.items()):
        yield from _of_row(judged, row, actions)
    if waiting := after.waiting - before.waiting:
        subjects = counted(len(waiting), "failed node or device", "failed nodes or devices")
        yield f"{subjects} would wait until there is budget again"
    if after.is_cut:
        yield "more would follow than is counted here"


def _of_row(judged: Judged, row: str, actions: list[Action]) -> Iterator[str]:
    mode = actions[0].mode if actions else judged.moment.policy.mode_of((row,))
    if not actions:
        yield f"{row}, mode {mode}: nothing would be done now"
        return
    marked = {
        one.subject for one in actions if one.doing is Doing.RULE and one.effect == NO_SCHEDULE
    }
    tainted_ = {one.subject.node for one in actions if one.doing is Doing.TAINT}
    pods = {one.pod.uid: one.pod for one in actions if one.doing is Doing.EVICT and one.pod}
    parts = [counted(len(tainted_), "node")] if tainted_ or not marked else []
    parts += [counted(len(marked), "device")] if marked else []
    yield (
        f"{row}, mode {mode}: would quarantine {' and '.join(parts)}, and evict "
        f"{counted(len(pods), 'Pod')}"
    )
    for said in deeds([one for one in actions if one.effect != NO_EFFECT], _PODS):
        yield f"  {said}"
    by_why: dict[str, list[str]] = {}
    for uid, pod in pods.items():
        if why := judged.refusals.get(uid):
            by_why.setdefault(why, []).append(pod.key)
    for why, keys in by_why.items():
        yield f"  refused until that is allowed: {some(keys, _PODS)}: {why}"


def _after(observed: Observed, actions: Iterable[Action]) -> Observed:
    """Return what there is once actions have taken effect."""
    nodes, rules, gone = dict(observed.nodes), dict(observed.our_rules), set()
    failures: Counter[str] = Counter()
    for one in actions:
        match one.doing:
            case Doing.TAINT:
                nodes[one.subject.node] = tainted(nodes[one.subject.node])
            case Doing.RULE:
                rules[rule_name(one.subject)] = placed_rule(one)
            case Doing.EVICT | Doing.REMOVE if one.pod is not None:
                gone.add(one.pod.uid)
                failures[one.pod.owner.uid] += one.doing is Doing.EVICT
            case _:
                continue  # what is taken back makes room for nothing that was asked about
    others = [one for one in observed.rules or () if not one.is_ours]
    return replace(
        observed,
        nodes=nodes,
        rules=None if observed.rules is None else (*others, *rules.values()),
        pods=tuple(one for one in observed.pods if one.uid not in gone),
        jobs={uid: after_evictions(job, failures[uid]) for uid, job in observed.jobs.items()},
    )


def _by_rows(judged: Judged, actions: Iterable[Action]) -> dict[str, list[Action]]:
    found: dict[str, list[Action]] = {}
    for one in actions:
        rows = ", ".join(judged.moment.rows(one.subject.node)) or NO_ROW
        found.setdefault(rows, []).append(one)
    return found
