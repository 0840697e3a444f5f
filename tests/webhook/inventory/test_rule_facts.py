"""DeviceTaintRules: which devices they taint, and whose they are (H7)."""

from __future__ import annotations

import pytest

from tests.builders import Json
from webhook.inventory.facts import Taint
from webhook.inventory.rule_facts import RuleFacts, rule_facts
from webhook.terms import RULE_LABEL

DEVICE = ("gpu.nvidia.com", "n1", "gpu-0")


@pytest.mark.rule("H7")
def test_a_rule_of_ours() -> None:
    raw = {
        "metadata": {"name": "r", "labels": {RULE_LABEL: "unhealthy"}},
        "spec": {
            "deviceSelector": {"driver": DEVICE[0], "pool": DEVICE[1], "device": DEVICE[2]},
            "taint": {"key": "k", "value": "v", "effect": "NoSchedule"},
        },
    }
    assert rule_facts(raw) == RuleFacts("r", DEVICE, Taint("k", "v", "NoSchedule"), is_ours=True)


@pytest.mark.rule("H7")
@pytest.mark.parametrize(
    ("selector", "covers"),
    [
        ({"driver": DEVICE[0]}, True),
        ({"driver": DEVICE[0], "pool": "n1"}, True),
        ({"driver": DEVICE[0], "device": "gpu-1"}, False),
        ({"driver": "other"}, False),
        ({"pool": None}, True),
        ({}, True),
        (None, False),
    ],
    ids=str,
)
def test_a_selector_covers_what_it_does_not_exclude(selector: Json | None, *, covers: bool) -> None:
    assert rule_facts({"spec": {"deviceSelector": selector}}).covers(*DEVICE) is covers


@pytest.mark.rule("H10")
@pytest.mark.parametrize("labels", [{}, None, {"app": "x"}, [RULE_LABEL]])
def test_a_rule_without_our_label_is_somebody_elses(labels: object) -> None:
    assert not rule_facts({"metadata": {"labels": labels}}).is_ours


@pytest.mark.parametrize("odd", [None, 7, "x", [], [None]])
def test_odd_shapes_select_nothing(odd: object) -> None:
    nothing = RuleFacts("", None, Taint("", "", ""))
    assert rule_facts({"metadata": odd, "spec": odd}) == nothing
    assert rule_facts({"spec": {"deviceSelector": odd, "taint": odd}}) == nothing
