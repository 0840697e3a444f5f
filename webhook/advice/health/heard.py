"""Every signal of one node that was looked at, good ones among them, and how it reads (H2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from selection_spec.durations import duration_text
from selection_spec.health import ConditionRule
from webhook.health.mishaps import by_node
from webhook.health.moment import Moment
from webhook.health.readings import Grade, Reading, Source
from webhook.health.records import State
from webhook.health.signals import (
    allocatable,
    conditions,
    crashes,
    device_taints,
    marks,
    pod_status,
    rejected,
)
from webhook.health.subjects import Subject, node_subject, plugin_subject
from webhook.health.withholding import withholding
from webhook.inventory.facts import NodeCondition, NodeFacts, Taint
from webhook.inventory.taints import is_own, is_transient


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal.

    Attributes:
        subject: What it is about.
        name: Which of its source's signals.
        grade: How it reads now; None where nobody listens to it.
        said: What it says.
        rule: When it is bad, and how bad; "" where that is not configured.
        since: Since when, in seconds since 1970; 0 where that is not known.
    """

    subject: Subject
    source: Source
    name: str
    grade: Grade | None
    said: str
    rule: str = ""
    since: float = 0.0


def signals_of(node: NodeFacts, moment: Moment, remembered: State) -> tuple[Signal, ...]:
    """Return the signals of a node and its devices, what is bad first."""
    found = [
        *_conditions(node, moment),
        *_taints(node, moment),
        *_labels(node, moment),
        *_counts(node, moment),
        *_others(node, moment, remembered),
    ]
    return tuple(sorted(found, key=lambda one: (_turn(one.grade), one.source, one.name)))


def not_there(node: NodeFacts, moment: Moment) -> tuple[str, ...]:
    """Return the types of conditions that are listened to and that a node does not have."""
    there = {one.type for one in node.conditions}
    return tuple(sorted(moment.heard.conditions.keys() - there))


def _turn(grade: Grade | None) -> int:
    return 1 if grade is None else -grade


def _conditions(node: NodeFacts, moment: Moment) -> Iterator[Signal]:
    bad = {one.name: one for one in conditions.read(node, moment.heard, moment.now)}
    for one in node.conditions:
        rule = moment.heard.conditions.get(one.type)
        yield Signal(
            node_subject(node.name),
            conditions.source_of(one.type),
            one.type,
            None if rule is None else bad[one.type].grade if one.type in bad else Grade.GOOD,
            _said(one),
            "" if rule is None else _rule(rule),
            one.since,
        )


def _said(condition: NodeCondition) -> str:
    reason = f" ({condition.reason})" if condition.reason else ""
    return f"condition {condition.type} is {condition.status}{reason}"


def _rule(rule: ConditionRule) -> str:
    reason = f" with a reason like {rule.reason}" if rule.reason else ""
    lasting = f" for {duration_text(rule.min_duration_s)}" if rule.min_duration_s else ""
    return f"{rule.severity} when {rule.bad_status}{reason}{lasting}"


def _taints(node: NodeFacts, moment: Moment) -> Iterator[Signal]:
    bad = {one.name: one.grade for one in _marks(node, moment) if one.source is Source.TAINT}
    for taint in node.taints:
        if not (is_own(taint) or is_transient(taint)):
            grade = _grade(bad.get(taint.key), is_heard=taint.key in moment.heard.taints)
            yield _of_taint(node_subject(node.name), Source.TAINT, taint, grade)


def _of_taint(subject: Subject, source: Source, taint: Taint, grade: Grade | None) -> Signal:
    return Signal(subject, source, taint.key, grade, f"taint {taint}")


def _labels(node: NodeFacts, moment: Moment) -> Iterator[Signal]:
    bad = {one.name: one.grade for one in _marks(node, moment) if one.source is Source.LABEL}
    for key in moment.heard.labels:
        if key in node.labels:
            said = f"label {key}={node.labels[key]}"
            grade = bad.get(key, Grade.GOOD)
            yield Signal(node_subject(node.name), Source.LABEL, key, grade, said)


def _marks(node: NodeFacts, moment: Moment) -> Iterable[Reading]:
    return marks.read(node, moment.heard)


def _grade(bad: Grade | None, *, is_heard: bool) -> Grade | None:
    return bad if bad is not None else Grade.GOOD if is_heard else None


def _counts(node: NodeFacts, moment: Moment) -> Iterator[Signal]:
    bad = {one.name: one.grade for one in allocatable.read(node, moment.observed.resources)}
    for resource in sorted(moment.observed.resources & node.capacity.keys()):
        free, there = node.allocatable.get(resource, 0), node.capacity[resource]
        said = f"{free} of {there} {resource} are allocatable"
        subject = plugin_subject(node.name, resource)
        yield Signal(subject, Source.ALLOCATABLE, resource, bad.get(resource, Grade.GOOD), said)


def _others(node: NodeFacts, moment: Moment, remembered: State) -> Iterator[Signal]:
    """Yield what drivers, kubelets and crashes tell; the good is what they do not speak of."""
    observed = moment.observed
    former = {name: record.mishaps for name, record in remembered.records.items()}
    booted = {name: record.booted for name, record in remembered.records.items()}
    window_s = moment.policy.crash_window_s
    befallen = by_node(former, observed, moment.now, window_s, booted)
    cases = {one.subject: one for record in remembered.records.values() for one in record.cases}
    readings = chain(
        device_taints.read(observed.devices),
        pod_status.read(observed, withholding(observed, cases, moment.now)),
        crashes.read(befallen.get(node.name, ())),
        rejected.read(befallen.get(node.name, ())),
    )
    for one in readings:
        if one.subject.node == node.name:
            yield Signal(one.subject, one.source, one.name, one.grade, one.said, since=one.since)
