"""Devices of a device plugin die, or seem to (semantics H2 c, e; H7; H8)."""

from __future__ import annotations

import pytest

from tests.cluster.api import Json, path
from tests.cluster.health.ward import Ward, uids
from tests.cluster.live import tables
from tests.cluster.pods import node_of
from tests.cluster.versions import ON_NEWEST

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


@pytest.mark.rule("H7", "H8", "H10")
@ON_NEWEST
@pytest.mark.parametrize(
    "mode", ["Evict", "Quarantine"], ids=["after the Pod left", "while the Pod is there"]
)
def test_a_node_is_free_again_once_its_kubelet_withholds_the_device(ward: Ward, mode: str) -> None:
    ward.begin(mode)
    pods = ward.eight_on(_NODE)
    ward.tell(pods, 0)
    tainted = ward.wait(lambda: ward.taints(_NODE), "the taint")
    if mode == "Evict":
        ward.wait(lambda: ward.replaced("web", pods[:1], 8), "the Pod to run elsewhere")
    ward.allocatable(_NODE, 7)
    freed = ward.wait(lambda: not ward.taints(_NODE), "the taint to be gone")
    ward.use("Evict")
    ward.wait(lambda: ward.replaced("web", pods[:1], 8), "the Pod to run elsewhere")
    print(f"\ntaint {tainted:.1f} s after the Pod was told, gone {freed:.1f} s after withholding")
    ward.stays(lambda: not ward.taints(_NODE), seconds=5)
    assert ward.actions(action="taint", result="done") == 1
    assert ward.actions(action="evict", result="done") == 1
    assert uids(pods[1:]) < uids(ward.pods("web"))
    assert ward.is_suspect(_NODE)
    with ward.only(_NODE):
        ward.api.delete(_at(pods[1]))
        ward.wait(lambda: ward.replaced("web", pods[:2], 8), "its successor to run")
    assert len(_on_node(ward)) == 7


def _at(pod: Json) -> str:
    return path("v1", "pods", pod["metadata"]["name"], namespace=pod["metadata"]["namespace"])


def _on_node(ward: Ward) -> list[Json]:
    return [one for one in ward.pods("web") if node_of(one) == _NODE]
