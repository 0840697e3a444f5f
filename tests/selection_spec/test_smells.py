"""What is legal in a table and probably not meant: whole texts, and no false alarms."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import hypothesis
import pytest
from hypothesis import strategies as st

from selection_spec.demand import Demand, Kind, Need
from selection_spec.errors import Level, TableError
from selection_spec.grammar import Spec
from selection_spec.resolve import resolve
from selection_spec.table import Table, smells_in, smells_of, table_of
from tests.builders import Json, expression, make_row


def document(*rows: Json, **spec: object) -> Json:
    return {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": "test"},
        "spec": {"devices": list(rows), **spec},
    }


def smells(*rows: Json, **spec: object) -> list[str]:
    return [f"{one.path}: {one.text()}" for one in smells_of(document(*rows, **spec))]


@pytest.mark.parametrize("name", ["default-table.yaml", "pfn-table.yaml"])
def test_the_shipped_tables_have_none(name: str) -> None:
    assert smells_in(files("selection_spec.data").joinpath(name).read_bytes()) == ()


def test_rows_that_differ_in_nothing_but_name() -> None:
    same = {"nodes": {"matchLabels": {"gpu": "x"}}}
    assert smells(
        make_row("v100-16gb", **same), make_row("volta-16gb", **same, aliases=["old"])
    ) == [
        (
            "spec.devices[1].name: v100-16gb and volta-16gb differ in nothing but name; "
            "make volta an alias of v100"
        )
    ]
    assert smells(make_row("v100-16gb", **same), make_row("volta-16gb", **same, perNode=4)) == []


@pytest.mark.rule("D1")
def test_mixed_nodes_without_claims() -> None:
    assert smells(make_row("a30-24gb"), mixedNodes=True) == [
        (
            "spec.mixedNodes: mixedNodes changes nothing where no row has output ResourceClaim; "
            "remove it"
        )
    ]


@pytest.mark.rule("D1")
@pytest.mark.parametrize(
    "nodes",
    [
        {"matchLabels": {"gpu": "x"}},
        {"matchExpressions": [expression("gpu", "In", "x")]},
    ],
    ids=["labels", "expression"],
)
def test_rows_that_know_their_nodes_by_the_same_labels(nodes: Json) -> None:
    rows = (
        make_row("a30-24gb", nodes={"matchLabels": {"gpu": "x"}}),
        make_row("a100-80gb", nodes=nodes),
    )
    assert smells(*rows) == [
        (
            "spec.devices[1].nodes: a100-80gb and a30-24gb know their nodes by the same labels; "
            "tell them apart"
        )
    ]
    assert smells(rows[0], {**rows[1], "arch": "arm64"}) == []


@pytest.mark.rule("G2")
@pytest.mark.parametrize(
    ("row_id", "alias"),
    [("a100-80gb", "h100"), ("a100-80gb", "a10"), ("t4-16gb", "l4"), ("rtx-3070-8gb", "gtx4070")],
)
def test_an_alias_that_has_nothing_in_common_with_its_row(row_id: str, alias: str) -> None:
    assert smells(make_row(row_id, aliases=["x", alias])) == [
        (
            f"spec.devices[0].aliases[1]: alias {alias} has no part in common with {row_id}; "
            f"remove it if gpu-{alias} should not mean that card"
        )
    ]


@pytest.mark.rule("G2")
@pytest.mark.parametrize(
    ("row_id", "alias"),
    [
        ("v100-16gb", "volta"),
        ("rtx-3070-8gb", "rtx3070"),
        ("rtx3070-8gb", "rtx-3070"),
        ("h100-94gb", "h100-nvl"),
        ("rtx-a4000-16gb", "a4000"),
        ("rtx-3070-8gb", "3070"),
    ],
)
def test_other_spellings_and_generations_are_fine(row_id: str, alias: str) -> None:
    assert smells(make_row(row_id, aliases=[alias])) == []


@pytest.mark.rule("G2")
def test_a_generation_with_a_digit_stands_for_several_cards() -> None:
    rows = make_row("mi300x-192gb", aliases=["cdna3"]), make_row("mi308x-192gb", aliases=["cdna3"])
    assert smells(*rows) == []


@pytest.mark.rule("N6")
def test_a_smaller_card_that_costs_more_than_a_larger_one_of_its_name() -> None:
    rows = make_row("v100-32gb", cost=1), make_row("v100-16gb", cost=2)
    assert smells(*rows) == [
        (
            "spec.devices[1].cost: v100-16gb costs more than v100-32gb; "
            "Pods that may use both will prefer the larger"
        )
    ]
    assert smells(*rows, preferCheaper=False) == []
    assert smells(make_row("v100-32gb", cost=1), make_row("a30-24gb", cost=2)) == []


AMD = {"resource": "amd.com/gpu"}
CLAIM = {"output": "ResourceClaim", "claim": {"deviceClassName": "g.x", "driver": "g.x"}}
TOGETHER = "rows moved together do not have this"


@pytest.mark.rule("D9")
def test_specs_whose_rows_have_several_resources() -> None:
    rows = (
        make_row("a100-80gb", cost=1, aliases=["big"]),
        make_row("mi300x-192gb", **AMD, cost=2, aliases=["big"]),
        make_row("mi210-64gb", **AMD, cost=2),
    )
    assert smells(*rows) == [
        (
            "spec.devices[1].aliases[0]: gpu-big up to 80gb gives nvidia.com/gpu only, not "
            "mi300x-192gb (amd.com/gpu); gpu-mi300x gives it"
        ),
        (
            "spec.devices[2].any: gpu-any up to 80gb gives nvidia.com/gpu only, not mi210-64gb and "
            "1 more (amd.com/gpu); gpu-mi210 gives it"
        ),
    ]
    apart = (rows[0], {**rows[1], "aliases": [], "any": False}, {**rows[2], "reserved": True})
    assert smells(*apart) == []


V100, A30, A100 = (
    *(make_row("v100-32gb", cost=1), make_row("a30-24gb", cost=2)),
    make_row("a100-80gb", cost=3),
)


@pytest.mark.rule("D9")
@pytest.mark.parametrize(
    ("rows", "spec", "wanted"),
    [
        pytest.param(
            [V100, A30, {**A100, **CLAIM}],
            {},
            (
                "spec.devices[2].any: gpu-any up to 32gb gives nvidia.com/gpu only, not a100-80gb "
                f"(ResourceClaim); {TOGETHER}"
            ),
            id="the largest is moved",
        ),
        pytest.param(
            [V100, {**A30, **CLAIM}, A100],
            {},
            (
                "spec.devices[1].any: gpu-any gives nvidia.com/gpu only, never a30-24gb "
                "(ResourceClaim); set any: false there"
            ),
            id="one is moved that a larger one is cheaper than",
        ),
        pytest.param(
            [V100, {**A30, **CLAIM}, A100],
            {"priorities": [{"minValue": 1, "policy": "SmallestFit"}]},
            "",
            id="the same, but high priority gets it",
        ),
        pytest.param(
            [{**V100, **CLAIM}, A30, A100],
            {},
            (
                "spec.devices[1].any: gpu-any up to 32gb gives ResourceClaim only, not a30-24gb "
                f"and 1 more (nvidia.com/gpu); {TOGETHER}"
            ),
            id="the cheapest is moved",
        ),
        pytest.param(
            [A30, {**A30, **AMD, "name": "mi", "cost": 3}, A100],
            {"defaultPolicy": "SmallestFit"},
            (
                "spec.devices[1].any: gpu-any gives nvidia.com/gpu only, never mi-24gb "
                "(amd.com/gpu); set any: false there"
            ),
            id="two of one size",
        ),
        pytest.param(
            [A30, {**A100, **AMD, "name": "mi"}],
            {"defaultPolicy": "SmallestFit"},
            "",
            id="another size is no matter of D9",
        ),
        pytest.param(
            [
                {**A30, "cost": 9, "any": False},
                {**A100, **AMD, "name": "a30", "any": False},
            ],
            {},
            (
                "spec.devices[0].name: gpu-a30 gives amd.com/gpu only, never a30-24gb "
                "(nvidia.com/gpu); use another name there"
            ),
            id="a name of two makers",
        ),
        pytest.param(
            [{**A30, "any": False}, {**A100, **AMD, "name": "a30", "any": False}],
            {},
            (
                "spec.devices[1].name: gpu-a30 up to 24gb gives nvidia.com/gpu only, not a30-80gb "
                "(amd.com/gpu); give them one resource"
            ),
            id="a name whose largest is another maker's",
        ),
    ],
)
def test_which_specs_do_not_give_which_rows(
    rows: list[Json], spec: dict[str, object], wanted: str
) -> None:
    found = [text for text in smells(*rows, **spec) if " gives " in text]
    assert found == ([wanted] if wanted else [])


SIZES = (16, 24, 40, 80)
POOLS: dict[str, Json] = {"nvidia.com/gpu": {}, "amd.com/gpu": AMD, "ResourceClaim": CLAIM}


@st.composite
def documents(draw: st.DrawFn) -> Json:
    """Tables of rows that are all called ``any``, of several sizes, costs and pools."""
    rows = [
        make_row(f"card{number}x-{draw(st.sampled_from(SIZES))}gb", cost=draw(st.integers(0, 3)))
        | POOLS[draw(st.sampled_from([*POOLS]))]
        for number in range(draw(st.integers(1, 5)))
    ]
    rules = draw(st.sampled_from([[], [{"minValue": 1, "policy": "SmallestFit"}]]))
    default = draw(st.sampled_from(["EveryFit", "SmallestFit"]))
    return document(*rows, priorities=rules, defaultPolicy=default)


def given_by(table: Table, least: int) -> set[str]:
    """The rows that Pods get by gpu-any with so much memory, by any policy of the table."""
    demand = Demand((Need("main", Kind.MAIN, "spec.containers[0]", Spec("any", least), 1),))
    policies = {table.default_policy, *(rule.policy for rule in table.priorities)}
    found = (resolve(table, demand, policy) for policy in policies)
    return {row.id for one in found for row in one.candidates}


SAID = re.compile(r"gpu-any(?:-(\d+)gb)?(?: up to (\d+)gb)? gives .* (not|never) (card\dx)-(\d+)gb")


@pytest.mark.rule("D9")
@hypothesis.given(documents())
def test_what_is_said_of_specs_is_so(raw: Json) -> None:
    """Advice that is followed leaves no spec without a row."""
    table = table_of(raw)
    for one in (one for one in smells_of(raw) if one.path.endswith(".any")):
        said = SAID.match(one.message)
        assert said, one.message
        row, size = f"{said[4]}-{said[5]}gb", int(said[5])
        least, most = int(said[1] or 1), int(said[2] or said[1] or max(SIZES))
        for asked in {1, *SIZES}:
            if least <= asked <= (size if said[3] == "never" else min(most, size)):
                assert row not in given_by(table, asked)
        if one.hint == "set any: false there":
            for each in raw["spec"]["devices"]:
                each["any"] = f"{each['name']}-{each['vram']}" != row
            rest = table_of(raw)
            largest = max(each.vram_gb for each in table.rows)
            assert given_by(rest, largest)


@pytest.mark.rule("D3")
def test_priority_rules_that_are_never_reached() -> None:
    assert smells(
        make_row("a100-80gb"),
        priorities=[
            {"classNames": ["high"], "policy": "SmallestFit"},
            {"minValue": 0, "policy": "EveryFit"},
            {"minValue": 1000, "policy": "SmallestFit"},
            {"classNames": ["low", "high"], "policy": "EveryFit"},
            {"minValue": -5, "policy": "EveryFit"},
        ],
    ) == [
        (
            "spec.priorities[2].minValue: minValue 1000 is never reached, minValue 0 comes first; "
            "put the higher one first"
        ),
        (
            "spec.priorities[3].classNames[1]: class name high is never reached here, it stands "
            "before; remove one of them"
        ),
    ]


def test_in_a_text_each_has_its_place_and_is_a_warning() -> None:
    text = json.dumps(document(make_row("a100-80gb", aliases=["h100"])), indent=1)
    (found,) = smells_in(text)
    assert (found.line, found.column) == (20, 6)
    assert found.level is Level.WARNING
    assert found.rule == "G2"


def test_a_table_with_errors_is_not_judged_further() -> None:
    with pytest.raises(TableError):
        smells_of(document(make_row("a100-80gb", aliases=["h100", "any"])))


def test_each_fits_a_warning_of_the_api_server() -> None:
    """With names of usual length; a longer one is cut, its path is told elsewhere."""
    rows = [
        make_row("rtx-pro-6000-96gb", cost=3, nodes={"matchLabels": {"gpu": "x"}}),
        make_row("rtx-pro-6000-24gb", cost=4, nodes={"matchLabels": {"gpu": "x"}}),
        make_row("rtx-pro-5000-24gb", cost=5, aliases=["rtx6001"], resource="amd.com/gpu"),
        make_row("rtx-pro-5001-24gb", cost=4, nodes={"matchLabels": {"gpu": "x"}}),
    ]
    found = smells(*rows)
    assert len(found) == 5
    assert [text for text in found if len(text.partition(": ")[2]) > 120] == []
