"""Our marks as they are in a cluster (H10)."""

from __future__ import annotations

import pytest

from tests.builders import DRIVER
from webhook.advice.health.marks_left import MarksLeft, marks_left
from webhook.health.observed import Devices
from webhook.inventory.facts import NodeFacts, Taint
from webhook.inventory.rule_facts import RuleFacts
from webhook.inventory.slice_facts import DeviceFacts, SliceFacts

pytestmark = pytest.mark.rule("H10")

OURS = Taint("gpuspec.preferred.jp/unhealthy", "", "NoSchedule")
DEVICES = Devices([SliceFacts("s", DRIVER, "pool", 1, 1, "n1", (DeviceFacts("gpu-0"),))])


def rule(name: str, device: str | None, *, is_ours: bool = True) -> RuleFacts:
    return RuleFacts(name, (DRIVER, "pool", device), OURS, is_ours)


@pytest.mark.parametrize(
    ("node", "left"),
    [
        (NodeFacts("n1"), ()),
        (NodeFacts("n1", taints=(Taint("x", "", "NoSchedule"),)), ()),
        (NodeFacts("n1", labels={"gpuspec.preferred.jp/health": "fine"}), ()),
        (NodeFacts("n1", taints=(OURS,)), (MarksLeft("n1", taint=str(OURS)),)),
        (
            NodeFacts("n1", labels={"gpuspec.preferred.jp/health": "suspect"}),
            (MarksLeft("n1", label=True),),
        ),
        (NodeFacts("n1", verdicts="{}"), (MarksLeft("n1", annotation=""),)),
    ],
)
def test_what_is_on_a_node(node: NodeFacts, left: tuple[MarksLeft, ...]) -> None:
    assert marks_left({"n1": node}, Devices(), None) == left


def test_rules_are_found_on_their_devices_nodes() -> None:
    rules = [
        rule("b", "gpu-0"),
        rule("a", "gpu-0"),
        rule("theirs", "gpu-0", is_ours=False),
        rule("gone", "gpu-9"),
        rule("any", None),
        RuleFacts("none", None, OURS, is_ours=True),
    ]
    assert marks_left({"n1": NodeFacts("n1"), "n2": NodeFacts("n2")}, DEVICES, rules) == (
        MarksLeft("n1", rules=("a", "b")),
        MarksLeft("", rules=("any", "gone", "none")),
    )


def test_a_rule_on_a_node_that_is_gone_is_of_no_node() -> None:
    assert marks_left({}, DEVICES, [rule("a", "gpu-0")]) == (MarksLeft("", rules=("a",)),)


def test_an_annotation_alone_keeps_nobody_away() -> None:
    assert not MarksLeft("n1", annotation="").keep_away
    assert MarksLeft("n1", rules=("a",)).keep_away
