"""Rows are found again in what was written for them (R2)."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from selection_spec.index import select
from selection_spec.recognition import Recognition
from selection_spec.rows import Claim, Output, Row
from selection_spec.sub_requests import sub_requests

_CLAIMS = {
    "one product": Claim("gpu", "gpu.x", ("A",)),
    "two products": Claim("gpu", "gpu.x", ("B", 'C "x" \\ ]')),
    "memory": Claim("gpu", "gpu.x"),
    "own": Claim("gpu", "gpu.x", (), ("1 == 1", "true || false")),
    "own and products": Claim("gpu", "gpu.x", ("D",), ("2 == 2",)),
    "intel": Claim("gpu", "gpu.intel.com", ("E",)),
    "another class": Claim("other", "gpu.x", ("F",)),
}


def _row(name: str, vram: int = 16) -> Row:
    return Row(
        name=name,
        vram_gb=vram,
        per_node=8,
        cost=0,
        nodes=(),
        output=Output.RESOURCE_CLAIM,
        claim=_CLAIMS[name],
    )


_ROWS = [_row(name) for name in _CLAIMS]


_KNOWN = Recognition(_ROWS)


def _found(rows: list[Row]) -> set[str]:
    known = 0
    for one in sub_requests(rows):
        known |= _KNOWN.rows(one.device_class, one.selectors)
    return {row.name for row in select(_ROWS, known)}


@pytest.mark.rule("R2")
@pytest.mark.parametrize("row", _ROWS, ids=_CLAIMS)
def test_a_row_by_itself(row: Row) -> None:
    assert _found([row]) == {row.name}


@pytest.mark.rule("R2", "C2")
@pytest.mark.parametrize("size", range(2, len(_ROWS)))
def test_rows_that_were_made_one(size: int) -> None:
    for some in combinations(_ROWS, size):
        # Twice as many as eight, so that those of one class and driver are merged.
        assert _found([*some, *some, *some, *some, *some]) == {row.name for row in some}


@pytest.mark.rule("R2", "G3")
def test_memory_takes_in_whatever_is_larger() -> None:
    sizes = [_row("memory", 16), _row("memory", 24), _row("memory", 40)]
    known = Recognition(sizes)
    (asked,) = sub_requests([_row("memory", 24)])
    (merged,) = sub_requests([_row("memory", 24)] * 9)

    assert known.rows("gpu", asked.selectors) == known.rows("gpu", merged.selectors) == 0b110


@pytest.mark.rule("R2")
def test_a_row_that_has_gained_a_product_is_found_by_the_old_one() -> None:
    (asked,) = sub_requests([_row("one product")])
    now = replace(_row("one product"), claim=Claim("gpu", "gpu.x", ("new", "A")))

    assert Recognition([now]).rows("gpu", asked.selectors) == 1


@pytest.mark.rule("R2")
@pytest.mark.parametrize(
    "texts", [[], ["true"], ["true", "false"], ['device.driver == "gpu.x" && true']]
)
def test_what_somebody_else_wrote_is_no_rows(texts: list[str]) -> None:
    assert _KNOWN.rows("gpu", texts) == 0
    assert Recognition([Row("a", 16, 8, 0, ())]).rows("gpu", texts) == 0
