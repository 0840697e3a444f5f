"""What a user reads when nothing is left, whole texts: they stand alone in a ReplicaSet's event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from selection_spec.availability import Availability, RowStatus
from selection_spec.demand import Demand, Kind, Need, Term
from selection_spec.denial import MAX_SUGGESTIONS, problems, warnings
from selection_spec.errors import Level, Problem
from selection_spec.grammar import parse_spec
from selection_spec.labels import ARCH_LABEL, OS_LABEL, Operator, Requirement
from selection_spec.resolve import resolve
from selection_spec.rows import Policy
from selection_spec.table import Table
from tests.builders import GPU, make_row, make_table, pfn_table


def _ask(spec: str, count: int = 1, name: str = "main", kind: Kind = Kind.MAIN) -> Need:
    place = "containers" if kind is Kind.MAIN else "initContainers"
    return Need(name, kind, f"spec.{place}[0]", parse_spec(f"gpu-{spec}"), count)


def _label(key: str, *values: str, operator: Operator = Operator.IN) -> Requirement:
    return Requirement(key, operator, values)


def _denied(
    table: Table, *needs: Need, terms: Sequence[Term] = ((),), os: str = "linux"
) -> tuple[Problem, ...]:
    resolution = resolve(table, Demand(needs, tuple(terms), os), Policy.EVERY_FIT)
    assert resolution.failed
    return problems(resolution)


def _text(table: Table, *needs: Need, terms: Sequence[Term] = ((),), os: str = "linux") -> str:
    (problem,) = _denied(table, *needs, terms=terms, os=os)
    return problem.text()


_PFN = pfn_table()


@pytest.mark.rule("G5")
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            "h100",
            (
                "preferred.jp/gpu-h100: no device is called h100; nearest: a100, v100, a30; "
                "or write preferred.jp/gpu-any; all: any, a100, a30, v100"
            ),
        ),
        (
            "a10",
            (
                "preferred.jp/gpu-a10: no device is called a10; nearest: a100, a30, v100; "
                "or write preferred.jp/gpu-any; all: any, a100, a30, v100"
            ),
        ),
        (
            "any-24mb",
            (
                "preferred.jp/gpu-any-24mb: no device is called any-24mb; nearest: any, a30, "
                "a100; or write preferred.jp/gpu-any-24gb; all: any, a100, a30, v100"
            ),
        ),
        (
            "a30-32gb",
            (
                "preferred.jp/gpu-a30-32gb: the largest a30 has 24 GB; "
                "write preferred.jp/gpu-a30-24gb or less"
            ),
        ),
        (
            "any-999gb",
            (
                "preferred.jp/gpu-any-999gb: the largest device has 80 GB; "
                "write preferred.jp/gpu-any-80gb or less"
            ),
        ),
    ],
)
def test_nothing_is_called_that_or_as_large(spec: str, text: str) -> None:
    (problem,) = _denied(_PFN, _ask(spec))
    assert problem.text() == f'container "main": {text}'
    assert problem.path == f'spec.containers[0].resources.limits["preferred.jp/gpu-{spec}"]'
    assert problem.rule == "G5"


@pytest.mark.rule("G4")
def test_a_misspelt_name_gets_its_right_spelling() -> None:
    (problem,) = _denied(_PFN, _ask("any-24gib"))
    assert problem.text() == (
        'container "main": preferred.jp/gpu-any-24gib ends in 24gib, which is neither a name nor '
        "memory in whole gb; write preferred.jp/gpu-any-24gb"
    )
    assert problem.rule == "G4"


@pytest.mark.rule("G4", "G5")
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            "4090",
            (
                "no device is called 4090; nearest: rtx-4090, rtx-pro-6000, any; or write "
                "preferred.jp/gpu-any; all: any, rtx-4090, rtx-pro-6000"
            ),
        ),
        (
            "6000",
            (
                "no device is called 6000; nearest: rtx-pro-6000, rtx-4090, any; or write "
                "preferred.jp/gpu-any; all: any, rtx-4090, rtx-pro-6000"
            ),
        ),
    ],
)
def test_half_a_name_in_digits_is_no_memory(spec: str, text: str) -> None:
    table = make_table(make_row("rtx-4090-24gb"), make_row("rtx-pro-6000-96gb"))
    assert _text(table, _ask(spec)) == f'container "main": preferred.jp/gpu-{spec}: {text}'
    assert _text(table, _ask("24")).endswith("write preferred.jp/gpu-any-24gb")


@pytest.mark.rule("G5")
def test_of_many_names_as_many_as_fit() -> None:
    table = make_table(*(make_row(f"card-{number}-x-16gb") for number in range(60)))
    assert _text(table, _ask("card-7")) == (
        'container "main": preferred.jp/gpu-card-7: no device is called card-7; '
        "nearest: card-7-x, card-17-x, card-27-x; or write preferred.jp/gpu-any-7gb; all: any, "
        "card-0-x, card-1-x, card-10-x, card-11-x, card-12-x, card-13-x, card-14-x, card-15-x, "
        "card-16-x, card-17-x, card-18-x, card-19-x, card-2-x, card-20-x, card-21-x, card-22-x, "
        "card-23-x, card-24-x, card-25-x, card-26-x, "
        'card-27-x and 39 more ("gpuspec explain any --all")'
    )


@pytest.mark.rule("G5")
@pytest.mark.parametrize(
    ("spec", "count", "nearest", "write"),
    [
        ("anny-24gb", 1, "any, a30, a100", "any-24gb"),
        ("ani-24gb", 1, "any, a30, a100", "any-24gb"),
        ("nay", 1, "any, a30, a100", "any"),
        ("any24gb", 1, "any, a30, a100", "any-24gb"),
        ("any24", 1, "any, a30, a100", "any-24gb"),
        ("anny-24", 1, "any, a30, a100", "any-24gb"),
        ("anny24gib", 1, "any, a30, a100", "any-24gb"),
        # Not near, but it may be what was meant.
        ("all-24gb", 1, "a30, any, a100", "any-24gb"),
        ("h200-24", 1, "a100, v100, a30", "any-24gb"),
        ("every40gb", 1, "v100, any, a30", "any-40gb"),
        # These digits are no memory.
        ("a10g", 1, "a100, a30, v100", "any"),
        ("rtx-4090", 1, "a100, v100, a30", "any"),
        # Where nothing fits, it would only be the next denial.
        ("anny-999gb", 1, "any, a30, a100", ""),
        ("anny-40gb", 8, "any, a30, a100", ""),
        ("anny", 8, "any, a30, a100", "any"),
    ],
)
def test_any_is_named_with_the_memory_that_was_meant(
    spec: str, count: int, nearest: str, write: str
) -> None:
    name = spec.partition("-")[0] if spec.endswith("gb") else spec
    offer = f"or write preferred.jp/gpu-{write}; " if write else ""
    assert _text(_PFN, _ask(spec, count)) == (
        f'container "main": preferred.jp/gpu-{spec}: no device is called {name}; '
        f"nearest: {nearest}; {offer}all: any, a100, a30, v100"
    )


@pytest.mark.rule("G5", "G2")
def test_any_is_not_offered_where_it_is_nothing() -> None:
    table = make_table(make_row("h100-80gb", reserved=True), make_row("a10-24gb", any=False))
    assert _text(table, _ask("anny")) == (
        'container "main": preferred.jp/gpu-anny: no device is called anny; '
        "nearest: a10, h100; all: a10, h100"
    )
    open_to_any = make_table(make_row("a10-24gb"), make_row("h100-80gb", reserved=True))
    text = _text(open_to_any, _ask("anny-40gb"))
    assert text.endswith("no device is called anny; nearest: any, a10, h100; all: any, a10, h100")


@pytest.mark.rule("G5", "R4")
def test_names_without_a_search_still_name_any() -> None:
    texts = [
        problem.text()
        for problem in _denied(
            _PFN, *(_ask("anny-24gb", name=f"c{number}") for number in range(MAX_SUGGESTIONS + 1))
        )
    ]
    assert "nearest: any, " in texts[-2]
    assert texts[-1].endswith(
        "no device is called anny; write preferred.jp/gpu-any-24gb; all: any, a100, a30, v100"
    )


@pytest.mark.rule("G5")
def test_every_container_at_fault_is_named() -> None:
    found = _denied(
        _PFN,
        _ask("h100", name="fetch", kind=Kind.INIT),
        _ask("any", name="fine"),
        _ask("a30-48gb", name="main"),
    )
    assert [problem.text() for problem in found] == [
        (
            'init container "fetch": preferred.jp/gpu-h100: no device is called h100; '
            "nearest: a100, v100, a30; or write preferred.jp/gpu-any; all: any, a100, a30, v100"
        ),
        (
            'container "main": preferred.jp/gpu-a30-48gb: the largest a30 has 24 GB; '
            "write preferred.jp/gpu-a30-24gb or less"
        ),
    ]
    assert found[0].path.startswith("spec.initContainers[0].resources.limits[")


_WITHHELD = make_table(
    make_row("a10-24gb", cost=1),
    make_row("a100-80gb", cost=2, any=False, perNode=4),
    make_row("h100-80gb", cost=3, reserved=True, perNode=16),
)


@pytest.mark.rule("D6")
@pytest.mark.parametrize(
    ("needs", "text"),
    [
        (
            [_ask("any-40gb")],
            (
                'container "main": preferred.jp/gpu-any-40gb: the largest device has 24 GB; '
                "write preferred.jp/gpu-any-24gb or less; a100-80gb fits but is not part of "
                "gpu-any: write preferred.jp/gpu-a100-80gb"
            ),
        ),
        (
            [_ask("any-40gb", 8)],
            (
                'container "main": preferred.jp/gpu-any-40gb: the largest device has 24 GB; '
                "write preferred.jp/gpu-any-24gb or less; h100-80gb fits but is reserved: "
                "write preferred.jp/gpu-h100-80gb"
            ),
        ),
        (
            [_ask("any", 12)],
            (
                'container "main": preferred.jp/gpu-any: 12: no node has 12 such GPUs, the most '
                "is 8 "
                "(a10-24gb); ask for 8 or less in one Pod; h100-80gb fits but is reserved: "
                "write preferred.jp/gpu-h100-80gb"
            ),
        ),
        (
            [_ask("any", 6, "a"), _ask("any", 6, "b")],
            (
                '12 GPUs in one Pod (6 in "a", 6 in "b"), the largest a10 node has 8; ask for '
                "fewer, "
                "or use several Pods; h100-80gb fits but is reserved: "
                "write preferred.jp/gpu-h100-80gb"
            ),
        ),
        # None would do.
        (
            [_ask("any-40gb", 17)],
            (
                'container "main": preferred.jp/gpu-any-40gb: the largest device has 24 GB; '
                "write preferred.jp/gpu-any-24gb or less"
            ),
        ),
        (
            [_ask("a10-40gb")],
            (
                'container "main": preferred.jp/gpu-a10-40gb: the largest a10 has 24 GB; '
                "write preferred.jp/gpu-a10-24gb or less"
            ),
        ),
    ],
)
def test_a_row_that_its_name_would_open_is_offered(needs: list[Need], text: str) -> None:
    assert _text(_WITHHELD, *needs) == text


@pytest.mark.rule("D6")
def test_a_row_that_the_pods_own_selectors_ask_for_is_offered() -> None:
    text = _text(_WITHHELD, _ask("any"), terms=[(_label("gpu-model", "h100-80gb"),)])
    assert text == (
        "the Pod's nodeSelector or affinity (gpu-model=h100-80gb) excludes every device for "
        "gpu-any (a10-24gb: gpu-model=a10-24gb); remove it or change the spec; "
        "h100-80gb fits but is reserved: write preferred.jp/gpu-h100-80gb"
    )


@pytest.mark.rule("D6")
def test_a_table_that_opens_nothing() -> None:
    table = make_table(make_row("h100-80gb", reserved=True), make_row("a10-24gb", any=False))
    assert _text(table, _ask("any-40gb")) == (
        'container "main": preferred.jp/gpu-any-40gb: no device is open to gpu-any; '
        "h100-80gb fits but is reserved: write preferred.jp/gpu-h100-80gb"
    )
    assert _text(table, _ask("any", 9)) == (
        'container "main": preferred.jp/gpu-any: no device is open to gpu-any; '
        "write preferred.jp/gpu-<name> with one of a10, h100"
    )


@pytest.mark.rule("D1")
def test_containers_that_no_node_can_serve() -> None:
    (problem,) = _denied(_PFN, _ask("a100", name="train"), _ask("v100", name="eval"))
    assert problem.text() == (
        'container "train" (gpu-a100) and container "eval" (gpu-v100): no device meets them all, '
        "and a Pod runs on one node; ask for one kind of device, or use several Pods"
    )
    assert (problem.path, problem.rule) == ("spec", "D1")
    many = [_ask(f"any-{number}gb", name=f"c{number}") for number in range(1, 9)]
    assert _text(_PFN, *many, _ask("a30"), _ask("v100")) == (
        'container "c1" (gpu-any-1gb) and container "c2" (gpu-any-2gb) and container "c3" '
        '(gpu-any-3gb) and container "c4" (gpu-any-4gb) and 6 more: no device meets them all, '
        "and a Pod runs on one node; ask for one kind of device, or use several Pods"
    )


@pytest.mark.rule("N4")
@pytest.mark.parametrize(
    ("terms", "theirs"),
    [
        ([(_label("gpu-model", "k80"),)], "gpu-model=k80"),
        ([(_label("gpu-model", "k80", "m60"), _label("zone", "a"))], "gpu-model In [k80, m60]"),
        (
            [(_label("gpu-model", operator=Operator.DOES_NOT_EXIST),), (_label("gpu-model", "k"),)],
            "gpu-model DoesNotExist or gpu-model=k",
        ),
        (
            [(_label("gpu-model", *"abcdefgh"),)],
            "gpu-model In [a, b, c, d and 4 more]",
        ),
        (
            [(_label("gpu-model", letter),) for letter in "abcdefgh"],
            "gpu-model=a or gpu-model=b or gpu-model=c or gpu-model=d and 4 more",
        ),
        ([], "no term that can match"),
    ],
)
def test_selectors_of_the_pod_that_exclude_all(terms: list[Term], theirs: str) -> None:
    (problem,) = _denied(_PFN, _ask("a30"), terms=terms)
    assert problem.text() == (
        f"the Pod's nodeSelector or affinity ({theirs}) excludes every device for gpu-a30 "
        "(a30-24gb: gpu-model=a30-24gb); remove it or change the spec"
    )
    assert (problem.path, problem.rule) == ("spec", "N4")


@pytest.mark.rule("N4", "A2", "D2", "D10")
def test_what_the_pod_itself_has_excluded_is_no_longer_spoken_of() -> None:
    only_a30 = [(_label("gpu-model", "a30-24gb"),)]
    assert _text(_PFN, _ask("any", 8), terms=only_a30) == (
        'container "main": preferred.jp/gpu-any: 8: no node has 8 such GPUs, the most is 6 '
        "(a30-24gb); ask for 6 or less in one Pod"
    )
    assert _text(_PFN, _ask("any", 4, "a"), _ask("any", 3, "b"), terms=only_a30) == (
        '7 GPUs in one Pod (4 in "a", 3 in "b"), the largest a30 node has 6; ask for fewer, '
        "or use several Pods"
    )
    only_gh200 = [(_label("gpu-model", "gh200-96gb"), _label(ARCH_LABEL, "amd64"))]
    assert _text(_PLATFORMS, _ask("any"), terms=only_gh200).startswith(
        "the Pod wants kubernetes.io/arch=amd64, the devices that fit are on linux/arm64; "
    )


@pytest.mark.rule("N4")
def test_four_are_not_too_many() -> None:
    text = _text(_PFN, _ask("any"), terms=[(_label("gpu-model", *"abcd"),)])
    assert text == (
        "the Pod's nodeSelector or affinity (gpu-model In [a, b, c, d]) excludes every device "
        "for gpu-any (v100-16gb: gpu-model=v100-16gb; v100-32gb: gpu-model=v100-32gb; a30-24gb: "
        "gpu-model=a30-24gb; a100-80gb: gpu-model=a100-80gb); remove it or change the spec"
    )


@pytest.mark.rule("N4")
def test_of_many_rows_a_few_are_shown() -> None:
    rows = (make_row(f"c{n}-16gb", nodes={"matchLabels": {"m": f"v{n}"}}) for n in range(9))
    text = _text(make_table(*rows), _ask("any"), terms=[(_label("m", "z"),)])
    assert text == (
        "the Pod's nodeSelector or affinity (m=z) excludes every device for gpu-any (c0-16gb: "
        "m=v0; c1-16gb: m=v1; c2-16gb: m=v2; c3-16gb: m=v3 and 5 more); "
        "remove it or change the spec"
    )


_PLATFORMS = make_table(
    make_row("a100-80gb"), make_row("gh200-96gb", arch="arm64"), make_row("a10-24gb", os="windows")
)


@pytest.mark.rule("D10")
@pytest.mark.parametrize(
    ("needs", "terms", "os", "text"),
    [
        (
            [_ask("any")],
            [(_label(ARCH_LABEL, "s390x"),)],
            "linux",
            (
                "kubernetes.io/arch=s390x, the devices that fit are on linux/amd64, linux/arm64, "
                "windows/amd64"
            ),
        ),
        (
            [_ask("gh200")],
            [(_label(ARCH_LABEL, "amd64"),)],
            "linux",
            "kubernetes.io/arch=amd64, the devices that fit are on linux/arm64",
        ),
        (
            [_ask("a100")],
            [(_label(OS_LABEL, "windows"),), (_label(ARCH_LABEL, "arm64"),)],
            "linux",
            (
                "kubernetes.io/os=windows or kubernetes.io/arch=arm64, the devices that fit are on "
                "linux/amd64"
            ),
        ),
        ([_ask("a10")], [()], "linux", "os linux, the devices that fit are on windows/amd64"),
        ([_ask("a100")], [()], "windows", "os windows, the devices that fit are on linux/amd64"),
    ],
)
def test_another_platform(needs: list[Need], terms: list[Term], os: str, text: str) -> None:
    (problem,) = _denied(_PLATFORMS, *needs, terms=terms, os=os)
    assert problem.text() == (
        f"the Pod wants {text}; change spec.os or the architecture selector, "
        "or ask for another device"
    )
    assert (problem.path, problem.rule) == ("spec", "D10")


@pytest.mark.rule("A2")
def test_more_than_any_node_has() -> None:
    (problem,) = _denied(_PFN, _ask("any", 2, "a"), _ask("any-40gb", 8, "b"))
    assert problem.text() == (
        'container "b": preferred.jp/gpu-any-40gb: 8: no node has 8 such GPUs, the most is 4 '
        "(a100-80gb); ask for 4 or less in one Pod"
    )
    assert problem.path == 'spec.containers[0].resources.limits["preferred.jp/gpu-any-40gb"]'
    assert problem.rule == "A2"


@pytest.mark.rule("D2", "A7")
@pytest.mark.parametrize(
    ("needs", "text"),
    [
        (
            [_ask("a100", 3, "a"), _ask("a100", 2, "b")],
            '5 GPUs in one Pod (3 in "a", 2 in "b"), the largest a100 node has 4',
        ),
        # Only those that hold them at the same time.
        (
            [
                _ask("a100", 2, "side", Kind.SIDECAR),
                _ask("a100", 3, "init", Kind.INIT),
                _ask("a100", 1, "main"),
            ],
            '5 GPUs in one Pod (2 in "side", 3 in "init"), the largest a100 node has 4',
        ),
        (
            [_ask("a100", 2), Need("raw", Kind.MAIN, "spec.containers[1]", raw=((GPU, 3),))],
            '5 GPUs in one Pod (2 in "main", 3 in "raw"), the largest a100 node has 4',
        ),
        (
            [_ask("a100", 1, f"c{number}") for number in range(6)],
            (
                '6 GPUs in one Pod (1 in "c0", 1 in "c1", 1 in "c2", 1 in "c3" and 2 more), '
                "the largest a100 node has 4"
            ),
        ),
    ],
)
def test_more_than_any_node_has_together(needs: list[Need], text: str) -> None:
    (problem,) = _denied(_PFN, *needs)
    assert problem.text() == f"{text}; ask for fewer, or use several Pods"
    assert (problem.path, problem.rule) == ("spec", "D2")


def test_names_that_nobody_reads_to_the_end_still_leave_room_for_the_hint() -> None:
    long_names = [_ask("a100", 1, "x" * 62 + str(number)) for number in range(9)]
    for needs in ([*long_names, _ask("v100")], long_names):
        text = _text(_PFN, *needs)
        assert len(text.encode()) <= 1000
        assert "use several Pods" in text


@pytest.mark.rule("D7", "D9")
def test_warnings() -> None:
    table = make_table(
        make_row("v100-16gb"),
        make_row("a30-24gb", cost=1),
        make_row("mi210-24gb", cost=2, resource="amd.com/gpu"),
    )
    status = Availability({"v100-16gb": RowStatus(80, 0)})
    demand = Demand((_ask("any"),))
    found = warnings(resolve(table, demand, Policy.SMALLEST_FIT, status))
    assert [(warning.text(), warning.rule, warning.level) for warning in found] == [
        ("using a30-24gb: no node has enough usable v100-16gb", "D7", Level.WARNING),
        ("left out, as they are not nvidia.com/gpu: mi210-24gb", "D9", Level.WARNING),
    ]
    every = warnings(resolve(table, demand, Policy.EVERY_FIT, status))
    assert [warning.rule for warning in every] == ["D9"]
    assert warnings(resolve(_PFN, demand, Policy.EVERY_FIT)) == ()


def test_what_is_admitted_has_no_problem() -> None:
    assert problems(resolve(_PFN, Demand((_ask("any"),)), Policy.EVERY_FIT)) == ()


def test_a_sidecar_is_called_what_the_user_wrote_it_as() -> None:
    need = replace(_ask("h100", name="s", kind=Kind.SIDECAR), path="spec.initContainers[2]")
    assert _text(_PFN, need).startswith('init container "s": preferred.jp/gpu-h100: no device')


@pytest.mark.rule("G5")
def test_a_part_of_a_name_means_that_name() -> None:
    table = make_table(*(make_row(f"{name}-16gb") for name in ("a100", "h100", "gtx-1080", "p100")))
    assert "nearest: gtx-1080, " in _text(table, _ask("1080"))


@pytest.mark.rule("G4")
def test_leading_zeros_in_a_name_that_exists() -> None:
    table = make_table(make_row("rtx-4090-24gb"))
    assert _text(table, _ask("rtx-04090")).endswith("; write preferred.jp/gpu-rtx-4090")


@pytest.mark.rule("D10")
def test_old_labels_of_the_architecture_count() -> None:
    terms = [(_label("beta.kubernetes.io/arch", "arm64"),)]
    text = _text(make_table(make_row("a100-80gb")), _ask("any"), terms=terms)
    assert text.startswith(
        "the Pod wants beta.kubernetes.io/arch=arm64, the devices that fit are on"
    )
