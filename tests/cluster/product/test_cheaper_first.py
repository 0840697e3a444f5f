"""Cheaper first, against all else that a scheduler weighs (semantics N6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
import yaml

from tests.builders import Json, asking
from tests.cluster.api import path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import GPU, fake_node
from tests.cluster.nodes import create_nodes
from tests.cluster.pods import node_of
from tests.cluster.product.installation import Installation
from tests.cluster.product.places import in_parallel
from tests.cluster.product.workloads import create_workload, wait_pods, workload, workload_path
from tests.cluster.versions import ON_NEWEST

pytestmark = ON_NEWEST

LABEL = "example.com/step"
STEPS = ("first", "second", "third", "fourth")
NODES_A_STEP = 20
DEVICES_A_NODE = 8


@pytest.fixture
def steps(cluster: ControlPlane, webhook: Installation) -> Iterator[None]:
    """Four rows of as many nodes each, and a table in which each costs more than the one before."""
    nodes = [
        fake_node(
            f"{step}-{number:02d}",
            labels={LABEL: step},
            taints=[{"key": LABEL, "value": step, "effect": "NoSchedule"}],
            capacity={GPU: str(DEVICES_A_NODE)},
        )
        for step in STEPS
        for number in range(NODES_A_STEP)
    ]
    names = [node["metadata"]["name"] for node in nodes]
    create_nodes(cluster.api, nodes)
    try:
        with webhook.service.serving(table()):
            yield
    finally:
        in_parallel(lambda name: cluster.api.delete(path("v1", "nodes", name)), names)


def table() -> bytes:
    devices = [
        {
            "name": step,
            "vram": "16gb",
            "perNode": DEVICES_A_NODE,
            "cost": cost,
            "nodes": {"matchLabels": {LABEL: step}},
            "tolerations": [{"key": LABEL, "value": step, "effect": "NoSchedule"}],
            "resource": GPU,
        }
        for cost, step in enumerate(STEPS)
    ]
    document = {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": "steps"},
        "spec": {"devices": devices},
    }
    return yaml.safe_dump(document).encode()


@pytest.mark.rule("N6")
@pytest.mark.usefixtures("steps")
def test_replicas_fill_the_cheapest_row_although_kubernetes_would_spread_them(
    cluster: ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 120 at least 95, where 160 fit; of 260 all the 160, and the rest on the next row."""
    free = NODES_A_STEP * DEVICES_A_NODE
    assert free == 160
    body = workload("Deployment", "train", asking(any=1), replicas=120)
    create_workload(cluster.api, namespace, body)
    few = count_by_step(wait_pods(cluster.api, namespace, "train", 120))
    scale = workload_path("Deployment", namespace, "train")
    cluster.api.patch(scale, {"spec": {"replicas": 260}})
    many = count_by_step(wait_pods(cluster.api, namespace, "train", 260))
    with capsys.disabled():
        print(
            f"\nKubernetes {cluster.version}, {free} devices free on each of four rows: on the "
            f"cheapest {few[STEPS[0]]} of 120 replicas, and {many[STEPS[0]]} of 260"
        )
    assert few[STEPS[0]] >= 95
    assert many[STEPS[0]] == free


def count_by_step(pods: list[Json]) -> Counter[str]:
    return Counter((node_of(pod) or "").partition("-")[0] for pod in pods)
