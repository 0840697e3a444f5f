"""How health is worded."""

from __future__ import annotations

import pytest

from selection_spec.health import Mode
from tests.builders import DRIVER
from webhook.advice.health.phrases import deed, lasting, since
from webhook.health.actions import Action, Doing
from webhook.health.subjects import dra_subject, node_subject
from webhook.inventory.pod_facts import Owner, PodFacts

DAY = 86_400
POD = PodFacts("ml", "p", "uid", Owner("Pod", "p"))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-1, "0s"),
        (0.9, "0s"),
        (61.5, "1m1s"),
        (3_599, "59m59s"),
        (3_661, "1h1m"),
        (DAY - 1, "23h59m"),
        (2 * DAY + 3_700, "2d1h"),
    ],
)
def test_long_times_are_told_less_exactly(seconds: float, said: str) -> None:
    assert lasting(seconds) == said


@pytest.mark.parametrize(("at", "said"), [(100, "just now"), (99.5, "just now"), (40, "for 1m")])
def test_since_when(at: float, said: str) -> None:
    assert since(at, 100) == said


@pytest.mark.parametrize(
    ("doing", "said"),
    [
        (Doing.TAINT, "taint node n gpuspec.preferred.jp/unhealthy:NoSchedule"),
        (Doing.UNTAINT, "take our taint off node n"),
        (Doing.EVICT, "evict Pod ml/p"),
        (Doing.REMOVE, "remove the rejected Pod ml/p"),
    ],
)
def test_what_is_done_to_a_node(doing: Doing, said: str) -> None:
    assert deed(Action(doing, node_subject("n"), Mode.EVICT, pod=POD)) == said


@pytest.mark.parametrize(
    ("doing", "said"),
    [
        (Doing.RULE, f"place a DeviceTaintRule on {DRIVER}/pool/gpu-0, effect None"),
        (Doing.UNRULE, f"remove our DeviceTaintRule from {DRIVER}/pool/gpu-0"),
    ],
)
def test_what_is_done_to_a_device(doing: Doing, said: str) -> None:
    device = dra_subject("n", DRIVER, "pool", "gpu-0")
    assert deed(Action(doing, device, Mode.EVICT, effect="None")) == said
