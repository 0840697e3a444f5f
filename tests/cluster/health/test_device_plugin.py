"""Devices of a device plugin die, or seem to (semantics H2 c, e; H7; H8)."""

from __future__ import annotations

import pytest

from tests.cluster.health.ward import Ward, uids
from tests.cluster.live import tables
from tests.cluster.pods import node_of

_NODE = "mn2a-v100-32-000"


@pytest.mark.rule("H2", "H7", "H8")
def test_the_pod_on_a_dead_device_runs_elsewhere_and_its_neighbours_stay(ward: Ward) -> None:
    ward.begin("Evict")
    pods = ward.eight_on(_NODE)
    ward.tell(pods, 0)
    ward.allocatable(_NODE, 7)
    if ward.is_old():
        # Nothing tells which Pod holds it.
        ward.wait(lambda: ward.is_suspect(_NODE), "the node to be suspect")
        ward.stays(lambda: uids(ward.pods("web")) == uids(pods), seconds=8)
        health = tables.condition(ward.api, "Health")
        assert health["reason"] == "SignalsMissing"
        assert "allocatedResourcesStatus of Pods" in health["message"]
        return
    took = ward.wait(lambda: ward.replaced("web", pods[:1], 8), "the Pod to run elsewhere")
    print(f"\n{ward.plane.version}: running elsewhere {took:.1f} s after the device died")
    assert took < 10
    (new,) = (one for one in ward.pods("web") if one["metadata"]["uid"] not in uids(pods))
    assert node_of(new) != _NODE
    assert uids(ward.pods("web")) == uids(pods[1:]) | uids([new])
    assert not ward.taints(_NODE)
    ward.wait(lambda: ward.is_suspect(_NODE), "the node to be suspect")


@pytest.mark.rule("H2", "H7")
def test_a_device_that_a_kubelet_hands_out_although_it_is_unhealthy_costs_the_node(
    ward: Ward,
) -> None:
    ward.begin("Evict")
    pods = ward.eight_on(_NODE)
    ward.tell(pods, 0)
    if ward.is_old():
        ward.stays(lambda: not ward.taints(_NODE), seconds=5)
        return
    ward.wait(lambda: ward.taints(_NODE), "the taint")
    ward.wait(lambda: ward.replaced("web", pods[:1], 8), "the Pod to run elsewhere")
    assert uids(pods[1:]) < uids(ward.pods("web"))
