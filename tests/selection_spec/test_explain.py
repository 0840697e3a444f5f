"""Why each row was kept or not: for every rule an example, with the numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from selection_spec.availability import Availability, RowStatus
from selection_spec.demand import Demand, Kind, Need, Term
from selection_spec.explain import explain, explain_container
from selection_spec.grammar import parse_spec
from selection_spec.labels import ARCH_LABEL, Operator, Requirement
from selection_spec.resolution import Resolution
from selection_spec.resolve import NOTHING_KNOWN, resolve
from selection_spec.rows import Policy
from selection_spec.table import Table
from tests.builders import make_row, make_table, pfn_table

EVERY, SMALLEST = Policy.EVERY_FIT, Policy.SMALLEST_FIT


def _ask(spec: str, count: int = 1, name: str = "main") -> Need:
    return Need(name, Kind.MAIN, "spec.containers[0]", parse_spec(f"gpu-{spec}"), count)


def _resolved(
    table: Table,
    *needs: Need,
    policy: Policy = EVERY,
    terms: Sequence[Term] = ((),),
    status: Availability = NOTHING_KNOWN,
) -> Resolution:
    return resolve(table, Demand(needs, tuple(terms)), policy, status)


def _fates(resolution: Resolution) -> list[str]:
    """Return every row's fate as a line: + for kept."""
    return [
        f"{'+' if fate.kept else '-'} {fate.row.id} {fate.rule}: {fate.why}"
        for fate in explain(resolution)
    ]


@pytest.mark.rule("D4", "G3")
def test_every_fit() -> None:
    assert _fates(_resolved(pfn_table(), _ask("any-24gb", 6))) == [
        "- v100-16gb G3: 16 GB, 24 asked for",
        "+ v100-32gb D4: 32 GB, 24 asked for; 6 of 8 on a node",
        "+ a30-24gb D4: 24 GB, 24 asked for; 6 of 6 on a node",
        "- a100-80gb D2: 4 on a node, the Pod needs 6",
    ]


@pytest.mark.rule("D5")
def test_smallest_fit() -> None:
    assert _fates(_resolved(pfn_table(), _ask("any-24gb"), policy=SMALLEST)) == [
        "- v100-16gb G3: 16 GB, 24 asked for",
        "- v100-32gb D5: 32 GB, a smaller one fits (24 GB)",
        "+ a30-24gb D5: 24 GB is the least; 1 of 6 on a node",
        "- a100-80gb D5: 80 GB, a smaller one fits (24 GB)",
    ]


@pytest.mark.rule("G2", "G3")
def test_a_spec_without_a_minimum() -> None:
    assert _fates(_resolved(pfn_table(), _ask("v100", 2))) == [
        "+ v100-16gb D4: 16 GB, any amount is fine; 2 of 8 on a node",
        "+ v100-32gb D4: 32 GB, any amount is fine; 2 of 8 on a node",
        "- a30-24gb G2: is not called v100",
        "- a100-80gb G2: is not called v100",
    ]


_WITHHELD = make_table(
    make_row("a10-24gb", cost=1),
    make_row("a100-80gb", cost=2, any=False),
    make_row("h100-80gb", cost=3, reserved=True),
)


@pytest.mark.rule("D6")
def test_withheld_rows() -> None:
    assert _fates(_resolved(_WITHHELD, _ask("any"))) == [
        "+ a10-24gb D4: 24 GB, any amount is fine; 1 of 8 on a node",
        "- a100-80gb D6: is not part of gpu-any",
        "- h100-80gb D6: is reserved for Pods that name it",
    ]


@pytest.mark.rule("D1")
def test_two_containers() -> None:
    resolution = _resolved(pfn_table(), _ask("any-24gb", 2, "a"), _ask("v100", 3, "b"))
    assert _fates(resolution) == [
        '- v100-16gb D1: container "a": 16 GB, 24 asked for',
        "+ v100-32gb D4: 32 GB, 24 asked for; 32 GB, any amount is fine; 5 of 8 on a node",
        '- a30-24gb D1: container "b": is not called v100',
        '- a100-80gb D1: container "b": is not called v100',
    ]
    # Each container by itself.
    assert [
        [
            (fate.row.id, fate.kept, fate.rule, fate.why)
            for fate in explain_container(resolution, one)
        ]
        for one in resolution.containers
    ] == [
        [
            ("v100-16gb", False, "G3", "16 GB, 24 asked for"),
            ("v100-32gb", True, "G3", "32 GB, 24 asked for"),
            ("a30-24gb", True, "G3", "24 GB, 24 asked for"),
            ("a100-80gb", True, "G3", "80 GB, 24 asked for"),
        ],
        [
            ("v100-16gb", True, "G3", "16 GB, any amount is fine"),
            ("v100-32gb", True, "G3", "32 GB, any amount is fine"),
            ("a30-24gb", False, "G2", "is not called v100"),
            ("a100-80gb", False, "G2", "is not called v100"),
        ],
    ]


@pytest.mark.rule("D1")
def test_a_row_that_no_container_wants_has_the_first_ones_reason() -> None:
    assert _fates(_resolved(pfn_table(), _ask("a100", name="a"), _ask("v100", name="b"))) == [
        '- v100-16gb D1: container "a": is not called a100',
        '- v100-32gb D1: container "a": is not called a100',
        '- a30-24gb G2: container "a": is not called a100',
        '- a100-80gb D1: container "b": is not called v100',
    ]


@pytest.mark.rule("N4")
def test_own_selectors() -> None:
    terms = [(Requirement("gpu-model", Operator.IN, ("a30-24gb",)),)]
    assert _fates(_resolved(pfn_table(), _ask("any-24gb"), terms=terms))[1:] == [
        "- v100-32gb N4: the Pod's nodeSelector or affinity excludes its nodes",
        "+ a30-24gb D4: 24 GB, 24 asked for; 1 of 6 on a node",
        "- a100-80gb N4: the Pod's nodeSelector or affinity excludes its nodes",
    ]


@pytest.mark.rule("D10")
def test_platforms() -> None:
    table = make_table(make_row("a100-80gb"), make_row("gh200-96gb", arch="arm64"))
    terms = [(Requirement(ARCH_LABEL, Operator.IN, ("amd64",)),)]
    assert _fates(_resolved(table, _ask("any"), terms=terms)) == [
        "+ a100-80gb D4: 80 GB, any amount is fine; 1 of 8 on a node",
        "- gh200-96gb D10: its nodes are linux/arm64, which the Pod excludes",
    ]


@pytest.mark.rule("A2", "D2")
def test_amounts_that_no_node_has() -> None:
    assert _fates(_resolved(pfn_table(), _ask("any-40gb", 8)))[3] == (
        "- a100-80gb A2: 4 on a node, the Pod needs 8"
    )
    assert _fates(_resolved(pfn_table(), _ask("a100", 3, "a"), _ask("a100", 2, "b")))[3] == (
        "- a100-80gb D2: 4 on a node, the Pod needs 5"
    )


@pytest.mark.rule("D7")
def test_a_tier_without_usable_devices() -> None:
    status = Availability({"v100-16gb": RowStatus(devices=80, most_usable_on_a_node=1)})
    assert _fates(_resolved(pfn_table(), _ask("any", 2), policy=SMALLEST, status=status)) == [
        "- v100-16gb D7: no node has 2 usable right now",
        "- v100-32gb D5: 32 GB, a smaller one fits (24 GB)",
        "+ a30-24gb D5: 24 GB is the least with usable devices; 2 of 6 on a node",
        "- a100-80gb D5: 80 GB, a smaller one fits (24 GB)",
    ]


@pytest.mark.rule("D9")
def test_another_output() -> None:
    table = make_table(make_row("a100-80gb"), make_row("mi300x-192gb", resource="amd.com/gpu"))
    assert _fates(_resolved(table, _ask("any"))) == [
        "+ a100-80gb D4: 80 GB, any amount is fine; 1 of 8 on a node",
        "- mi300x-192gb D9: is amd.com/gpu, the first row kept is nvidia.com/gpu",
    ]


@pytest.mark.rule("G5")
def test_an_unknown_name() -> None:
    assert set(_fates(_resolved(pfn_table(), _ask("h100")))) == {
        f"- {row.id} G2: is not called h100" for row in pfn_table().rows
    }
