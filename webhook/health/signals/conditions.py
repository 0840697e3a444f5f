"""Conditions of nodes that monitors set, by a list with each one's polarity (H2 a, h)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from selection_spec.health import ConditionRule
from webhook.health.readings import GRADES, SKEW_S, Grade, Reading, Source
from webhook.health.shipped import Listening
from webhook.health.subjects import node_subject
from webhook.inventory.facts import NodeCondition, NodeFacts
from webhook.terms import PROBE_CONDITION

_REMEMBERED = 512


def read(node: NodeFacts, listening: Listening, now: float) -> Iterator[Reading]:
    """Yield what a node's conditions say.

    A condition that has been bad for less than its ``minDuration`` is unknown: it is no reason to
    act yet, and none to forget what was.
    """
    for condition in node.conditions:
        rule = listening.conditions.get(condition.type)
        if rule is None:
            continue
        grade = _grade(condition, rule, now)
        if grade is not Grade.GOOD:
            yield Reading(
                node_subject(node.name),
                source_of(condition.type),
                condition.type,
                grade,
                _said(condition),
                condition.since,
            )


def again(node: NodeFacts, listening: Listening, name: str) -> Grade:
    """Return how a condition reads that was bad and is not read as such now.

    One that is no longer there tells nothing: its monitor may have been restarted (H3). One that
    nobody listens to any more is no reason to hold on to anything.
    """
    if name not in listening.conditions:
        return Grade.GOOD
    is_there = any(one.type == name and one.status != "Unknown" for one in node.conditions)
    return Grade.GOOD if is_there else Grade.UNKNOWN


def source_of(condition: str) -> Source:
    """Return whose signal a condition is: the probe's, or a monitor's."""
    return Source.PROBE if condition == PROBE_CONDITION else Source.CONDITION


def _grade(condition: NodeCondition, rule: ConditionRule, now: float) -> Grade:
    if condition.status not in ("True", "False"):
        return Grade.UNKNOWN
    if condition.status != rule.bad_status or not _matches(rule.reason, condition.reason):
        return Grade.GOOD
    # What its monitor's clock dates far ahead would stay young until ours is there.
    is_dated = 0 < condition.since <= now + SKEW_S
    is_young = is_dated and now - condition.since < rule.min_duration_s
    return Grade.UNKNOWN if is_young else GRADES[rule.severity]


def _matches(pattern: str, reason: str) -> bool:
    return not pattern or _compiled(pattern).search(reason) is not None


@lru_cache(_REMEMBERED)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _said(condition: NodeCondition) -> str:
    reason = f" ({condition.reason})" if condition.reason else ""
    return f"condition {condition.type} is {condition.status}{reason}"
