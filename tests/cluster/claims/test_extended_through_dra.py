"""Devices that DRA serves under an extended resource's name: rows of that output work unchanged.

By default from 1.36 on. Before, such a Pod waits: there is nobody who counts the resource.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from selection_spec.table import load_table
from tests.builders import Json, asking, make_pod, make_row, tolerate
from tests.cluster.api import path
from tests.cluster.claims.allocated import claims_in
from tests.cluster.claims.fleet import CLASSES, device_class, fleets_table, publishing, slices_with
from tests.cluster.claims.running import Gpuspec
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import GPU, fake_node
from tests.cluster.nodes import create_nodes
from tests.cluster.pods import create_pod, wait_decided
from webhook.inventory.claim_facts import claim_facts
from webhook.inventory.claims import offered
from webhook.inventory.holders import holders
from webhook.inventory.pod_facts import pod_facts

LABEL = "example.com/served-by-dra"
CLASS = "extended.example"
NODES = {"served-v100": "v100-16gb", "served-a30": "a30-24gb", "served-a100": "a100-80gb"}
DEVICES = 4
WITHOUT = "1.35"


@pytest.fixture(scope="module")
def served(cluster: ControlPlane) -> Iterator[None]:
    """A node of each model without a device plugin, and the class that names the resource."""
    nodes = [
        fake_node(
            name,
            labels={LABEL: model},
            taints=[{"key": LABEL, "value": model, "effect": "NoSchedule"}],
        )
        for name, model in NODES.items()
    ]
    cluster.api.create(CLASSES, device_class(CLASS, extendedResourceName=GPU))
    create_nodes(cluster.api, nodes)
    published = [
        one for name, model in NODES.items() for one in slices_with(name, {model: DEVICES})
    ]
    with publishing(cluster.api, published):
        yield
    for name in NODES:
        cluster.api.delete(path("v1", "nodes", name))
    cluster.api.delete(f"{CLASSES}/{CLASS}")


def table() -> Json:
    """Rows of output ExtendedResource, as on any other cluster."""
    rows = [
        make_row(
            model,
            perNode=DEVICES,
            cost=cost,
            nodes={"matchLabels": {LABEL: model}},
            tolerations=[tolerate(LABEL, model)],
        )
        for cost, model in enumerate(NODES.values())
    ]
    return fleets_table(devices=rows, output="ExtendedResource")


CASES = {
    "any-24gb": (asking(any_24gb=2).build(), "served-a30", [2]),
    "any-24gb-high": (asking(any_24gb=2).high().build(), "served-a30", [2]),
    "any-40gb": (asking(any_40gb=4).build(), "served-a100", [4]),
    "two": (
        make_pod().container("one", v100=1).container("two", any=3).build(),
        "served-v100",
        [1, 3],
    ),
}


@pytest.mark.rule("N1", "N2", "N5")
@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("name", CASES)
def test_rows_of_extended_resources_work_unchanged(
    gpuspec: Gpuspec, namespace: str, name: str
) -> None:
    body, node, counts = CASES[name]
    with gpuspec.serving(table()):
        stored = create_pod(gpuspec.api, namespace, body)
        limits = [int(one["resources"]["limits"][GPU]) for one in stored["spec"]["containers"]]
        assert limits == counts
        assert "resourceClaims" not in stored["spec"]
        decided = wait_decided(gpuspec.api, namespace, ["train"])
    if gpuspec.plane.version == WITHOUT:
        assert decided == {"train": None}
        assert claims_in(gpuspec.api, namespace) == []
        return
    assert decided == {"train": node}
    (claim,) = claims_in(gpuspec.api, namespace)
    results = claim["status"]["allocation"]["devices"]["results"]
    assert {one["pool"] for one in results} == {node}
    assert len({one["device"] for one in results}) == sum(counts)
    # Its claim holds them, and nobody counts them once more by the resource.
    pod = pod_facts(gpuspec.api.get(f"/api/v1/namespaces/{namespace}/pods/train"))
    held = filter(None, [claim_facts(claim)])
    found = holders([pod], offered((), claims=held), load_table(json.dumps(table())).rows)
    assert (pod.devices, pod.by_claim, found.pods) == ({GPU: sum(counts)}, (GPU,), {})
    assert found.on(node, GPU) == sum(counts)
