"""From a demand to rows: D1 to D10, rule by rule, and the worked table of the semantics."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from selection_spec.availability import Availability, RowStatus
from selection_spec.demand import Demand, Kind, Need, Term
from selection_spec.grammar import parse_spec
from selection_spec.labels import ARCH_LABEL, OS_LABEL, Operator, Requirement
from selection_spec.resolution import Resolution
from selection_spec.resolve import NOTHING_KNOWN, choose_policy, cure, resolve
from selection_spec.rows import Policy
from selection_spec.table import Table
from tests.builders import GPU, make_row, make_table, pfn_table

EVERY, SMALLEST = Policy.EVERY_FIT, Policy.SMALLEST_FIT


def ask(spec: str, count: int = 1, kind: Kind = Kind.MAIN, name: str = "main") -> Need:
    """Ask for devices by a spec in one container."""
    return Need(name, kind, "spec.containers[0]", parse_spec(f"gpu-{spec}"), count)


def raw(amount: int, resource: str = GPU) -> Need:
    """Ask for devices by their own resource in another container."""
    return Need("raw", Kind.MAIN, "spec.containers[1]", raw=((resource, amount),))


def label(key: str, *values: str, operator: Operator = Operator.IN) -> Requirement:
    return Requirement(key, operator, values)


def demand(*needs: Need, terms: Sequence[Term] = ((),), os: str = "linux") -> Demand:
    return Demand(needs, tuple(terms), os)


def ids(resolution: Resolution) -> list[str]:
    return [row.id for row in resolution.candidates]


def outcome(table: Table, *needs: Need, policy: Policy = EVERY) -> list[str] | str:
    """Return the candidates, or the rule that left none."""
    resolution = resolve(table, demand(*needs), policy)
    assert bool(resolution.candidates) != bool(resolution.failed)
    return ids(resolution) if not resolution.failed else resolution.failed


@pytest.mark.rule("D4", "D5", "D2", "G2", "G3")
@pytest.mark.parametrize(
    ("needs", "every", "smallest"),
    [
        ([ask("any")], "v100-16 v100-32 a30 a100", "v100-16"),
        ([ask("any-16gb")], "v100-16 v100-32 a30 a100", "v100-16"),
        ([ask("any-24gb")], "v100-32 a30 a100", "a30"),
        ([ask("any-24gb", 6)], "v100-32 a30", "a30"),
        ([ask("any-24gb", 8)], "v100-32", "v100-32"),
        ([ask("any-24gb", 4), ask("any-24gb", 4)], "v100-32", "v100-32"),
        ([ask("any-32gb")], "v100-32 a100", "v100-32"),
        ([ask("any-40gb", 4)], "a100", "a100"),
        ([ask("any-40gb", 8)], "denied by A2", "denied by A2"),
        ([ask("v100")], "v100-16 v100-32", "v100-16"),
        ([ask("v100-24gb")], "v100-32", "v100-32"),
        ([ask("a30-32gb")], "denied by G5", "denied by G5"),
        ([ask("h100")], "denied by G5", "denied by G5"),
    ],
    ids=lambda value: (
        " + ".join(f"{one.spec}:{one.count}" for one in value) if isinstance(value, list) else value
    ),
)
def test_worked_candidates(needs: list[Need], every: str, smallest: str) -> None:
    table = pfn_table()
    full = {"v100-16": "v100-16gb", "v100-32": "v100-32gb", "a30": "a30-24gb", "a100": "a100-80gb"}
    for policy, wanted in ((EVERY, every), (SMALLEST, smallest)):
        if wanted.startswith("denied"):
            assert outcome(table, *needs, policy=policy) == wanted.removeprefix("denied by ")
        else:
            assert outcome(table, *needs, policy=policy) == [full[row] for row in wanted.split()]


# Names: G2, G3, D6.


_NAMED = make_table(
    make_row("a10-24gb", cost=1),
    make_row("a100-40gb", cost=2, aliases=["ampere"]),
    make_row("a100-80gb", cost=3, aliases=["ampere", "big"], any=False),
    make_row("h100-80gb", cost=4, reserved=True),
)


@pytest.mark.rule("G2", "G3", "D6")
@pytest.mark.parametrize(
    ("spec", "rows"),
    [
        ("any", ["a10-24gb", "a100-40gb"]),
        ("any-24gb", ["a10-24gb", "a100-40gb"]),
        ("any-25gb", ["a100-40gb"]),
        ("any-40gb", ["a100-40gb"]),
        ("any-41gb", "G5"),
        ("a10", ["a10-24gb"]),
        ("a100", ["a100-40gb", "a100-80gb"]),
        ("a100-41gb", ["a100-80gb"]),
        ("ampere", ["a100-40gb", "a100-80gb"]),
        ("big", ["a100-80gb"]),
        ("h100", ["h100-80gb"]),
        ("h100-80gb", ["h100-80gb"]),
        ("h100-81gb", "G5"),
        # Never by prefix or substring.
        ("a1", "G5"),
        ("a1000", "G5"),
        ("amp", "G5"),
        ("h", "G5"),
    ],
)
def test_names(spec: str, rows: list[str] | str) -> None:
    assert outcome(_NAMED, ask(spec)) == rows


@pytest.mark.rule("D1", "D6")
@pytest.mark.parametrize(
    ("specs", "rows"),
    [
        # A name anywhere in the Pod opens its rows for all containers.
        (["any", "h100"], ["h100-80gb"]),
        (["any-80gb", "a100"], ["a100-80gb"]),
        (["any-24gb", "ampere"], ["a100-40gb", "a100-80gb"]),
        (["a100", "big"], ["a100-80gb"]),
        (["any", "any-30gb"], ["a100-40gb"]),
        # One node carries one model.
        (["a10", "a100"], "D1"),
        (["any", "h100", "a10"], "D1"),
        # A spec that nothing meets comes first.
        (["a10", "h100", "v100"], "G5"),
    ],
)
def test_containers_of_one_pod(specs: list[str], rows: list[str] | str) -> None:
    assert outcome(_NAMED, *(ask(spec) for spec in specs)) == rows


@pytest.mark.rule("D6", "G5")
def test_an_unknown_name_opens_nothing() -> None:
    table = make_table(make_row("h100-80gb", reserved=True), make_row("a10-24gb", cost=1))
    resolution = resolve(table, demand(ask("nothing"), ask("any")), EVERY)
    assert resolution.failed == "G5"
    assert resolution.named == 0
    assert [row.id for row in table.select(resolution.containers[1].open)] == ["a10-24gb"]


@pytest.mark.rule("D1")
def test_a_step_is_only_taken_while_rows_are_left() -> None:
    failed = resolve(_NAMED, demand(ask("a10"), ask("a100")), EVERY)
    assert [step.rule for step in failed.steps] == ["D1"]
    passed = resolve(_NAMED, demand(ask("any")), SMALLEST)
    assert [step.rule for step in passed.steps] == ["D1", "N4", "D10", "D2", "D5"]


# Amounts: A2, A7, D2.


@pytest.mark.rule("A2", "A7", "D2")
@pytest.mark.parametrize(
    ("needs", "rows"),
    [
        ([ask("any", 8)], ["v100-16gb", "v100-32gb"]),
        ([ask("any", 9)], "A2"),
        ([ask("any", 5), ask("any", 4)], "D2"),
        ([ask("any", 4), ask("any", 4)], ["v100-16gb", "v100-32gb"]),
        ([ask("any", 2), raw(4)], ["v100-16gb", "v100-32gb", "a30-24gb"]),
        ([ask("any", 2), raw(7)], "D2"),
        # Another resource does not count.
        ([ask("any", 8), raw(8, "amd.com/gpu")], ["v100-16gb", "v100-32gb"]),
        # Init containers are over by then, sidecars are not.
        ([ask("any", 8, Kind.INIT), ask("any", 8)], ["v100-16gb", "v100-32gb"]),
        ([ask("any", 1, Kind.SIDECAR), ask("any", 8)], "D2"),
        ([ask("any", 2, Kind.SIDECAR), ask("any", 4)], ["v100-16gb", "v100-32gb", "a30-24gb"]),
    ],
)
def test_amounts(needs: list[Need], rows: list[str] | str) -> None:
    assert outcome(pfn_table(), *needs) == rows


@pytest.mark.rule("A7")
def test_peaks_are_by_resource() -> None:
    table = make_table(
        make_row("a100-80gb", perNode=8),
        make_row("mi300x-192gb", perNode=8, resource="amd.com/gpu"),
    )
    resolution = resolve(table, demand(ask("any", 4), raw(6)), EVERY)
    assert resolution.peaks == {"nvidia.com/gpu": 10, "amd.com/gpu": 4}
    assert ids(resolution) == ["mi300x-192gb"]


@pytest.mark.rule("D5")
def test_the_smallest_tier_is_that_of_the_whole_pods_need() -> None:
    """On a fleet whose 24 GB nodes carry 6, eight devices take the next tier."""
    assert outcome(pfn_table(), ask("any-24gb", 6), policy=SMALLEST) == ["a30-24gb"]
    assert outcome(pfn_table(), ask("any-24gb", 8), policy=SMALLEST) == ["v100-32gb"]


@pytest.mark.rule("D5", "D8")
def test_a_tier_may_have_several_rows_in_order_of_cost() -> None:
    table = make_table(
        make_row("l4-24gb", cost=2), make_row("a10-24gb", cost=1), make_row("t4-32gb", cost=0)
    )
    assert outcome(table, ask("any"), policy=SMALLEST) == ["a10-24gb", "l4-24gb"]
    assert outcome(table, ask("any"), policy=EVERY) == ["t4-32gb", "a10-24gb", "l4-24gb"]


# What the Pod says itself: N4, D10.


@pytest.mark.rule("N4")
@pytest.mark.parametrize(
    ("terms", "rows"),
    [
        ([(label("gpu-model", "a30-24gb"),)], ["a30-24gb"]),
        (
            [(label("gpu-model", "a30-24gb"),), (label("gpu-model", "a100-80gb"),)],
            ["a30-24gb", "a100-80gb"],
        ),
        (
            [(label("gpu-model", "v100-16gb", operator=Operator.NOT_IN),)],
            ["v100-32gb", "a30-24gb", "a100-80gb"],
        ),
        (
            [(label("gpu-model", operator=Operator.EXISTS),)],
            ["v100-16gb", "v100-32gb", "a30-24gb", "a100-80gb"],
        ),
        ([(label("gpu-model", operator=Operator.DOES_NOT_EXIST),)], "N4"),
        ([(label("gpu-model", "a100-80gb"), label("gpu-model", "a30-24gb"))], "N4"),
        ([(label("gpu-model", "k80"),)], "N4"),
        ([()], ["v100-16gb", "v100-32gb", "a30-24gb", "a100-80gb"]),
        # No term at all: nothing the Pod wrote can match.
        ([], "N4"),
        # Unknown keys and operators.
        ([(label("zone", "a"),)], ["v100-16gb", "v100-32gb", "a30-24gb", "a100-80gb"]),
        (
            [(label("gpu-model", "5", operator=Operator.GT),)],
            ["v100-16gb", "v100-32gb", "a30-24gb", "a100-80gb"],
        ),
    ],
)
def test_own_selectors_narrow(terms: list[Term], rows: list[str] | str) -> None:
    resolution = resolve(pfn_table(), demand(ask("any"), terms=terms), EVERY)
    assert (resolution.failed or ids(resolution)) == rows


@pytest.mark.rule("N4", "D2", "D5")
def test_own_selectors_come_before_amount_and_policy() -> None:
    only = [(label("gpu-model", "a30-24gb", "a100-80gb"),)]
    smallest = resolve(pfn_table(), demand(ask("any"), terms=only), SMALLEST)
    assert ids(smallest) == ["a30-24gb"]
    too_many = resolve(pfn_table(), demand(ask("any", 8), terms=only), EVERY)
    assert too_many.failed == "A2"


_PLATFORMS = make_table(
    make_row("a100-80gb", cost=1),
    make_row("gh200-96gb", arch="arm64"),
    make_row("a10-24gb", os="windows"),
    make_row("l4-24gb", nodes={"matchLabels": {"kubernetes.io/arch": "amd64", "gpu-model": "l4"}}),
)


@pytest.mark.rule("D10")
@pytest.mark.parametrize(
    ("terms", "os", "rows"),
    [
        ([()], "linux", ["l4-24gb", "gh200-96gb", "a100-80gb"]),
        ([()], "windows", ["a10-24gb"]),
        ([()], "plan9", "D10"),
        ([(label(ARCH_LABEL, "amd64"),)], "linux", ["l4-24gb", "a100-80gb"]),
        ([(label(ARCH_LABEL, "arm64"),)], "linux", ["gh200-96gb"]),
        ([(label(ARCH_LABEL, "s390x"),)], "linux", "D10"),
        ([(label(ARCH_LABEL, "amd64", operator=Operator.NOT_IN),)], "linux", ["gh200-96gb"]),
        ([(label(OS_LABEL, "windows"),)], "linux", "D10"),
        ([(label(OS_LABEL, "windows"),)], "windows", ["a10-24gb"]),
        # Labels and platform have to be those of one term.
        (
            [
                (label(ARCH_LABEL, "arm64"), label("gpu-model", "a100-80gb")),
                (label(ARCH_LABEL, "amd64"), label("gpu-model", "gh200-96gb")),
            ],
            "linux",
            "D10",
        ),
    ],
)
def test_platforms(terms: list[Term], os: str, rows: list[str] | str) -> None:
    resolution = resolve(_PLATFORMS, demand(ask("any"), terms=terms, os=os), EVERY)
    assert (resolution.failed or ids(resolution)) == rows


# Policy: D3.

_PRIORITIES = make_table(
    make_row("a100-80gb"),
    priorities=[
        {"classNames": ["batch"], "policy": "EveryFit"},
        {"minValue": 1000, "policy": "SmallestFit"},
        {"classNames": ["high", "top"], "policy": "SmallestFit"},
        {"minValue": -10, "policy": "SmallestFit"},
    ],
)
_BY_CLASS = make_table(
    make_row("a100-80gb"), priorities=[{"classNames": ["high"], "policy": "SmallestFit"}]
)
_SMALLEST_BY_DEFAULT = make_table(make_row("a100-80gb"), priorities=[], defaultPolicy="SmallestFit")


@pytest.mark.rule("D3")
@pytest.mark.parametrize(
    ("table", "known", "choice"),
    [
        # In order, the first that matches; a field that is not there never does.
        (_PRIORITIES, ("batch", 5000), (EVERY, "classNames", True)),
        (_PRIORITIES, ("batch", None), (EVERY, "classNames", True)),
        (_PRIORITIES, ("high", 5000), (SMALLEST, "minValue", True)),
        (_PRIORITIES, ("top", 0), (SMALLEST, "classNames", True)),
        (_PRIORITIES, ("other", 1000), (SMALLEST, "minValue", True)),
        (_PRIORITIES, ("other", 999), (SMALLEST, "minValue", True)),
        (_PRIORITIES, ("other", -11), (EVERY, "default", True)),
        (_PRIORITIES, (None, 1000), (SMALLEST, "minValue", True)),
        (_PRIORITIES, (None, -11), (EVERY, "default", True)),
        (_PRIORITIES, (None, -10), (SMALLEST, "minValue", True)),
        # Admission always knows the number: without it, a rule that asks for it may match there.
        (_PRIORITIES, ("high", None), (SMALLEST, "classNames", False)),
        (_PRIORITIES, ("other", None), (EVERY, "default", False)),
        (_PRIORITIES, (None, None), (EVERY, "default", False)),
        # A table that asks for no number needs none.
        (_BY_CLASS, ("high", None), (SMALLEST, "classNames", True)),
        (_BY_CLASS, ("other", None), (EVERY, "default", True)),
        (_BY_CLASS, (None, 0), (EVERY, "default", True)),
        (_BY_CLASS, (None, None), (EVERY, "default", False)),
        (_SMALLEST_BY_DEFAULT, (None, None), (SMALLEST, "default", True)),
    ],
)
def test_policy_from_priority(
    table: Table, known: tuple[str | None, int | None], choice: tuple[Policy, str, bool]
) -> None:
    """What is known is the name of a PriorityClass, and a number."""
    made = choose_policy(table, *known)
    assert (made.policy, made.source, made.certain) == choice


# Live status: D7.


def _status(**rows: tuple[int, int]) -> Availability:
    """Build live status from devices and most usable ones on a node; v100_16gb is v100-16gb."""
    return Availability(
        {row.replace("_", "-"): RowStatus(devices, most) for row, (devices, most) in rows.items()}
    )


@pytest.mark.rule("D7")
@pytest.mark.parametrize(
    ("count", "status", "rows", "skipped"),
    [
        # Fine, or not known: the smallest.
        (1, NOTHING_KNOWN, ["v100-16gb"], []),
        (1, _status(v100_16gb=(80, 8)), ["v100-16gb"], []),
        (1, _status(v100_32gb=(80, 0), a30_24gb=(60, 0)), ["v100-16gb"], []),
        # Has devices, but no node with enough usable ones.
        (1, _status(v100_16gb=(80, 0)), ["a30-24gb"], ["v100-16gb"]),
        (4, _status(v100_16gb=(80, 3)), ["a30-24gb"], ["v100-16gb"]),
        (3, _status(v100_16gb=(80, 3)), ["v100-16gb"], []),
        (
            1,
            _status(v100_16gb=(80, 0), a30_24gb=(60, 0)),
            ["v100-32gb"],
            ["v100-16gb", "a30-24gb"],
        ),
        # The next tier that can: of those that lack, of those that are empty.
        (8, _status(v100_16gb=(80, 7), v100_32gb=(80, 8)), ["v100-32gb"], ["v100-16gb"]),
        (1, _status(v100_16gb=(80, 0), a30_24gb=(0, 0)), ["a30-24gb"], ["v100-16gb"]),
        # No devices at all: an autoscaler may bring them.
        (1, _status(v100_16gb=(0, 0)), ["v100-16gb"], []),
        # No tier has: the smallest stays.
        (
            1,
            _status(v100_16gb=(8, 0), a30_24gb=(6, 0), v100_32gb=(8, 0), a100_80gb=(4, 0)),
            ["v100-16gb"],
            [],
        ),
    ],
)
def test_tiers_without_usable_devices_are_skipped(
    count: int, status: Availability, rows: list[str], skipped: list[str]
) -> None:
    resolution = resolve(pfn_table(), demand(ask("any", count)), SMALLEST, status)
    assert ids(resolution) == rows
    in_order = {row.id for row in pfn_table().select(resolution.skipped)}
    assert in_order == set(skipped)
    assert ("D7" in [step.rule for step in resolution.steps]) == bool(skipped)


@pytest.mark.rule("D7")
def test_every_fit_takes_no_heed_of_live_status() -> None:
    status = _status(v100_16gb=(80, 0), a30_24gb=(60, 0))
    assert ids(resolve(pfn_table(), demand(ask("any")), EVERY, status)) == [
        row.id for row in pfn_table().rows
    ]


@pytest.mark.rule("D7")
@pytest.mark.parametrize(
    ("status", "tier"),
    [
        # One row that may have them keeps the tier.
        (_status(l4_24gb=(8, 0)), "24gb"),
        (_status(l4_24gb=(8, 0), a10_24gb=(8, 1)), "24gb"),
        (_status(l4_24gb=(8, 0), a10_24gb=(8, 0)), "48gb"),
        # An empty row has none, and the other's are not usable.
        (_status(l4_24gb=(8, 0), a10_24gb=(0, 0)), "48gb"),
        (_status(l4_24gb=(0, 0), a10_24gb=(0, 0)), "24gb"),
    ],
)
def test_a_tier_of_several_rows(status: Availability, tier: str) -> None:
    table = make_table(make_row("l4-24gb"), make_row("a10-24gb"), make_row("l40s-48gb"))
    resolution = resolve(table, demand(ask("any")), SMALLEST, status)
    assert {row.id.rpartition("-")[2] for row in resolution.candidates} == {tier}


# One output: D9.

_MIXED = make_table(
    make_row("a100-80gb", cost=1),
    make_row("mi300x-192gb", cost=2, resource="amd.com/gpu"),
    make_row("h100-80gb", cost=3),
    make_row("mi210-64gb", cost=4, resource="amd.com/gpu"),
)


@pytest.mark.rule("D9")
def test_the_rows_that_stay_share_the_first_rows_resource() -> None:
    every = resolve(_MIXED, demand(ask("any")), EVERY)
    assert ids(every) == ["a100-80gb", "h100-80gb"]
    assert [row.id for row in _MIXED.select(every.left_out)] == ["mi300x-192gb", "mi210-64gb"]
    smallest = resolve(_MIXED, demand(ask("any")), SMALLEST)
    assert ids(smallest) == ["mi210-64gb"]
    assert smallest.left_out == 0
    one_vendor = resolve(_MIXED, demand(ask("any-81gb")), EVERY)
    assert ids(one_vendor) == ["mi300x-192gb"]
    assert one_vendor.left_out == 0


@pytest.mark.rule("D7", "D9")
def test_a_tier_is_judged_by_the_rows_that_d9_leaves() -> None:
    table = make_table(
        make_row("a-24gb", cost=1),
        make_row("b-24gb", cost=2, resource="amd.com/gpu"),
        make_row("c-48gb", cost=3),
    )
    status = _status(a_24gb=(8, 0), b_24gb=(8, 8))
    resolution = resolve(table, demand(ask("any")), SMALLEST, status)
    assert ids(resolution) == ["c-48gb"]
    assert {row.id for row in table.select(resolution.skipped)} == {"a-24gb", "b-24gb"}


# The cure: D6.


@pytest.mark.rule("D6")
@pytest.mark.parametrize(
    ("needs", "row"),
    [
        ([ask("any-80gb")], "a100-80gb"),
        ([ask("any-81gb")], None),
        ([ask("any", 9)], None),
        ([ask("a10-80gb")], None),
        ([ask("v100")], None),
        # Rows that the Pod named already are none that it lacks.
        ([ask("h100-90gb")], None),
        ([ask("any-90gb"), ask("h100")], None),
    ],
)
def test_the_first_row_that_its_name_would_open(needs: list[Need], row: str | None) -> None:
    resolution = resolve(_NAMED, demand(*needs), EVERY)
    assert resolution.failed
    found = cure(resolution)
    assert (found.id if found else None) == row


def test_a_demand_without_specs_is_for_every_row() -> None:
    assert ids(resolve(_NAMED, demand(), EVERY)) == [row.id for row in _NAMED.rows]
    assert ids(resolve(_NAMED, demand(raw(4)), SMALLEST)) == ["a10-24gb"]
