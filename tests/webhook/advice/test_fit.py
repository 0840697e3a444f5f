"""How a table fits a cluster, word for word."""

from __future__ import annotations

import pytest

from selection_spec.errors import Level
from selection_spec.labels import Toleration
from tests.builders import GPU, make_row, make_table
from tests.webhook.inventory.facts import node, nodes
from webhook.advice.fit import other_domain, unknown_classes, unmatched, waiting
from webhook.inventory.daemon_facts import DaemonFacts
from webhook.inventory.status import table_status
from webhook.terms import RESERVED_TAINT


@pytest.mark.rule("D6", "H7")
def test_only_reserved_rows_with_nodes_wait_and_only_for_who_is_locked_out() -> None:
    table = make_table(
        make_row("a-16gb", reserved=True), make_row("b-16gb"), make_row("c-16gb", reserved=True)
    )
    daemons = [
        DaemonFacts("gpu", "dcgm", {"gpu-model": "a-16gb"}),
        DaemonFacts("gpu", "other", {"gpu-model": "b-16gb"}),
        DaemonFacts("gpu", "fine", tolerations=(Toleration(RESERVED_TAINT, "Exists"),)),
    ]
    cluster = [node("n1", "a-16gb"), node("n2", "b-16gb")]
    ((path, problem),) = waiting(table, cluster, daemons)
    assert path == ("devices", "a-16gb")
    assert (problem.level, problem.rule) == (Level.WARNING, "H7")
    assert problem.text() == (
        "a-16gb: reserved waits for DaemonSet gpu/dcgm, whose Pods would not come back to its "
        "nodes; give it the toleration key gpuspec.preferred.jp/reserved, operator Exists, effect "
        "NoSchedule"
    )
    assert not list(waiting(table, cluster, daemons[1:]))


def test_unmatched_nodes_that_are_alike_are_one_finding() -> None:
    cluster = [
        *nodes(1200, "x", 6),
        node("y", None, {GPU: 2, "nvidia.com/mig-1g.5gb": 7}),
        node("fine", "a-16gb"),
        node("cpu", None, 0),
    ]
    found = list(unmatched(table_status(make_table(make_row("a-16gb")), cluster).unmatched))
    assert {path for path, _ in found} == {("devices",)}
    assert {problem.level for _, problem in found} == {Level.WARNING}
    hint = "add a row for them, or mend the one that should match them"
    assert [problem.text() for _, problem in found] == [
        f"1,200 nodes with GPUs match no row, such as x-0 (6 {GPU}; gpu-model=x); {hint}",
        f"1 node with GPUs matches no row: y (2 {GPU}, 7 nvidia.com/mig-1g.5gb); {hint}",
    ]


@pytest.mark.parametrize(
    ("kinds", "last"),
    [
        (10, "1 node with GPUs matches no row: n9 (8 nvidia.com/gpu; gpu-model=m9)"),
        (11, "1 more node with GPUs matches no row"),
        (13, "3 more nodes with GPUs match no row"),
    ],
)
def test_many_kinds_of_them_are_counted(kinds: int, last: str) -> None:
    cluster = [node(f"n{number}", f"m{number}") for number in range(kinds)]
    found = list(unmatched(table_status(make_table(make_row("a-16gb")), cluster).unmatched))
    assert len(found) == min(kinds, 11)
    assert found[-1][1].message == last


@pytest.mark.rule("D3")
def test_classes_that_no_pod_can_have() -> None:
    rules = [
        {"minValue": 9, "policy": "SmallestFit"},
        {"classNames": ["z", "a", "high"], "policy": "SmallestFit"},
    ]
    table = make_table(make_row("a-16gb"), priorities=rules)
    found = list(unknown_classes(table, ["high", "system-cluster-critical"]))
    assert [(path, problem.text()) for path, problem in found] == [
        (("priorities", 1, "classNames"), "the cluster has no PriorityClass a; it has high"),
        (("priorities", 1, "classNames"), "the cluster has no PriorityClass z; it has high"),
    ]
    assert {problem.level for _, problem in found} == {Level.WARNING}
    ((_, none),) = unknown_classes(table, ["a", "z", "high"][:2])
    assert none.text() == "the cluster has no PriorityClass high; it has a, z"


@pytest.mark.rule("G1")
def test_the_domain_cannot_change() -> None:
    table = make_table(make_row("a-16gb"), resourceDomain="example.com")
    ((path, problem),) = other_domain(table, "preferred.jp")
    assert (path, problem.level) == (("resourceDomain",), Level.ERROR)
    assert problem.text() == (
        'resourceDomain is "example.com", but "preferred.jp" in the cluster\'s table test, where '
        "it cannot change; write preferred.jp"
    )
    assert not list(other_domain(table, "example.com"))
