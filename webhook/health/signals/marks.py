"""Taints and labels by which others say how a node fares (H2 b)."""

from __future__ import annotations

from collections.abc import Iterator

from selection_spec.health import TaintRule
from webhook.health.readings import GRADES, Reading, Source
from webhook.health.shipped import Listening
from webhook.health.subjects import node_subject
from webhook.inventory.facts import NodeFacts, Taint


def read(node: NodeFacts, listening: Listening) -> Iterator[Reading]:
    """Yield what a node's taints and labels say; one that is gone is good.

    Where several entries fit, the worst counts.
    """
    subject = node_subject(node.name)
    for taint in node.taints:
        rules = listening.taints.get(taint.key, ())
        grades = [GRADES[rule.severity] for rule in rules if _fits(taint, rule)]
        if grades:
            yield Reading(subject, Source.TAINT, taint.key, max(grades), f"taint {taint}")
    for key, labels in listening.labels.items():
        value = node.labels.get(key)
        grades = [GRADES[one.severity] for one in labels if one.value == value]
        if grades:
            yield Reading(subject, Source.LABEL, key, max(grades), f"label {key}={value}")


def _fits(taint: Taint, rule: TaintRule) -> bool:
    return rule.value in (None, taint.value) and rule.effect in (None, taint.effect)
