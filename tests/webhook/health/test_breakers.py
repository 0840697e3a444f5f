"""How many storms there are, of rows that share nodes and of rows that are gone (H5)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.builders import GPU
from tests.webhook.health.worlds import (
    DRA_ROW,
    NOW,
    OTHER_ROW,
    POLICY,
    ROW,
    condition,
    node,
    table,
)
from webhook.health.breaker import Breakers, breakers_of
from webhook.health.decisions import HeldBack
from webhook.health.gather import Homes
from webhook.health.ledger import ASKED, Ledger
from webhook.health.moment import Moment
from webhook.health.observed import Observed
from webhook.health.records import State
from webhook.health.step import Step, step
from webhook.inventory.facts import node_facts
from webhook.inventory.matching import Matcher

SICK = condition("GPUIsLost")


def of_rows(rows: Mapping[str, tuple[str, ...]], *sick: str) -> Step:
    """One step on nodes of these rows, some of them sick."""
    raw = [node(name, *([SICK] if name in sick else [])) for name in rows]
    nodes = {one.name: one for one in map(node_facts, raw)}
    observed = Observed(nodes=nodes, rows=rows, resources=frozenset({GPU}))
    return step(Moment(observed, POLICY, NOW), State())


@pytest.mark.rule("H5")
def test_one_storm_on_nodes_of_two_rows_stops_these_and_nothing_else() -> None:
    both = {f"n{number}": ("a100", "a100-mig") for number in range(4)}
    others = {f"y{number}": ("other",) for number in range(9)}
    taken = of_rows({**both, "x": ("other",), **others}, *both, "x")
    assert set(taken.breakers.rows) == {"a100", "a100-mig"}
    assert not taken.breakers.stops_all
    held_back = {one.case.subject.node: one.held_back for one in taken.decisions}
    assert held_back == {**dict.fromkeys(both, HeldBack.BREAKER), "x": HeldBack.NOTHING}


@pytest.mark.rule("H5")
def test_two_storms_on_rows_of_their_own_stop_everything() -> None:
    first = {f"n{number}": ("a100", "a100-mig") for number in range(4)}
    second = {f"y{number}": ("other",) for number in range(4)}
    taken = of_rows({**first, **second, "x": ("third",)}, *first, *second, "x")
    assert taken.breakers.stops_all
    assert {one.held_back for one in taken.decisions} == {HeldBack.BREAKER}


@pytest.mark.rule("H5")
@pytest.mark.parametrize(
    ("rows", "stops_all"),
    [
        ([], True),
        ([("a",), ("b",)], True),
        ([("a", "b")], False),
        ([("a", "c"), ("b", "c")], True),
        ([("a",), ("b",), ("a", "b", "c")], False),
    ],
    ids=str,
)
def test_only_rows_that_are_stopped_and_have_nodes_in_common_are_one(
    rows: list[tuple[str, ...]], *, stops_all: bool
) -> None:
    observed = Observed(rows={f"n{number}": one for number, one in enumerate(rows)})
    found = breakers_of(Ledger(breakers={"a": NOW, "b": NOW}), observed)
    assert found.stops_all is stops_all


@pytest.mark.rule("H5")
def test_a_chain_of_rows_that_share_nodes_is_one_storm() -> None:
    observed = Observed(rows={"n1": ("a", "b"), "n2": ("c", "d"), "n3": ("b", "c")})
    stopped = dict.fromkeys("abcd", NOW)
    assert not breakers_of(Ledger(breakers=stopped), observed).stops_all
    assert breakers_of(Ledger(breakers={**stopped, "e": NOW}), observed).stops_all
    assert Breakers(stopped).stops_all


@pytest.mark.rule("H5")
def test_rows_that_the_table_no_longer_has_are_forgotten() -> None:
    homes = Homes(table(), Matcher(table()))
    kept = Ledger(breakers={ROW: 1.0}, resumed={DRA_ROW: ASKED, OTHER_ROW: 2.0})
    assert homes.ledger(kept) is kept
    more = Ledger(breakers={**kept.breakers, "old": 3.0}, resumed={**kept.resumed, "older": 4.0})
    assert homes.ledger(more) == kept
