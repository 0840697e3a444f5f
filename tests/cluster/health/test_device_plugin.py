"""One device of a device plugin dies (semantics H2 c, e; H7; H8)."""

from __future__ import annotations

import pytest

from tests.cluster.api import Json
from tests.cluster.health.ward import Ward
from tests.cluster.pods import node_of

_NODE = "mn2a-v100-32-000"


@pytest.mark.rule("H2", "H7", "H8")
def test_the_pod_on_a_dead_device_runs_elsewhere_and_its_neighbours_stay(ward: Ward) -> None:
    ward.begin("Evict")
    with ward.only(_NODE):
        pods = ward.deployment("web", "gpu-v100-32gb", 8)
    assert {node_of(one) for one in pods} == {_NODE}
    for number, one in enumerate(pods):
        ward.resource_health(one, {f"GPU-{number}": "Unhealthy" if number == 0 else "Healthy"})
    ward.allocatable(_NODE, 7)
    took = ward.wait(lambda: ward.replaced("web", pods[:1], 8), "the Pod to run elsewhere")
    print(f"\n{ward.plane.version}: running elsewhere {took:.1f} s after the device died")
    assert took < 10
    (new,) = (one for one in ward.pods("web") if one["metadata"]["uid"] not in uids(pods))
    assert node_of(new) != _NODE
    assert uids(ward.pods("web")) == uids(pods[1:]) | uids([new])
    assert not ward.taints(_NODE)
    ward.wait(lambda: ward.is_suspect(_NODE), "the node to be suspect")


def uids(pods: list[Json]) -> set[str]:
    return {one["metadata"]["uid"] for one in pods}
