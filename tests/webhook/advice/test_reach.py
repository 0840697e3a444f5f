"""Which bounds of gpu-any give which row: the same as asking one by one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.grammar import ANY, Spec
from selection_spec.rows import Policy
from selection_spec.table import builtin_table
from tests.builders import make_row, make_table, pfn_table
from webhook.advice.asks import answer
from webhook.advice.reach import Span, reach

ROWS = st.lists(
    st.builds(
        lambda number, size, fields: make_row(f"m{number}-{size}gb", **fields),
        number=st.integers(0, 9),
        size=st.integers(1, 12),
        fields=st.fixed_dictionaries(
            {
                "cost": st.integers(0, 2),
                "any": st.booleans(),
                "resource": st.sampled_from(["nvidia.com/gpu", "amd.com/gpu"]),
            }
        ),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda row: (row["name"], row["vram"]),
)


@pytest.mark.rule("D4", "D5", "D9")
@given(rows=ROWS, policy=st.sampled_from(Policy), bound=st.integers(1, 13))
def test_each_bound_is_answered_as_a_pod_would_be(
    rows: list[dict[str, object]], policy: Policy, bound: int
) -> None:
    table = make_table(*rows)
    spans = reach(table, policy)
    reached = {
        row_id
        for row_id, found in spans.items()
        if any(span.least <= bound <= span.most for span in found)
    }
    candidates = answer(table, Spec(ANY, bound), 1, policy).candidates
    assert reached == {row.id for row in candidates}
    if bound == 1:
        assert candidates == answer(table, Spec(ANY), 1, policy).candidates
    for found in spans.values():
        assert all(one.most + 1 < two.least for one, two in pairwise(found))


@pytest.mark.rule("D5")
def test_the_example() -> None:
    assert reach(pfn_table(), Policy.SMALLEST_FIT) == {
        "v100-16gb": (Span(1, 16),),
        "a30-24gb": (Span(17, 24),),
        "v100-32gb": (Span(25, 32),),
        "a100-80gb": (Span(33, 80),),
    }


@pytest.mark.rule("D6")
def test_rows_by_name_are_missing() -> None:
    table = builtin_table()
    assert set(reach(table, Policy.EVERY_FIT)) == {row.id for row in table.rows if row.any}
