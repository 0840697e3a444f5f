"""A few requests stand for all that can be written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.grammar import Spec
from selection_spec.rows import Policy
from selection_spec.table import Table
from tests.builders import claim_row, make_row, make_table, pfn_table
from tests.property.strategies import tables
from webhook.advice.asks import Ask, answer, asks_that_matter, specs_that_matter


@pytest.mark.rule("G2", "G3")
def test_specs_of_the_worked_candidates() -> None:
    assert list(map(str, specs_that_matter(pfn_table()))) == [
        "gpu-any",
        "gpu-any-24gb",
        "gpu-any-32gb",
        "gpu-any-80gb",
        "gpu-a100",
        "gpu-a30",
        "gpu-v100",
        "gpu-v100-32gb",
    ]


@pytest.mark.rule("D6")
def test_any_has_bounds_of_open_rows_only_and_an_alias_is_a_name() -> None:
    table = make_table(
        make_row("a-16gb", aliases=["old"]),
        make_row("b-24gb", reserved=True, aliases=["old"]),
        make_row("c-32gb", any=False),
    )
    assert list(map(str, specs_that_matter(table))) == [
        "gpu-any",
        "gpu-a",
        "gpu-b",
        "gpu-c",
        "gpu-old",
        "gpu-old-24gb",
    ]


@pytest.mark.rule("D2")
def test_counts_of_two_tables() -> None:
    old = make_table(make_row("a-16gb", perNode=4))
    new = make_table(make_row("a-16gb", perNode=8))
    assert asks_that_matter(old, new) == (
        Ask(Spec("any"), 1, 4),
        Ask(Spec("any"), 5, 8),
        Ask(Spec("a"), 1, 4),
        Ask(Spec("a"), 5, 8),
    )


@pytest.mark.rule("C6")
def test_a_claim_tells_apart_what_it_cannot_hold() -> None:
    old, new = (make_table(one("a-16gb", perNode=64)) for one in (make_row, claim_row))
    counts = [(ask.least, ask.most) for ask in asks_that_matter(old, new)]
    assert counts == [(1, 32), (33, 64)] * 2
    assert [ask.most for ask in asks_that_matter(old)] == [64, 64]


@given(
    table=tables(),
    number=st.integers(0, 99),
    bound=st.none() | st.integers(1, 90),
    count=st.integers(1, 9),
    policy=st.sampled_from(Policy),
)
def test_every_request_is_answered_as_one_that_matters(
    table: Table, number: int, bound: int | None, count: int, policy: Policy
) -> None:
    names = ["any", *sorted(table.names)]
    spec = Spec(names[number % len(names)], bound)
    found = answer(table, spec, count, policy).candidates
    asks = [
        ask
        for ask in asks_that_matter(table)
        if ask.spec.name == spec.name and ask.least <= count <= ask.most
    ]
    stands_for = {answer(table, ask.spec, ask.most, policy).candidates for ask in asks}
    assert not found or found in stands_for
