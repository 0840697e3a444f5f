"""Conditions of a table's status: what they say, and since when."""

from __future__ import annotations

import pytest

from selection_spec.errors import Problem
from tests.builders import make_row, make_table
from tests.webhook.inventory.drivers import NVIDIA, device, pool
from tests.webhook.inventory.facts import node, nodes
from webhook.inventory.claims import offered
from webhook.inventory.conditions import Condition, accepted, merged, ready
from webhook.inventory.facts import NodeFacts
from webhook.inventory.slice_facts import slice_facts
from webhook.inventory.status import table_status

EARLIER, NOW = "2026-11-29T10:00:00Z", "2026-11-29T11:00:00Z"
TABLE = make_table(make_row("a30-24gb", perNode=6), make_row("h100-80gb"))


def test_a_table_without_problems_is_accepted() -> None:
    assert accepted(()) == Condition("Accepted", "True", "Valid", "the table breaks no law")


def test_a_table_with_problems_is_not_and_they_are_named() -> None:
    problems = [
        Problem('vram "24" is no nominal memory', path="spec.devices[0].vram", hint="write 24gb"),
        *(Problem(f"problem {number}") for number in range(5)),
    ]

    assert accepted(problems) == Condition(
        "Accepted",
        "False",
        "Invalid",
        'spec.devices[0].vram: vram "24" is no nominal memory; write 24gb\n'
        "problem 0\nproblem 1\nproblem 2 and 2 more",
    )


@pytest.mark.parametrize(
    ("cluster", "status", "reason", "message"),
    [
        pytest.param(
            nodes(2, "a30-24gb", 6),
            "True",
            "AllFine",
            "1 of 2 rows match nodes; 12 of 12 devices are usable",
            id="fine; a pool may be empty for now",
        ),
        pytest.param(
            [*nodes(2, "a30-24gb", 8), node("x", "h100-80gb", cordoned=True), node("y", "new")],
            "True",
            "ProblemsFound",
            "2 of 2 rows match nodes; 16 of 24 devices are usable; 1 row has problems: a30-24gb; "
            "1 node with GPUs matches no row",
            id="problems",
        ),
        pytest.param(
            [node("x", "a30-24gb", 6, ready=False), node("y", "h100-8"), node("z", "h100-8")],
            "False",
            "NoUsableDevices",
            "1 of 2 rows match nodes; 0 of 6 devices are usable; 1 row has problems: h100-80gb; "
            "2 nodes with GPUs match no row",
            id="nothing to give",
        ),
        pytest.param(
            [],
            "False",
            "NoUsableDevices",
            "0 of 2 rows match nodes; 0 of 0 devices are usable",
            id="empty cluster",
        ),
    ],
)
def test_ready_is_to_have_a_device_to_give(
    cluster: list[NodeFacts], status: str, reason: str, message: str
) -> None:
    found = ready(table_status(TABLE, cluster))

    assert found == Condition("Ready", status, reason, message)


def test_cards_that_are_given_out_twice_are_problems() -> None:
    part = {"deviceClassName": NVIDIA, "driver": NVIDIA}
    table = make_table(make_row("a30-24gb", perNode=2, output="ResourceClaim", claim=part))
    offers = offered([slice_facts(pool(device(), device()))])
    found = ready(table_status(table, [node("n1", "a30-24gb", 2)], offers=offers))
    assert (found.reason, found.message) == (
        "ProblemsFound",
        "1 of 1 row match nodes; 2 of 2 devices are usable; 1 row has problems: a30-24gb",
    )


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    former = [
        {"type": "Ready", "status": "True", "reason": "AllFine", "lastTransitionTime": EARLIER},
        {"type": "Accepted", "status": "False", "lastTransitionTime": EARLIER},
        {"type": "ReserveBlocked", "status": "True", "lastTransitionTime": EARLIER},
    ]
    conditions = [
        Condition("Ready", "True", "ProblemsFound", "so and so"),
        Condition("Accepted", "True", "Valid", "fine"),
        Condition("New", "False", "Because", "it is new"),
    ]

    assert merged(conditions, former, 7, NOW) == [
        {
            "type": "Ready",
            "status": "True",
            "reason": "ProblemsFound",
            "message": "so and so",
            "observedGeneration": 7,
            "lastTransitionTime": EARLIER,
        },
        {
            "type": "Accepted",
            "status": "True",
            "reason": "Valid",
            "message": "fine",
            "observedGeneration": 7,
            "lastTransitionTime": NOW,
        },
        {"type": "ReserveBlocked", "status": "True", "lastTransitionTime": EARLIER},
        {
            "type": "New",
            "status": "False",
            "reason": "Because",
            "message": "it is new",
            "observedGeneration": 7,
            "lastTransitionTime": NOW,
        },
    ]


@pytest.mark.parametrize("former", [None, "x", [], [None, {"status": "True"}]], ids=str)
def test_odd_former_conditions_are_no_trouble(former: object) -> None:
    (found,) = merged([Condition("Ready", "True", "AllFine", "m" * 5000)], former, 1, NOW)

    assert found["lastTransitionTime"] == NOW
    assert len(found["message"]) == 4096
