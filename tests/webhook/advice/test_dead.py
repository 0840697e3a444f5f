"""Free devices that health calls Failed although nothing keeps Pods away from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import GPU
from tests.webhook.advice.pods import make_node
from webhook.advice.dead import dead_devices, is_dead
from webhook.health.cases import Case, Verdict
from webhook.health.records import Record
from webhook.health.stored import record_text
from webhook.health.subjects import Subject, dra_subject, node_subject, plugin_subject
from webhook.inventory.facts import NodeFacts, node_facts

pytestmark = pytest.mark.rule("H11")

NODE = node_facts(make_node("n", {}, devices={GPU: 8}))


def judged(*cases: tuple[Subject, Verdict], allocatable: int = 8) -> NodeFacts:
    """A node on which these verdicts are written."""
    record = Record("uid", tuple(Case(subject, held=held) for subject, held in cases))
    return replace(NODE, verdicts=record_text(record, 0.0), allocatable={GPU: allocatable})


def one(device: str) -> Subject:
    return plugin_subject("n", GPU, device)


@pytest.mark.parametrize(
    ("node", "dead"),
    [
        (NODE, 0),
        (replace(NODE, verdicts="{"), 0),
        (judged((node_subject("n"), Verdict.FAILED)), 8),
        (judged((node_subject("n"), Verdict.SUSPECT)), 0),
        (judged((one("GPU-1"), Verdict.FAILED), (one("GPU-2"), Verdict.FAILED)), 2),
        (judged((plugin_subject("n", "amd.com/gpu", "0"), Verdict.FAILED)), 0),
        (judged((dra_subject("n", "d", "p", "gpu-0"), Verdict.FAILED)), 0),
        # What the kubelet withholds is not allocatable, and so it is not offered as free.
        (judged((one("GPU-1"), Verdict.FAILED), allocatable=7), 0),
        (judged((plugin_subject("n", GPU), Verdict.FAILED), allocatable=7), 0),
    ],
)
def test_how_many_are_dead(node: NodeFacts, dead: int) -> None:
    assert dead_devices(node, GPU) == dead
    assert is_dead(node) is (dead == 8)
