"""``health explain NODE``: what was looked at on a node, what came of it, and what comes next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.advice.health.health_json import about_json, case_times, named, subject_json
from webhook.advice.health.heard import Signal, not_there, signals_of
from webhook.advice.health.judged import NO_ROW, Judged
from webhook.advice.health.listing import at_once, by_hand
from webhook.advice.health.marks_left import MarksLeft
from webhook.advice.health.phrases import lasting, seen, since
from webhook.advice.health.subject_text import evidence, headline, measures
from webhook.advice.words import NOTHING, counted, some, wrapped
from webhook.health.cases import Verdict
from webhook.health.decisions import Decision
from webhook.health.holders import holders
from webhook.health.readings import Grade
from webhook.health.records import is_reported
from webhook.health.subjects import node_subject
from webhook.health.verdicts import recovery_s
from webhook.inventory.facts import NodeFacts

Json = dict[str, Any]

_HEAD = 10
_INDENT = " " * _HEAD
_ABSENT = 3
_GRADES = {
    None: "-",
    Grade.GOOD: "good",
    Grade.UNKNOWN: "unknown",
    Grade.WARNING: "warning",
    Grade.ERROR: "error",
    Grade.FATAL: "fatal",
}


def node_text(node: NodeFacts, judged: Judged) -> str:
    """Return the explanation for people, in lines of 80 columns."""
    parts = [_head(node, judged), *_verdicts(node, judged), _rest(node, judged)]
    return "\n\n".join((*parts, _signals(node, judged)))


def node_json(node: NodeFacts, judged: Judged) -> Json:
    """Return the explanation for programs."""
    return {
        **about_json(judged),
        "node": node.name,
        "rows": list(judged.moment.rows(node.name)),
        "nodeMode": judged.moment.mode(node.name).value,
        "ready": node.ready,
        "boot": node.boot,
        "signals": [
            _signal_json(one) for one in signals_of(node, judged.moment, judged.remembered)
        ],
        "notThere": list(not_there(node, judged.moment)),
        "subjects": [
            {**subject_json(one, judged), **case_times(one.case)} for one in _of(node, judged)
        ],
        "marks": list(_marks(node, judged).parts),
        "taintedByHand": node.name in judged.tainted_by_hand,
        "pods": [pod.key for pod in holders(node_subject(node.name), judged.moment.observed) or ()],
    }


def _of(node: NodeFacts, judged: Judged) -> list[Decision]:
    """Return all that is remembered of a node, recovered subjects among it."""
    mine = (one for one in judged.step.decisions if one.case.subject.node == node.name)
    return sorted(mine, key=lambda one: one.case.subject)


def _marks(node: NodeFacts, judged: Judged) -> MarksLeft:
    return next((one for one in judged.marks if one.node == node.name), MarksLeft(node.name))


def _head(node: NodeFacts, judged: Judged) -> str:
    about, moment = judged.about, judged.moment
    rows = ", ".join(moment.rows(node.name)) or NO_ROW
    ready = "Ready" if node.ready else "not Ready, so nothing that it says is new: all is Unknown"
    return "\n".join(
        wrapped(line)
        for line in (
            f"node {node.name} of {about.server}, {about.kubernetes}",
            f"row: {rows}; mode {moment.mode(node.name)}; {ready}",
        )
    )


def _signals(node: NodeFacts, judged: Judged) -> str:
    lines = ["Signals"]
    for one in signals_of(node, judged.moment, judged.remembered):
        head = f"  {_GRADES[one.grade]:<{_HEAD - 2}}"
        lines.append(wrapped(_said(one, judged), head, _INDENT))
    absent = not_there(node, judged.moment)
    if absent:
        named = f"{some(absent, _ABSENT)}{'; -o json names all' * (len(absent) > _ABSENT)}"
        said = f"listened to and not there: {counted(len(absent), 'condition')}: {named}"
        lines.append(wrapped(said, f"  {'-':<{_HEAD - 2}}", _INDENT))
    return "\n".join(lines)


def _said(signal: Signal, judged: Judged) -> str:
    how_long = f", {since(signal.since, judged.now)}" if signal.since else ""
    of = "" if signal.subject.is_node or not signal.subject.device else f"{signal.subject.name}: "
    rule = f"; {signal.rule}" if signal.rule else ""
    heard = "; nobody listens to it" if signal.grade is None else rule
    return f"{of}{signal.said}{how_long}{heard}"


def _signal_json(one: Signal) -> Json:
    return {
        **named(one.subject),
        "source": one.source.value,
        "name": one.name,
        "grade": None if one.grade is None else one.grade.name.title(),
        "said": one.said,
        "rule": one.rule or None,
    }


def _verdicts(node: NodeFacts, judged: Judged) -> Iterator[str]:
    found = _of(node, judged)
    if not found:
        yield "Nothing speaks against this node or its devices."
    for one in found:
        yield "\n".join(_subject(one, judged))


def _subject(one: Decision, judged: Judged) -> Iterator[str]:
    case, policy = one.case, judged.moment.policy
    yield wrapped(headline((one,), judged), f"{case.verdict:<{_HEAD}}", _INDENT)
    for said in evidence((one,), judged, None):
        yield wrapped(said, f"{_INDENT}- ", f"{_INDENT}  ")
    if case.held is Verdict.HEALTHY and case.recovered:
        said = f"recovered {lasting(judged.now - case.recovered)} ago"
        yield wrapped(f"{said}; if it turns bad again, {_recovery(one, judged)}", _INDENT)
    elif case.held is not Verdict.HEALTHY:
        wanted = counted(policy.good_observations, "time")
        recovering = f"to recover it has to be seen good {wanted} over "
        counts = f"{_counts(one, judged)}; {recovering}{lasting(recovery_s(case, policy))}"
        yield wrapped(counts, _INDENT, f"{_INDENT}  ")
    if is_reported(case, judged.now):
        for said in measures((one,), judged, None):
            yield wrapped(said, _INDENT, f"{_INDENT}  ")


def _counts(one: Decision, judged: Judged) -> str:
    """Return how often it was seen bad of how often that takes to fail it (H3)."""
    case = one.case
    if any(evidence.grade is Grade.FATAL for evidence in case.evidence):
        return "failed at once, by a fatal signal"
    if not case.bad:
        return "a warning alone never makes it Failed"
    return seen(case.bad, judged.moment.policy.bad_observations, "bad")


def _recovery(one: Decision, judged: Judged) -> str:
    policy = judged.moment.policy
    longer = min(2 * recovery_s(one.case, policy), policy.longest_recovery_s)
    return f"recovering will take {lasting(longer)}"


def _rest(node: NodeFacts, judged: Judged) -> str:
    pods = holders(node_subject(node.name), judged.moment.observed) or ()
    marks = ", ".join(_marks(node, judged).parts) or NOTHING
    held = ", ".join(pod.key for pod in pods) or NOTHING
    lines = [f"Marks of ours: {marks}", f"Pods with devices: {held}"]
    if node.name in judged.out_for_nothing:
        lines += [f"note: {said}" for said in by_hand(judged, [node.name])]
    lines += [f"note: {said}" for said in at_once(_of(node, judged))]
    return "\n".join(map(wrapped, lines))
