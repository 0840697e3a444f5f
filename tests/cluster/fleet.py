"""The fleet of the tests: 260 nodes of five kinds, as a published cluster has them.

Pure: the fixture file becomes Node objects; :mod:`tests.cluster.nodes` creates them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.api import Json

MODEL_LABEL = "gpu-model"
"""Label and taint key that tell a GPU node's class, such as ``v100-16gb``."""

GPU = "nvidia.com/gpu"

_FIXTURE = Path(__file__).parents[1] / "fixtures" / "pfn-cluster.json"
_PODS_PER_NODE = "110"


def load_fixture() -> Json:
    """The published cluster: classes, pools, totals and what is assumed about them."""
    fixture: Json = json.loads(_FIXTURE.read_text())
    return fixture


def fleet(fixture: Json | None = None) -> list[Json]:
    """All nodes of the fixture, named ``<pool>-<number>``."""
    fixture = fixture or load_fixture()
    reserved: int = fixture["reservedCoresPerNode"]["value"]
    return [
        pool_node(pool, number, reserved)
        for pool in fixture["pools"]
        for number in range(pool["nodes"])
    ]


def small_fleet(count: int) -> list[Json]:
    """So many nodes of the fleet, in the shares that its pools have in it."""
    nodes = fleet()
    return [nodes[number * len(nodes) // count] for number in range(min(count, len(nodes)))]


def pool_node(pool: Json, number: int, reserved_cores: int) -> Json:
    """One node of a pool; GPU nodes have their class as label and as taint."""
    model: str | None = pool["class"]
    devices: dict[str, int] = pool.get("otherDevices", {})
    if model is not None:
        devices = {GPU: pool["gpusPerNode"]} | devices
    capacity = {
        "cpu": str(pool["cores"]),
        "memory": f"{pool['memGB']}Gi",
        **{name: str(count) for name, count in devices.items()},
    }
    return fake_node(
        f"{pool['name']}-{number:03d}",
        labels={} if model is None else {MODEL_LABEL: model},
        taints=() if model is None else (model_taint(model),),
        capacity=capacity,
        allocatable=capacity | {"cpu": str(pool["cores"] - reserved_cores)},
    )


def model_taint(model: str) -> Json:
    """What keeps Pods that did not ask for this class off its nodes."""
    return {"key": MODEL_LABEL, "value": model, "effect": "NoSchedule"}


def fake_node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
    capacity: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
) -> Json:
    """A Node that KWOK plays a kubelet for; 110 Pods unless the capacity says otherwise."""
    full = {"cpu": "64", "memory": "256Gi", "pods": _PODS_PER_NODE} | dict(capacity or {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                **(labels or {}),
            },
        },
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {"capacity": full, "allocatable": full | dict(allocatable or {})},
    }
