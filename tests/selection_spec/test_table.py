"""A table that has passed its laws: defaults, order, digest (design §3, D8)."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.labels import Operator, Requirement, Toleration
from selection_spec.rows import Output, Policy, PriorityRule, Row
from selection_spec.table import Table, builtin_table, load_table
from tests.builders import Json, make_row, make_table, tolerate


def _document(*rows: Json, **spec: object) -> Json:
    return {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": "test"},
        "spec": {"devices": list(rows), **spec},
    }


def _load(document: Json) -> Table:
    return load_table(json.dumps(document))


def test_defaults() -> None:
    table = _load(_document(make_row("a100-80gb")))
    assert table.domain == "preferred.jp"
    assert table.priorities == ()
    assert table.default_policy is Policy.EVERY_FIT
    assert table.prefer_cheaper
    assert not table.mixed_nodes
    assert not table.has_health
    assert table.rows == (
        Row(
            name="a100",
            vram_gb=80,
            per_node=8,
            cost=0,
            nodes=(Requirement("gpu-model", Operator.IN, ("a100-80gb",)),),
            resource="nvidia.com/gpu",
            aliases=(),
            any=True,
            reserved=False,
            os="linux",
            arch="amd64",
            tolerations=(),
            output=Output.EXTENDED_RESOURCE,
        ),
    )


def test_everything_said() -> None:
    row = make_row(
        "gh200-96gb",
        aliases=["grace"],
        perNode=1,
        cost=7,
        any=False,
        reserved=True,
        arch="arm64",
        nodes={
            "matchLabels": {"z": "1", "kubernetes.io/arch": "arm64"},
            "matchExpressions": [
                {"key": "p", "operator": "In", "values": ["b", "a", "b"]},
                {"key": "x", "operator": "Exists"},
            ],
        },
        tolerations=[tolerate("gpu", "gh200"), tolerate("any-gpu", effect=None), {"key": "k"}],
    )
    table = _load(
        _document(
            row,
            resourceDomain="example.org",
            output="ExtendedResource",
            priorities=[
                {"minValue": -5, "policy": "EveryFit"},
                {"classNames": ["a", "b"], "policy": "SmallestFit"},
            ],
            defaultPolicy="SmallestFit",
            preferCheaper=False,
            mixedNodes=True,
            health={},
        )
    )
    assert (table.name, table.domain) == ("test", "example.org")
    assert table.priorities == (
        PriorityRule(Policy.EVERY_FIT, min_value=-5),
        PriorityRule(Policy.SMALLEST_FIT, class_names=frozenset({"a", "b"})),
    )
    assert table.default_policy is Policy.SMALLEST_FIT
    assert not table.prefer_cheaper
    assert table.mixed_nodes
    assert table.has_health
    (loaded,) = table.rows
    assert (loaded.id, loaded.aliases, loaded.cost) == ("gh200-96gb", ("grace",), 7)
    assert (loaded.any, loaded.reserved, loaded.arch) == (False, True, "arm64")
    assert loaded.nodes == (
        Requirement("kubernetes.io/arch", Operator.IN, ("arm64",)),
        Requirement("p", Operator.IN, ("b", "a")),
        Requirement("x", Operator.EXISTS),
        Requirement("z", Operator.IN, ("1",)),
    )
    assert loaded.tolerations == (
        Toleration("gpu", "Equal", "gh200", "NoSchedule"),
        Toleration("any-gpu", "Exists", None, None),
        Toleration("k", "Equal", None, None),
    )


@pytest.mark.rule("D8")
def test_rows_stand_in_order_of_cost_then_memory_then_name() -> None:
    table = make_table(
        make_row("v100-32gb", cost=1),
        make_row("a30-24gb", cost=1),
        make_row("a10-24gb", cost=1),
        make_row("a100-80gb"),
        make_row("v100-16gb", cost=1),
        make_row("t4-16gb", cost=2),
    )
    assert [row.id for row in table.rows] == [
        "a100-80gb",
        "v100-16gb",
        "a10-24gb",
        "a30-24gb",
        "v100-32gb",
        "t4-16gb",
    ]


@pytest.mark.rule("G2")
def test_names_and_resources() -> None:
    table = make_table(
        make_row("v100-16gb", aliases=["volta"]),
        make_row("v100-32gb", aliases=["volta"]),
        make_row("mi300x-192gb", resource="amd.com/gpu"),
    )
    assert table.names == {"v100", "volta", "mi300x"}
    assert table.resources == {"nvidia.com/gpu", "amd.com/gpu"}
    assert [row.id for row in table.select(table.index.by_name["volta"])] == [
        "v100-16gb",
        "v100-32gb",
    ]
    assert table.select(0) == ()


def test_a_table_and_its_rows_do_not_change() -> None:
    table = make_table(make_row("a100-80gb"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.domain = "other"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.rows[0].cost = 5  # type: ignore[misc]


def test_metadata_and_status_of_a_live_object_are_read_over() -> None:
    document = _document(make_row("a100-80gb"))
    plain = _load(document)
    live = _load(
        {
            **document,
            "metadata": {"name": "test", "uid": "1", "generation": 3, "managedFields": []},
            "status": {"digest": "x", "rows": [{"id": "a100-80gb", "nodes": 5}]},
        }
    )
    assert live == plain
    unnamed = {key: value for key, value in document.items() if key != "metadata"}
    assert _load(unnamed).name == "default"


# The digest.

_ROWS = (
    make_row("v100-16gb", aliases=["volta", "old"], cost=1),
    make_row(
        "a30-24gb",
        nodes={
            "matchExpressions": [
                {"key": "a", "operator": "Exists"},
                {"key": "b", "operator": "In", "values": ["1", "2"]},
            ]
        },
        tolerations=[tolerate("gpu"), tolerate("dedicated")],
    ),
    make_row("a100-80gb", any=False),
)
_DOCUMENT = _document(*_ROWS, priorities=[{"classNames": ["a", "b"], "policy": "SmallestFit"}])


def _shuffled(draw: st.DrawFn, value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return the same mapping with its keys in another order, at every depth."""
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: _shuffled(draw, value[key]) for key in keys}
    if isinstance(value, list):
        return [_shuffled(draw, item) for item in value]
    return value


@st.composite
def _same_documents(draw: st.DrawFn) -> Json:
    """The document with everything that is a set or a mapping in another order."""
    document: Json = _shuffled(draw, _DOCUMENT)
    spec = document["spec"]
    spec["devices"] = draw(st.permutations(spec["devices"]))
    for row in spec["devices"]:
        for field, holder in (("aliases", row), ("matchExpressions", row["nodes"])):
            if field in holder:
                holder[field] = draw(st.permutations(holder[field]))
    spec["priorities"][0]["classNames"] = draw(st.permutations(["a", "b"]))
    return document


@pytest.mark.rule("D8")
@given(_same_documents(), st.booleans(), st.booleans())
def test_another_order_or_spelling_is_the_same_table(
    document: Json,
    as_yaml: bool,  # noqa: FBT001 - drawn
    defaults_written: bool,  # noqa: FBT001 - drawn
) -> None:
    if defaults_written:
        document["spec"] |= {
            "resourceDomain": "preferred.jp",
            "output": "ExtendedResource",
            "defaultPolicy": "EveryFit",
            "preferCheaper": True,
            "mixedNodes": False,
            "health": None,
        }
        document["spec"]["devices"] = [
            {"any": True, "reserved": False, "cost": 0, "os": "linux", "arch": "amd64"} | row
            for row in document["spec"]["devices"]
        ]
    text = yaml.safe_dump(document, sort_keys=False) if as_yaml else json.dumps(document)
    table, wanted = load_table(text), _load(_DOCUMENT)
    assert table.digest == wanted.digest
    assert [row.id for row in table.rows] == [row.id for row in wanted.rows]
    assert [row.nodes for row in table.rows] == [row.nodes for row in wanted.rows]


@pytest.mark.rule("D8")
@pytest.mark.parametrize(
    "change",
    [
        {"resourceDomain": "example.org"},
        {"priorities": []},
        {"priorities": [{"classNames": ["a"], "policy": "SmallestFit"}]},
        {"priorities": [{"classNames": ["a", "b"], "policy": "EveryFit"}]},
        {"defaultPolicy": "SmallestFit"},
        {"preferCheaper": False},
        {"mixedNodes": True},
        {"health": {}},
        {"devices": list(_ROWS[:2])},
        {"devices": [*_ROWS[:2], {**_ROWS[2], "perNode": 4}]},
        {"devices": [*_ROWS[:2], {**_ROWS[2], "cost": 1}]},
        {"devices": [*_ROWS[:2], {**_ROWS[2], "any": True}]},
        {"devices": [*_ROWS[:2], {**_ROWS[2], "reserved": True}]},
        {"devices": [*_ROWS[:2], {**_ROWS[2], "aliases": ["x"]}]},
        {"devices": [*_ROWS[:2], {**_ROWS[2], "resource": "amd.com/gpu"}]},
        {"devices": [*_ROWS[:2], {**_ROWS[2], "nodes": {"matchLabels": {"a": "b"}}}]},
        {"devices": [*_ROWS[:2], {**_ROWS[2], "tolerations": [tolerate("x")]}]},
    ],
    ids=str,
)
def test_every_change_is_another_table(change: Json) -> None:
    changed = {**_DOCUMENT, "spec": {**_DOCUMENT["spec"], **change}}
    assert _load(changed).digest != _load(_DOCUMENT).digest


def test_the_digest_is_16_hex_digits_and_says_nothing_of_the_name() -> None:
    table = _load(_DOCUMENT)
    renamed = _load({**_DOCUMENT, "metadata": {"name": "other"}})
    assert renamed.digest == table.digest
    assert renamed.name == "other"
    assert len(table.digest) == 16
    assert int(table.digest, 16) >= 0


def test_the_builtin_table_loads_and_is_the_same_each_time() -> None:
    assert builtin_table().digest == builtin_table().digest
    assert builtin_table().rows
