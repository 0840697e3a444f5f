"""Which nodes a request has under two tables: as the scheduler would judge the Pod it becomes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from selection_spec.errors import Level
from selection_spec.grammar import Spec
from selection_spec.rows import Policy
from selection_spec.table import Table
from tests.builders import GPU, Json, make_row, make_table, tolerate
from tests.matcher import admits
from tests.webhook.advice.pods import make_node, stored
from webhook.advice.asks import Ask, answer, asks_that_matter
from webhook.advice.diff_nodes import Grounds, Matched, Served
from webhook.advice.row_changes import table_changes
from webhook.advice.spec_changes import Known, spec_changes
from webhook.inventory.facts import Taint, node_facts

_AMD = "amd.com/gpu"


def _taint(key: str, value: str = "", effect: str = "NoSchedule") -> Json:
    return {"key": key, "value": value, "effect": effect}


def _nodes() -> list[Json]:
    def node(name: str, model: str, devices: int, *taints: Json, **labels: str) -> Json:
        own = {"gpu-model": model} | {key.replace("_", "-"): one for key, one in labels.items()}
        return make_node(name, own, taints=taints, devices={GPU: devices})

    return [
        node("a-1", "a-16gb", 8),
        node("a-2", "a-16gb", 4, _taint("team", "vision")),
        node("a-3", "a-16gb", 8, _taint("soft", effect="PreferNoSchedule"), pool="x"),
        node("b-1", "b-24gb", 8, _taint("gpu", "b")),
        node("b-2", "b-24gb", 2, _taint("gpu", "b"), _taint("team", "vision"), pool="x"),
        make_node("c-1", {"gpu-model": "c-24gb"}, devices={_AMD: 8}),
        make_node("cpu", {}, devices={}),
    ]


def _table(**second: object) -> Table:
    return make_table(
        make_row("a-16gb", perNode=8),
        make_row("b-24gb", perNode=8, **{"tolerations": [tolerate("gpu", "b")], **second}),
        make_row("c-24gb", perNode=8, resource=_AMD, any=False),
    )


def _labels(**labels: str) -> Json:
    return {"matchLabels": {key.replace("_", "-"): value for key, value in labels.items()}}


_NEW: dict[str, Callable[[], Table]] = {
    "the same": _table,
    "other labels": lambda: _table(nodes=_labels(gpu_model="b")),
    "fewer nodes": lambda: _table(nodes=_labels(gpu_model="b-24gb", pool="x")),
    "no tolerations": lambda: _table(tolerations=[]),
    "more tolerations": lambda: _table(tolerations=[tolerate("gpu", "b"), tolerate("team")]),
    "another resource": lambda: _table(resource=_AMD),
    "another size": lambda: _table(vram="48gb"),
    "by name": lambda: _table(any=False),
    "one row": lambda: make_table(make_row("a-16gb", perNode=4)),
}


@pytest.mark.rule("N2", "N5")
@pytest.mark.parametrize("new", _NEW.values(), ids=_NEW)
def test_nodes_are_those_that_admit_the_pod(new: Callable[[], Table]) -> None:
    old, other, nodes = _table(), new(), _nodes()
    grounds = Grounds(old, other, map(node_facts, nodes))
    successors = table_changes(old, other).successors
    seen = 0
    for ask in asks_that_matter(old, other, sizes=grounds.sizes):
        for count in range(ask.least, ask.most + 1):
            before, after = (answer(one, ask.spec, count, Policy.EVERY_FIT) for one in (old, other))
            found = grounds.served(before.candidates, after.candidates, ask.most, successors)
            then, now = (_admitting(one, ask.spec, count, nodes) for one in (old, other))
            assert (found.before, found.after) == (len(then), len(now)), ask
            assert (found.lost, found.gained) == (len(then - now), len(now - then)), ask
            seen += found.before
    assert seen


def _admitting(table: Table, spec: Spec, count: int, nodes: list[Json]) -> set[str]:
    """Let admission make a Pod, and ask the scheduler's rules where it may go."""
    if not answer(table, spec, count, Policy.EVERY_FIT).candidates:
        return set()
    limits = {f"preferred.jp/{spec}": str(count)}
    pod = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}]},
    }
    made = stored(pod, table)
    ((resource, _),) = made["spec"]["containers"][0]["resources"]["limits"].items()
    return {
        node["metadata"]["name"]
        for node in nodes
        if admits(node, made) and int(node["status"]["capacity"].get(resource, 0)) >= count
    }


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("other labels", "loses its 1 node: their labels are not those of b-24gb"),
        ("no tolerations", "loses its 1 node: taint gpu=b:NoSchedule is not tolerated"),
        ("another resource", "loses its 1 node: they do not have the amd.com/gpu"),
        ("another size", ""),
        ("one row", ""),
    ],
)
def test_why_nodes_are_lost(new: str, said: str) -> None:
    old, other = _table(), _NEW[new]()
    grounds = Grounds(old, other, map(node_facts, _nodes()))
    before, after = (answer(one, Spec("b"), 1, Policy.EVERY_FIT).candidates for one in (old, other))
    assert str(grounds.served(before, after, 1, table_changes(old, other).successors)) == said


@pytest.mark.rule("D10")
def test_nodes_of_another_platform_are_no_nodes_of_a_row() -> None:
    old, other = _table(), _table(arch="arm64")
    nodes = _nodes()
    nodes[3]["metadata"]["labels"]["kubernetes.io/arch"] = "amd64"
    grounds = Grounds(old, other, map(node_facts, nodes[3:4]))
    before, after = (answer(one, Spec("b"), 1, Policy.EVERY_FIT).candidates for one in (old, other))
    found = grounds.served(before, after, 1, table_changes(old, other).successors)
    assert str(found) == "loses its 1 node: their labels are not those of b-24gb"


def test_several_reasons_are_counted() -> None:
    reasons = (
        ("their labels are not those of a", 1200),
        ("taint x:NoSchedule is not tolerated", 3),
    )
    assert str(Served(2000, 797, 1203, 0, reasons)) == (
        "loses 1,203 of its 2,000 nodes: their labels are not those of a (1,200); taint "
        "x:NoSchedule is not tolerated (3)"
    )


@pytest.mark.rule("D7")
@pytest.mark.parametrize(
    "taint",
    [
        Taint("node.kubernetes.io/unreachable", "", "NoExecute"),
        Taint("gpuspec.preferred.jp/unhealthy", "", "NoSchedule"),
        Taint("gpuspec.preferred.jp/reserved", "b-24gb", "NoSchedule"),
    ],
    ids=str,
)
def test_what_ails_a_node_today_is_no_matter_of_the_table(taint: Taint) -> None:
    table = make_table(make_row("a-16gb"))
    node = make_node("n", {"gpu-model": "a-16gb"}, devices={GPU: 8}, unschedulable=True)
    node["spec"]["taints"] = [{"key": taint.key, "value": taint.value, "effect": taint.effect}]
    node["status"]["allocatable"] = {GPU: "0"}
    grounds = Grounds(table, table, [node_facts(node)])
    assert grounds.served(table.rows, table.rows, 8, {"a-16gb": "a-16gb"}) == Served(1, 1)


def test_what_tables_match() -> None:
    grounds = Grounds(_table(), _NEW["other labels"](), map(node_facts, _nodes()))
    assert grounds.gpu_nodes == 6
    assert grounds.matched() == (Matched(3, 3, 6), Matched(3, 2, 4))


@pytest.mark.rule("D2")
def test_counts_are_told_apart_where_nodes_tell_them_apart() -> None:
    table = make_table(make_row("a-16gb", perNode=16))
    assert asks_that_matter(table, sizes={0, 4, 8, 32})[:3] == (
        Ask(Spec("any"), 1, 4),
        Ask(Spec("any"), 5, 8),
        Ask(Spec("any"), 9, 16),
    )


@pytest.mark.parametrize(
    ("new", "levels"),
    [
        ("the same", set()),
        ("fewer nodes", {Level.ERROR, Level.WARNING}),
        ("more tolerations", {None}),
        ("another size", {None}),
        ("by name", {Level.ERROR, Level.WARNING}),
    ],
)
def test_how_bad_it_is(new: str, levels: set[Level | None]) -> None:
    old, other = _table(), _NEW[new]()
    nodes = list(map(node_facts, _nodes()))
    grounds = Grounds(old, other, nodes)
    asks = asks_that_matter(old, other, sizes=grounds.sizes)
    successors = table_changes(old, other).successors
    assert {
        one.level for one in spec_changes(old, other, asks, successors, Known(grounds))
    } == levels
