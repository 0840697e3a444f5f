"""Our marks as they are in a cluster: what ``gpuspec health clear`` would remove (H10)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from webhook.health.observed import Devices
from webhook.health.records import cleared
from webhook.health.stored import record_of, record_text
from webhook.inventory.facts import NodeFacts
from webhook.inventory.rule_facts import RuleFacts
from webhook.terms import HEALTH_LABEL, SUSPECT, UNHEALTHY_TAINT, VERDICTS_ANNOTATION


@dataclass(frozen=True, slots=True)
class MarksLeft:
    """What of ours is on a node, and on its devices.

    Attributes:
        node: The node's name; "" for rules about devices that are on no node any more.
        taint: Our taint as kubectl writes it, "" where there is none.
        label: Whether it has our label.
        annotation: What the annotation would be now (``annotation_after``); "" where nothing is to
            be kept in mind, None where there is none.
        rules: The names of our DeviceTaintRules.
        uid: The node's: another node of the same name was not asked about.
    """

    node: str
    taint: str = ""
    label: bool = False
    annotation: str | None = None
    rules: tuple[str, ...] = ()
    uid: str = ""

    @property
    def keep_away(self) -> bool:
        """Whether any of it keeps Pods away; the annotation only tells."""
        return bool(self.taint or self.label or self.rules)

    @property
    def parts(self) -> Iterator[str]:
        """All of it, in words."""
        if self.taint:
            yield f"taint {self.taint}"
        if self.label:
            yield f"label {HEALTH_LABEL}={SUSPECT}"
        if self.annotation == "":
            yield f"annotation {VERDICTS_ANNOTATION}"
        for name in self.rules:
            yield f"DeviceTaintRule {name}"

    def __str__(self) -> str:
        """Return it as a line: whose marks, and which."""
        whose = f"node {self.node}" if self.node else "devices that are on no node"
        return f"{whose}: {', '.join(self.parts)}"


def marks_left(
    nodes: Mapping[str, NodeFacts],
    devices: Devices,
    rules: Sequence[RuleFacts] | None,
    *,
    forgets: bool = False,
) -> tuple[MarksLeft, ...]:
    """Return our marks by node, those on devices without a node last.

    Args:
        nodes: All nodes, by name.
        devices: What DRA drivers offer.
        rules: The DeviceTaintRules; None where there are none to be had.
        forgets: Whether what is known of the nodes is to go too.
    """
    ours: dict[str, list[str]] = defaultdict(list)
    for rule in rules or ():
        if rule.is_ours:
            ours[_node_of(rule, devices)].append(rule.name)
    strays = tuple(sorted(name for node in ours if node not in nodes for name in ours[node]))
    found = [
        _of_node(node, ours.get(name, ()), forgets=forgets) for name, node in sorted(nodes.items())
    ]
    if strays:
        found.append(MarksLeft("", rules=strays))
    return tuple(one for one in found if one.keep_away or one.annotation == "")


def _node_of(rule: RuleFacts, devices: Devices) -> str:
    driver, pool, device = rule.selector or (None, None, None)
    return devices.nodes.get((driver or "", pool or "", device or ""), "")


def _of_node(node: NodeFacts, rules: Sequence[str], *, forgets: bool) -> MarksLeft:
    taints = (str(taint) for taint in node.taints if taint.key == UNHEALTHY_TAINT)
    return MarksLeft(
        node.name,
        taint=", ".join(taints),
        label=node.labels.get(HEALTH_LABEL) == SUSPECT,
        annotation=annotation_after(node, forgets=forgets),
        rules=tuple(sorted(rules)),
        uid=node.uid,
    )


def annotation_after(node: NodeFacts, *, forgets: bool) -> str | None:
    """Return what a node's annotation is to be once a person has removed our marks.

    So the removal is respected whoever leads next. "" where nothing is to be kept in mind, None
    where there is none.
    """
    if not node.verdicts:
        return None
    record = None if forgets else record_of(node.verdicts, node.name)
    # Whatever stands there was worth writing, however long ago.
    return "" if record is None else record_text(cleared(record), math.inf)
