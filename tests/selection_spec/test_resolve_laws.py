"""The laws of resolution on generated tables and demands; the same rules read row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.availability import Availability, RowStatus
from selection_spec.demand import Demand, Kind, Need, Term, claim_owners, peak
from selection_spec.denial import problems, warnings
from selection_spec.explain import explain, explain_container
from selection_spec.grammar import Spec
from selection_spec.labels import ARCH_LABEL, OS_LABEL, Operator, Requirement
from selection_spec.resolution import Resolution
from selection_spec.resolve import NOTHING_KNOWN, cure, resolve
from selection_spec.rows import Claim, Output, Policy, Row
from selection_spec.table import Table

EVERY, SMALLEST = Policy.EVERY_FIT, Policy.SMALLEST_FIT
_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu")
_NAMES = ("a10", "a100", "b", "v100")
_ALIASES = ("old", "new")
_MODEL = "gpu-model"


@st.composite
def rows(draw: st.DrawFn) -> Row:
    name = draw(st.sampled_from(_NAMES))
    vram = draw(st.sampled_from([16, 24, 40, 80]))
    return Row(
        name=name,
        vram_gb=vram,
        per_node=draw(st.integers(1, 8)),
        cost=draw(st.integers(0, 3)),
        nodes=(Requirement(_MODEL, Operator.IN, (f"{name}-{vram}",)),),
        resource=draw(st.sampled_from(_RESOURCES)),
        aliases=draw(st.sampled_from([(), _ALIASES[:1], _ALIASES])),
        any=draw(st.sampled_from([True, True, False])),
        reserved=draw(st.sampled_from([False, False, True])),
        os=draw(st.sampled_from(["linux", "linux", "windows"])),
        arch=draw(st.sampled_from(["amd64", "amd64", "arm64"])),
        output=draw(st.sampled_from([Output.EXTENDED_RESOURCE, Output.RESOURCE_CLAIM])),
        claim=draw(st.sampled_from([Claim("x", "x"), Claim("y", "y", ("p",))])),
    )


tables = st.lists(rows(), min_size=1, max_size=8, unique_by=lambda row: row.id).map(
    lambda found: Table(
        name="generated",
        domain="preferred.jp",
        rows=tuple(sorted(found, key=lambda row: row.order)),
        digest="0" * 16,
    )
)

_models = st.lists(
    st.sampled_from([f"{name}-{vram}" for name in _NAMES for vram in (16, 24, 40, 80)]),
    min_size=1,
    max_size=12,
    unique=True,
).map(tuple)
_listed = st.sampled_from([Operator.IN, Operator.NOT_IN])
requirements = (
    st.builds(Requirement, st.just(_MODEL), _listed, _models)
    | st.builds(Requirement, st.just(_MODEL), st.just(Operator.EXISTS))
    | st.builds(
        Requirement, st.just(ARCH_LABEL), _listed, st.sampled_from([("amd64",), ("arm64",)])
    )
    | st.builds(Requirement, st.just(OS_LABEL), st.just(Operator.IN), st.just(("linux",)))
)
terms = st.just(((),)) | st.lists(st.lists(requirements, max_size=2).map(tuple), max_size=3).map(
    tuple
)
specs = st.builds(
    Spec, st.sampled_from(["any", "any", *_NAMES, *_ALIASES]), st.none() | st.integers(1, 90)
)


@st.composite
def needs(draw: st.DrawFn, kinds: tuple[Kind, ...], *, with_spec: bool) -> Need:
    spec = draw(specs) if with_spec else None
    raw = () if with_spec else ((draw(st.sampled_from(_RESOURCES)), draw(st.integers(1, 4))),)
    return Need(
        name="c",
        kind=draw(st.sampled_from(kinds)),
        path="spec.containers[0]",
        spec=spec,
        count=draw(st.integers(1, 9)) if with_spec else 0,
        raw=raw,
    )


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    """A demand of one to four containers, at least one of them with a spec."""
    inits = draw(st.lists(needs((Kind.INIT, Kind.SIDECAR), with_spec=True), max_size=1))
    raws = draw(st.lists(needs((Kind.MAIN,), with_spec=False), max_size=1))
    mains = draw(st.lists(needs((Kind.MAIN,), with_spec=True), min_size=1, max_size=2))
    os = draw(st.sampled_from(["linux", "linux", "linux", "windows"]))
    shares = draw(st.sampled_from([True, False]))
    if shares:  # one that may use the claim of a main container
        inits = [replace(one, spec=mains[0].spec, count=mains[0].count) for one in inits]
    named = (replace(one, name=f"c{n}") for n, one in enumerate((*inits, *raws, *mains)))
    return Demand(tuple(named), draw(terms), os)


policies = st.sampled_from(list(Policy))


def _claims(demand: Demand) -> dict[str, str]:
    """Whose claim each container uses (C1).

    An init container that comes to share a claim takes less, so that the laws of raising hold where
    the claims stay the same ones.
    """
    return {name: owner.name for name, owner in claim_owners(demand.needs).items()}


def fitting(table: Table, demand: Demand, policy: Policy) -> set[str]:
    """Return the rows that a policy leaves, before D9."""
    resolution = resolve(table, demand, policy)
    if resolution.failed:
        return set()
    step = next(step for step in resolution.steps if step.rule in ("D4", "D5"))
    return {row.id for row in table.select(step.after)}


def _changed(demand: Demand, change: Callable[[Need], Need]) -> Demand:
    """Change the last container, which always has a spec."""
    return replace(demand, needs=(*demand.needs[:-1], change(demand.needs[-1])))


def _with_spec(need: Need, **fields: object) -> Need:
    assert need.spec is not None
    return replace(need, spec=replace(need.spec, **fields))  # type: ignore[arg-type]


@pytest.mark.rule("D8")
@given(tables, demands(), st.integers(1, 90))
def test_raising_the_minimum_never_adds_rows(table: Table, demand: Demand, more: int) -> None:
    raised = _changed(
        demand,
        lambda need: _with_spec(need, min_gb=((need.spec and need.spec.min_gb) or 0) + more),
    )
    if _claims(raised) == _claims(demand):
        assert fitting(table, raised, EVERY) <= fitting(table, demand, EVERY)


@pytest.mark.rule("D8")
@given(tables, demands(), st.integers(1, 8))
def test_raising_the_count_never_adds_rows(table: Table, demand: Demand, more: int) -> None:
    raised = _changed(demand, lambda need: replace(need, count=need.count + more))
    if _claims(raised) == _claims(demand):
        assert fitting(table, raised, EVERY) <= fitting(table, demand, EVERY)


@pytest.mark.rule("D8", "D6")
@given(tables, demands(), st.sampled_from((*_NAMES, *_ALIASES)))
def test_naming_a_device_adds_only_rows_that_d6_had_withheld(
    table: Table, demand: Demand, name: str
) -> None:
    unnamed = _changed(demand, lambda need: _with_spec(need, name="any"))
    named = _changed(demand, lambda need: _with_spec(need, name=name))
    if _claims(named) != _claims(unnamed):
        return
    added = fitting(table, named, EVERY) - fitting(table, unnamed, EVERY)
    withheld = {row.id for row in table.rows if row.reserved or not row.any}
    assert added <= withheld


@pytest.mark.rule("D8")
@given(tables, demands())
def test_smallest_fit_is_within_every_fit_and_no_emptier(table: Table, demand: Demand) -> None:
    every, smallest = fitting(table, demand, EVERY), fitting(table, demand, SMALLEST)
    assert smallest <= every
    assert bool(smallest) == bool(every)
    assert len({row.vram_gb for row in table.rows if row.id in smallest}) <= 1


@pytest.mark.rule("D8")
@given(tables, demands(), st.integers(0, 40), st.integers(0, 4))
def test_the_smallest_tier_never_falls(
    table: Table, demand: Demand, memory: int, count: int
) -> None:
    raised = _changed(
        demand,
        lambda need: _with_spec(
            replace(need, count=need.count + count),
            min_gb=((need.spec and need.spec.min_gb) or 0) + memory or None,
        ),
    )
    before, after = (
        [row.vram_gb for row in table.rows if row.id in fitting(table, one, SMALLEST)]
        for one in (demand, raised)
    )
    if after and _claims(raised) == _claims(demand):
        assert before
        assert min(after) >= max(before)


@pytest.mark.rule("D8", "D2", "G2", "G3")
@given(tables, demands(), policies)
def test_no_row_is_smaller_than_asked(table: Table, demand: Demand, policy: Policy) -> None:
    resolution = resolve(table, demand, policy)
    assert bool(resolution.candidates) != bool(resolution.failed)
    for row in resolution.candidates:
        assert row.per_node >= _need(row, demand)
        for need in demand.specs:
            assert need.spec is not None
            assert row.vram_gb >= (need.spec.min_gb or 0)
            assert need.spec.is_any or need.spec.name in (row.name, *row.aliases)


@pytest.mark.rule("D8", "D9")
@given(tables, demands(), policies)
def test_candidates_stand_in_order_and_share_an_output(
    table: Table, demand: Demand, policy: Policy
) -> None:
    resolution = resolve(table, demand, policy)
    found = list(resolution.candidates)
    assert found == sorted(found, key=lambda row: row.order)
    assert len({_pool(row) for row in found}) <= 1
    assert resolve(table, demand, policy) == resolution


# The same rules once more, row by row and without sets of bits.


def _admits(requirement: Requirement, value: str | None) -> bool:
    match requirement.operator:
        case Operator.IN:
            return value in requirement.values
        case Operator.NOT_IN:
            return value not in requirement.values
        case _:
            return value is not None


def _labels(row: Row) -> dict[str, str]:
    return {_MODEL: row.nodes[0].values[0], ARCH_LABEL: row.arch, OS_LABEL: row.os}


def _admitted(row: Row, found: tuple[Term, ...], keys: set[str]) -> bool:
    return any(
        all(_admits(one, _labels(row).get(one.key)) for one in term if one.key in keys)
        for term in found
    )


def _pool(row: Row) -> object:
    is_claim = row.output is Output.RESOURCE_CLAIM
    return row.output, None if is_claim else row.resource


def _need(row: Row, demand: Demand) -> int:
    """What a Pod holds at its peak if it gets a row (A7)."""
    if row.output is not Output.RESOURCE_CLAIM:
        return peak(demand.needs, row.resource)
    mains = [(need.spec, need.count) for need in demand.specs if need.kind is Kind.MAIN]
    return sum(
        need.count
        for need in demand.specs
        if need.kind is not Kind.INIT or (need.spec, need.count) not in mains
    )


def _naively(table: Table, demand: Demand, policy: Policy, opened: Row | None = None) -> list[str]:
    """Return the candidates' ids, or the rule that left none."""

    def is_called(row: Row, need: Need) -> bool:
        return need.spec is not None and need.spec.name in (row.name, *row.aliases)

    def takes_part(row: Row) -> bool:
        is_named = any(is_called(row, need) for need in demand.specs)
        return is_named or row is opened or (row.any and not row.reserved)

    def matches(row: Row, need: Need) -> bool:
        spec = need.spec
        assert spec is not None
        called = spec.is_any or is_called(row, need)
        return called and takes_part(row) and row.vram_gb >= (spec.min_gb or 0)

    if any(not any(matches(row, need) for row in table.rows) for need in demand.specs):
        return ["G5"]
    largest = max(need.count for need in demand.specs)
    left = list(table.rows)
    steps: list[tuple[str, Callable[[Row], bool]]] = [
        ("D1", lambda row: all(matches(row, need) for need in demand.specs)),
        ("N4", lambda row: _admitted(row, demand.terms, {_MODEL})),
        (
            "D10",
            lambda row: (
                row.os == demand.os and _admitted(row, demand.terms, {_MODEL, ARCH_LABEL, OS_LABEL})
            ),
        ),
        ("A2", lambda _: any(one.per_node >= largest for one in left)),
        ("D2", lambda row: row.per_node >= _need(row, demand)),
    ]
    for rule, holds in steps:
        left = [row for row in left if holds(row)]
        if not left:
            return [rule]
    if policy is SMALLEST:
        smallest = min(row.vram_gb for row in left)
        left = [row for row in left if row.vram_gb == smallest]
    left.sort(key=lambda row: (row.cost, row.vram_gb, row.name))
    return [row.id for row in left if _pool(row) == _pool(left[0])]


@pytest.mark.rule("D1", "D2", "D4", "D5", "D6", "D9", "D10", "A2", "G2", "G3", "G5", "N4")
@given(tables, demands(), policies)
def test_agrees_with_the_rules_read_row_by_row(
    table: Table, demand: Demand, policy: Policy
) -> None:
    resolution = resolve(table, demand, policy)
    found = [row.id for row in resolution.candidates] or [resolution.failed]
    assert found == _naively(table, demand, policy)


@pytest.mark.rule("D6")
@given(tables, demands())
def test_the_cure_is_the_first_withheld_row_that_would_do(table: Table, demand: Demand) -> None:
    resolution = resolve(table, demand, EVERY)
    if not resolution.failed:
        return
    cures = [row for row in table.rows if row.id in _naively(table, demand, EVERY, opened=row)]
    assert cure(resolution) == (cures[0] if cures else None)


# Live status.

_statuses = st.builds(RowStatus, st.integers(0, 8), st.integers(0, 8))


@st.composite
def live(draw: st.DrawFn, table: Table) -> Availability:
    return Availability({row.id: draw(_statuses) for row in table.rows if draw(st.booleans())})


@pytest.mark.rule("C3")
@given(tables, demands(), policies, st.sampled_from([{"x"}, {"y"}, {"x", "y"}]))
def test_rows_without_their_class_are_as_if_they_were_not_there(
    table: Table, demand: Demand, policy: Policy, missing: set[str]
) -> None:
    def is_there(row: Row) -> bool:
        assert row.claim is not None
        return row.output is not Output.RESOURCE_CLAIM or row.claim.device_class not in missing

    seeing = resolve(table, demand, policy, Availability(missing_classes=frozenset(missing)))
    assert all(map(is_there, seeing.candidates))
    rest = tuple(row for row in table.rows if is_there(row))
    # Without the rows, their labels say nothing any more: that is N4's business.
    if not rest or demand.terms != ((),):
        return
    without = resolve(replace(table, rows=rest), demand, policy)
    assert [row.id for row in seeing.candidates] == [row.id for row in without.candidates]


@pytest.mark.rule("D7")
@given(tables, demands(), policies, st.data())
def test_live_status_only_ever_moves_smallest_fit_to_a_larger_tier(
    table: Table, demand: Demand, policy: Policy, data: st.DataObject
) -> None:
    status = data.draw(live(table))
    blind = resolve(table, demand, policy)
    seeing = resolve(table, demand, policy, status)
    assert bool(seeing.failed) == bool(blind.failed)
    if policy is EVERY or seeing.failed:
        assert seeing == blind
        return
    assert {row.id for row in seeing.candidates} <= fitting(table, demand, EVERY)
    assert len({row.vram_gb for row in seeing.candidates}) == 1
    assert seeing.candidates[0].vram_gb >= blind.candidates[0].vram_gb
    if not seeing.skipped:
        assert seeing == blind
        return
    for row in table.select(seeing.skipped):
        assert row.vram_gb < seeing.candidates[0].vram_gb
    # What is used instead is not known to lack as well.
    assert any(not status.lacks(row.id, seeing.peaks[row.pool]) for row in seeing.candidates)


@given(tables, demands(), policies, st.data())
def test_everything_has_words(
    table: Table, demand: Demand, policy: Policy, data: st.DataObject
) -> None:
    """A denial has a reason, a row has a fate; nothing raises."""
    status = data.draw(st.just(NOTHING_KNOWN) | live(table))
    resolution: Resolution = resolve(table, demand, policy, status)
    found = problems(resolution)
    assert bool(found) == bool(resolution.failed)
    assert all(problem.message and problem.hint and problem.rule for problem in found)
    left_out = resolution.skipped or resolution.left_out or resolution.missing
    assert bool(warnings(resolution)) == bool(left_out and not resolution.failed)
    fates = explain(resolution)
    assert [fate.row for fate in fates] == list(table.rows)
    assert all(fate.rule and fate.why for fate in fates)
    assert [fate.row for fate in fates if fate.kept] == list(resolution.candidates)
    for container in resolution.containers:
        own = explain_container(resolution, container)
        assert [fate.row for fate in own] == list(table.rows)
        assert [fate.row for fate in own if fate.kept] == list(table.select(container.matching))
