"""Sets of rows as integers, against a naive reading of the same rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.index import RowIndex, first, members, select
from selection_spec.labels import (
    ARCH_LABEL,
    ON_EVERY_NODE,
    OS_LABEL,
    PLATFORM_LABELS,
    Operator,
    Requirement,
)
from selection_spec.rows import Row

_KEYS = ("gpu-model", "pool", "topology.kubernetes.io/zone")
_VALUES = ("a", "b", "c")
# A value that nobody names, and no label at all.
_ANY_VALUE: tuple[str | None, ...] = (*_VALUES, "other")
_UNIVERSE: tuple[str | None, ...] = (*_ANY_VALUE, None)


def _row(*nodes: Requirement, name: str = "a100", **fields: object) -> Row:
    values: dict[str, object] = {
        "name": name,
        "vram_gb": 80,
        "per_node": 8,
        "cost": 0,
        "nodes": nodes,
        "resource": "nvidia.com/gpu",
    }
    return Row(**(values | fields))  # type: ignore[arg-type]


def _numbers(rows: Sequence[Row], holds: Callable[[Row], bool]) -> set[int]:
    return {number for number, row in enumerate(rows) if holds(row)}


def _admits(requirement: Requirement, value: str | None) -> bool:
    """Tell what Kubernetes says of a node with this label value; Gt and Lt are left open."""
    match requirement.operator:
        case Operator.IN:
            return value in requirement.values
        case Operator.NOT_IN:
            return value not in requirement.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case _:
            return True


def _possible(row: Row, key: str) -> list[str | None]:
    """Return the values that the label may have on a row's nodes."""
    said = next((one for one in row.nodes if one.key == key), None)
    if said is None:
        return list(_ANY_VALUE) if key in ON_EVERY_NODE else [None]
    if said.operator in (Operator.GT, Operator.LT):
        return list(_ANY_VALUE)
    return [value for value in _UNIVERSE if _admits(said, value)]


def _naively_admitted(rows: Sequence[Row], term: Sequence[Requirement]) -> set[int]:
    used = {one.key for row in rows for one in row.nodes}
    keys = {one.key for one in term if one.key in used}
    return _numbers(
        rows,
        lambda row: all(
            any(
                all(_admits(one, value) for one in term if one.key == key)
                for value in _possible(row, key)
            )
            for key in keys
        ),
    )


def _requirements(operators: Sequence[Operator]) -> st.SearchStrategy[Requirement]:
    def of(key: str, operator: Operator, values: list[str]) -> Requirement:
        listed = operator in (Operator.IN, Operator.NOT_IN)
        return Requirement(key, operator, tuple(values) if listed else ())

    values = st.lists(st.sampled_from(_VALUES), min_size=1, max_size=3, unique=True)
    return st.builds(of, st.sampled_from(_KEYS), st.sampled_from(operators), values)


# Of one label a row says one thing.
_nodes = st.lists(_requirements(list(Operator)), max_size=3, unique_by=lambda one: one.key).map(
    tuple
)
_rows = st.lists(st.builds(lambda nodes: _row(*nodes), _nodes), min_size=1, max_size=6)
_terms = st.lists(_requirements(list(Operator)), max_size=4)


@pytest.mark.rule("N4")
@given(_rows, _terms)
def test_admits_the_rows_whose_nodes_may_match(rows: list[Row], term: list[Requirement]) -> None:
    admitted = RowIndex(rows).admitted_by([term])
    assert set(members(admitted)) == _naively_admitted(rows, term)


@pytest.mark.rule("N4")
@given(_rows, st.lists(_terms, max_size=3))
def test_terms_are_alternatives(rows: list[Row], terms: list[list[Requirement]]) -> None:
    index = RowIndex(rows)
    each = [set(members(index.admitted_by([term]))) for term in terms]
    assert set(members(index.admitted_by(terms))) == set().union(*each)


def _in(key: str, *values: str) -> Requirement:
    return Requirement(key, Operator.IN, values)


@pytest.mark.rule("N4")
@pytest.mark.parametrize(
    ("term", "admitted"),
    [
        ([], [0, 1, 2, 3]),
        ([_in("gpu-model", "a100")], [0]),
        ([_in("gpu-model", "a100", "a30")], [0, 1]),
        ([Requirement("gpu-model", Operator.NOT_IN, ("a30",))], [0, 1, 2, 3]),
        ([Requirement("gpu-model", Operator.NOT_IN, ("a30", "a30x"))], [0, 2, 3]),
        ([Requirement("gpu-model", Operator.EXISTS)], [0, 1]),
        ([Requirement("gpu-model", Operator.DOES_NOT_EXIST)], [2, 3]),
        ([_in("pool", "x"), _in("gpu-model", "a100")], []),
        # What contradicts itself admits nothing.
        ([_in("gpu-model", "a100"), Requirement("gpu-model", Operator.DOES_NOT_EXIST)], []),
        ([_in("gpu-model", "a100"), _in("gpu-model", "a30")], []),
        ([_in("gpu-model", "a100"), Requirement("gpu-model", Operator.NOT_IN, ("a100",))], []),
        ([Requirement("pool", Operator.GT, ("5",))], [0, 1, 2, 3]),
        # Rows that do not say where they are may be anywhere.
        ([_in("topology.kubernetes.io/zone", "z1")], [0, 1, 2, 3]),
        ([_in("topology.kubernetes.io/zone", "z2")], [0, 1, 2]),
        ([Requirement("topology.kubernetes.io/zone", Operator.DOES_NOT_EXIST)], []),
        # No row says a word about these; os and arch are D10's.
        ([_in("disk", "ssd")], [0, 1, 2, 3]),
        ([_in(ARCH_LABEL, "arm64"), _in(OS_LABEL, "windows")], [0, 1, 2, 3]),
    ],
)
def test_what_a_pod_says_narrows(term: list[Requirement], admitted: list[int]) -> None:
    index = RowIndex(
        [
            _row(_in("gpu-model", "a100")),
            _row(_in("gpu-model", "a30", "a30x")),
            _row(_in("pool", "x"), _in(ARCH_LABEL, "amd64")),
            _row(_in("topology.kubernetes.io/zone", "z1")),
        ]
    )
    assert members(index.admitted_by([term])) == admitted
    assert index.label_keys == {"gpu-model", "pool", "topology.kubernetes.io/zone"}
    assert index.telling_keys == index.label_keys | PLATFORM_LABELS


@pytest.mark.rule("N4")
@pytest.mark.parametrize(
    ("requirement", "admitted"),
    [
        (_in("pool", "x"), [0, 2]),
        (_in("pool", "y"), [1, 2]),
        (_in("pool", "x", "y"), [0, 1, 2]),
        (_in("pool", "z"), [1, 2]),
        (Requirement("pool", Operator.NOT_IN, ("x",)), [0, 1, 2]),
        (Requirement("pool", Operator.EXISTS), [0, 1, 2]),
        (Requirement("pool", Operator.DOES_NOT_EXIST), [0, 1]),
    ],
)
def test_rows_that_exclude_values(requirement: Requirement, admitted: list[int]) -> None:
    """A label that is not there is none of the values that a row excludes."""
    index = RowIndex(
        [
            _row(Requirement("pool", Operator.NOT_IN, ("y", "z"))),
            _row(Requirement("pool", Operator.NOT_IN, ("x",))),
            _row(Requirement("pool", Operator.EXISTS)),
        ]
    )
    assert members(index.admitted_by([[requirement]])) == admitted


@pytest.mark.rule("D10")
@pytest.mark.parametrize(
    ("terms", "admitted"),
    [
        ([[]], [0, 1, 2]),
        ([[_in(ARCH_LABEL, "amd64")]], [0, 1]),
        ([[_in(ARCH_LABEL, "arm64", "s390x")]], [2]),
        ([[Requirement(ARCH_LABEL, Operator.NOT_IN, ("arm64",))]], [0, 1]),
        ([[Requirement(ARCH_LABEL, Operator.EXISTS)]], [0, 1, 2]),
        ([[Requirement(ARCH_LABEL, Operator.DOES_NOT_EXIST)]], []),
        ([[_in(OS_LABEL, "windows")]], [1]),
        ([[_in(ARCH_LABEL, "arm64")], [_in(OS_LABEL, "windows")]], [1, 2]),
        # One and the same term has to admit labels and platform.
        ([[_in("gpu-model", "a"), _in(ARCH_LABEL, "arm64")], [_in("gpu-model", "b")]], [1]),
        ([], []),
    ],
)
def test_platforms(terms: list[list[Requirement]], admitted: list[int]) -> None:
    index = RowIndex(
        [
            _row(_in("gpu-model", "a")),
            _row(_in("gpu-model", "b"), os="windows"),
            _row(_in("gpu-model", "c"), _in(ARCH_LABEL, "arm64"), arch="arm64"),
        ]
    )
    assert members(index.on_platform_of(terms)) == admitted


_priced_rows = st.lists(
    st.builds(
        lambda **fields: _row(_in("gpu-model", "a"), **fields),
        name=st.sampled_from(["a100", "a30", "v100"]),
        aliases=st.sampled_from([(), ("old",), ("old", "big")]),
        vram_gb=st.sampled_from([16, 24, 80]),
        per_node=st.integers(1, 8),
        cost=st.integers(0, 3),
        any=st.booleans(),
        reserved=st.booleans(),
        os=st.sampled_from(["linux", "windows"]),
        resource=st.sampled_from(["nvidia.com/gpu", "amd.com/gpu"]),
    ),
    min_size=1,
    max_size=12,
)


@given(_priced_rows, st.integers(0, 100))
def test_every_question_is_answered_as_by_asking_each_row(rows: list[Row], least: int) -> None:
    index = RowIndex(rows)

    def assert_same(found: int, holds: Callable[[Row], bool]) -> None:
        assert set(members(found)) == _numbers(rows, holds)

    assert_same(index.all, lambda _: True)
    assert_same(index.open_to_any, lambda row: row.any and not row.reserved)
    assert_same(index.vram(least), lambda row: row.vram_gb >= least)
    assert_same(index.per_node(least), lambda row: row.per_node >= least)
    for place, step in enumerate(index.vram.steps):
        assert_same(index.vram.exactly[place], lambda row, step=step: row.vram_gb == step)  # type: ignore[misc]
    for name in ("a100", "a30", "v100", "old", "big", "a10"):
        found = index.by_name.get(name, 0)
        assert_same(found, lambda row, name=name: name in (row.name, *row.aliases))  # type: ignore[misc]
    for os in ("linux", "windows"):
        assert_same(index.by_os.get(os, 0), lambda row, os=os: row.os == os)  # type: ignore[misc]
    for resource in ("nvidia.com/gpu", "amd.com/gpu"):
        found = index.by_pool.get(resource, 0)
        assert_same(found, lambda row, resource=resource: row.resource == resource)  # type: ignore[misc]


@given(st.sets(st.integers(0, 300)))
def test_sets_and_numbers_are_the_same(numbers: set[int]) -> None:
    rows = sum(1 << number for number in numbers)
    assert members(rows) == sorted(numbers)
    assert select(range(301), rows) == sorted(numbers)
    if numbers:
        assert first(rows) == min(numbers)
