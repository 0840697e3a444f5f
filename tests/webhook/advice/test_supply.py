"""What nodes have, less what Pods hold, as far as Pods could go there."""

from __future__ import annotations

import pytest

from selection_spec.availability import RowStatus
from tests.builders import GPU, Json, make_pod, make_row, make_table, tolerate
from tests.webhook.advice.pods import make_node
from webhook.advice.supply import Pool, Supply, supply_of_nodes, supply_of_status
from webhook.inventory.facts import Taint, node_facts
from webhook.inventory.pod_facts import pod_facts

_TABLE = make_table(
    make_row("a-16gb", tolerations=[tolerate("gpu")]),
    make_row("b-24gb", reserved=True),
    make_row("c-24gb", resource="amd.com/gpu", nodes={"matchLabels": {"both": "yes"}}),
    make_row("d-80gb", nodes={"matchLabels": {"both": "yes"}}),
)


def _supply(*nodes: Json, pods: tuple[Json, ...] = ()) -> tuple[Pool, ...]:
    return supply_of_nodes(_TABLE, map(node_facts, nodes), map(pod_facts, pods)).pools


def _a(name: str, devices: int = 8, *taints: Json, **spec: object) -> Json:
    return make_node(name, {"gpu-model": "a-16gb"}, taints=taints, devices={GPU: devices}, **spec)


def _holding(node: str, count: int, phase: str = "Running") -> Json:
    pod = make_pod().container("main", {GPU: count}).spec(nodeName=node).build()
    return {**pod, "status": {"phase": phase}}


def test_pods_leave_what_is_free() -> None:
    pods = (
        _holding("a1", 5),
        _holding("a1", 2),
        _holding("a2", 1),
        _holding("a2", 7, "Succeeded"),
        _holding("", 4, "Pending"),
        _holding("elsewhere", 8),
    )
    assert _supply(_a("a1"), _a("a2"), make_node("cpu", {}), pods=pods) == (
        Pool(("a-16gb",), GPU, total=16, free=8, largest=7, node="a2", most_usable=8),
    )
    assert _supply(_a("a1"), pods=(_holding("a1", 9),))[0].free == 0


@pytest.mark.rule("D7")
def test_nodes_where_nothing_starts() -> None:
    not_ready = _a("a1")
    not_ready["status"]["conditions"][0]["status"] = "Unknown"
    unhealthy = {"key": "gpuspec.preferred.jp/unhealthy", "effect": "NoSchedule"}
    pressed = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
    assert _supply(
        not_ready,
        _a("a2", 4, unschedulable=True),
        _a("a3", 2, unhealthy),
        _a("a4", 1, pressed),
    ) == (
        Pool(
            ("a-16gb",),
            GPU,
            total=15,
            away={
                "not ready": 8,
                "cordoned": 4,
                "tainted gpuspec.preferred.jp/unhealthy": 2,
                "tainted node.kubernetes.io/memory-pressure": 1,
            },
        ),
    )


def test_taints_and_rows_of_two_resources_make_pools() -> None:
    gpu = {"key": "gpu", "effect": "NoSchedule"}
    soft = {"key": "soft", "effect": "PreferNoSchedule"}
    both = make_node("both", {"both": "yes"}, devices={GPU: 2, "amd.com/gpu": 1})
    assert _supply(_a("a1", 8, gpu), _a("a2", 8, soft), both) == (
        Pool(("a-16gb",), GPU, (Taint("gpu", "", "NoSchedule"),), 8, 8, 8, "a1", 8),
        Pool(("a-16gb",), GPU, (), 8, 8, 8, "a2", 8),
        Pool(("c-24gb",), "amd.com/gpu", (), 1, 1, 1, "both", 1),
        Pool(("d-80gb",), GPU, (), 2, 2, 2, "both", 2),
    )


@pytest.mark.rule("D7")
def test_what_admission_would_know() -> None:
    nodes = [_a("a1"), _a("a2", 4, {"key": "x", "effect": "NoSchedule"})]
    supply = supply_of_nodes(_TABLE, map(node_facts, nodes), ())
    assert supply.availability.rows == {"a-16gb": RowStatus(12, 8)}


def test_a_status() -> None:
    rows = [
        {"id": "a-16gb", "devices": 20, "usable": 16, "mostUsableOnANode": 8, "free": 3},
        {"id": "b-24gb", "devices": 8, "usable": 8, "mostUsableOnANode": 4, "free": 6},
        {"id": "unknown-1gb", "devices": 8},
        "no row",
    ]
    assert supply_of_status(_TABLE, rows) == Supply(
        (
            Pool(
                ("a-16gb",),
                GPU,
                total=20,
                free=3,
                largest=3,
                most_usable=8,
                away={"not usable": 4},
            ),
            Pool(
                ("b-24gb",),
                GPU,
                (Taint("gpuspec.preferred.jp/reserved", "b-24gb", "NoSchedule"),),
                total=8,
                free=6,
                largest=4,
                most_usable=4,
            ),
        ),
        exact=False,
    )
