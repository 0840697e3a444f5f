"""Nodes that carry devices of several rows, and the switch that lets one Pod have them (D1)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.builders import make_pod
from tests.cluster.api import ApiError, path
from tests.cluster.claims.allocated import given, wait_given, wait_judged
from tests.cluster.claims.fleet import fleets_table, publishing, slices_with
from tests.cluster.claims.running import Gpuspec
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import fake_node
from tests.cluster.nodes import create_nodes
from tests.cluster.pods import create_pod
from tests.cluster.product.installation import WEBHOOK

NODE = "mixed-000"
BOTH = make_pod().container("big", a100=1).container("small", a30=2)


@pytest.fixture(scope="module")
def mixed_node(cluster: ControlPlane) -> Iterator[None]:
    """A node with two A100, and two A30 after them."""
    create_nodes(cluster.api, [fake_node(NODE)])
    with publishing(cluster.api, slices_with(NODE, {"a100-80gb": 2, "a30-24gb": 2})):
        yield
    cluster.api.delete(path("v1", "nodes", NODE))


@pytest.mark.rule("D1")
@pytest.mark.usefixtures("mixed_node")
def test_with_mixed_nodes_each_container_gets_its_own_model_on_one_node(
    gpuspec: Gpuspec, namespace: str
) -> None:
    with gpuspec.serving(fleets_table(mixedNodes=True)):
        create_pod(gpuspec.api, namespace, BOTH.build())
        found = {one.name: one for one in wait_given(gpuspec.api, namespace, "train")}
    assert {one.node for one in found.values()} == {NODE}
    assert found["gpuspec-big"].devices in {("gpu-0",), ("gpu-1",)}
    assert found["gpuspec-small"].devices == ("gpu-2", "gpu-3")


@pytest.mark.rule("D1", "D2")
@pytest.mark.usefixtures("mixed_node")
def test_with_mixed_nodes_each_claim_is_held_against_a_node(
    gpuspec: Gpuspec, namespace: str
) -> None:
    """Two claims of 5 are no Pod for a node of 6: it is let in, and waits."""
    body = make_pod().container("one", a30=5).container("two", a30=5).build()
    with gpuspec.serving(fleets_table(mixedNodes=True)):
        create_pod(gpuspec.api, namespace, body)
        wait_judged(gpuspec.api, namespace, ["train"])
        assert given(gpuspec.api, namespace) == {"train": ()}


@pytest.mark.rule("D1")
@pytest.mark.usefixtures("mixed_node")
@pytest.mark.parametrize("order", [1, -1], ids=["", "the other way round"])
def test_without_mixed_nodes_it_is_refused_whatever_nodes_there_are(
    gpuspec: Gpuspec, namespace: str, order: int
) -> None:
    body = BOTH.build()
    body["spec"]["containers"] = body["spec"]["containers"][::order]
    specs = ['container "big" (gpu-a100)', 'container "small" (gpu-a30)'][::order]
    with pytest.raises(ApiError) as refused:
        create_pod(gpuspec.api, namespace, body)
    assert refused.value.message == (
        f'admission webhook "{WEBHOOK}" denied the request: {" and ".join(specs)}: no '
        "device meets them all, and a Pod runs on one node; ask for one kind of device, or use "
        "several Pods"
    )
