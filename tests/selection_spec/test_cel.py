"""The CEL of rows: whole expressions. A real control plane shows what devices they mean."""

from __future__ import annotations

import pytest

from selection_spec.cel import any_of, selectors
from selection_spec.rows import Row
from tests.builders import make_row, make_table

NVIDIA = 'device.driver == "gpu.nvidia.com"'
WHOLE = 'device.attributes["gpu.nvidia.com"].?type.orValue("gpu") in ["gpu", "amdgpu"]'
PRODUCT = 'device.attributes["gpu.nvidia.com"].?productName.orValue("")'
MEMORY = 'device.capacity["gpu.nvidia.com"].?memory.orValue(quantity("0"))'


def row(row_id: str, driver: str = "gpu.nvidia.com", **more: object) -> Row:
    claim = {"deviceClassName": driver, "driver": driver, **more}
    return make_table(make_row(row_id, output="ResourceClaim", claim=claim)).rows[0]


def own(*expressions: str) -> list[dict[str, dict[str, str]]]:
    return [{"cel": {"expression": one}} for one in expressions]


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (
            row("l4-24gb"),
            (f'{NVIDIA} && {WHOLE} && {MEMORY}.compareTo(quantity("22544Mi")) >= 0',),
        ),
        (
            row("a30-24gb", products=["NVIDIA A30", "A30", "NVIDIA A30"]),
            (f'{NVIDIA} && {WHOLE} && {PRODUCT} in ["NVIDIA A30", "A30"]',),
        ),
        (
            row("a30-24gb", products=['A "30" \\ カード']),
            (f'{NVIDIA} && {WHOLE} && {PRODUCT} in ["A \\"30\\" \\\\ カード"]',),
        ),
        (row("mig-5gb", selectors=own("a", "b")), (NVIDIA, "a", "b")),
        (
            row("a30-24gb", products=["A30"], selectors=own("a", "b")),
            (f'{NVIDIA} && {WHOLE} && {PRODUCT} in ["A30"]', "a", "b"),
        ),
        (
            row("flex170-16gb", "gpu.intel.com", products=["Flex 170"]),
            (
                (
                    'device.driver == "gpu.intel.com" && '
                    'device.attributes["gpu.intel.com"].?type.orValue("gpu") in ["gpu", "amdgpu"] '
                    '&& device.attributes["gpu.intel.com"].?model.orValue("") in ["Flex 170"]'
                ),
            ),
        ),
    ],
    ids=["memory", "products", "quotes", "own", "products-and-own", "intel"],
)
def test_the_expressions_of_a_row(made: Row, wanted: tuple[str, ...]) -> None:
    assert selectors(made) == wanted


@pytest.mark.rule("C2")
@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        (
            [row("a30-24gb", products=["A30"]), row("l4-24gb", products=["L4", "A30"])],
            f'{NVIDIA} && {WHOLE} && {PRODUCT} in ["A30", "L4"]',
        ),
        (
            [row("a100-80gb"), row("a30-24gb")],
            f'{NVIDIA} && {WHOLE} && {MEMORY}.compareTo(quantity("22544Mi")) >= 0',
        ),
        (
            [row("a100-80gb"), row("a30-24gb", products=["A30"])],
            (
                f'{NVIDIA} && {WHOLE} && ({PRODUCT} in ["A30"] || '
                f'{MEMORY}.compareTo(quantity("75149Mi")) >= 0)'
            ),
        ),
        (
            [
                row("a30-24gb", products=["A30"]),
                row("mig-5gb", selectors=own("a || b", "c // why\n", "d // why")),
                row("l4-24gb", products=["L4"], selectors=own("e")),
            ],
            (
                f'{NVIDIA} && ({WHOLE} && {PRODUCT} in ["A30"] || '
                "(a || b) && (c // why\n\n) && (d // why\n) || "
                f'({WHOLE} && {PRODUCT} in ["L4"]) && (e))'
            ),
        ),
    ],
    ids=["products", "sizes", "both", "own"],
)
def test_one_expression_for_several_rows(rows: list[Row], wanted: str) -> None:
    assert any_of(rows) == wanted
