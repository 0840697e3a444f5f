"""Devices of a device plugin die, or seem to (semantics H2 c, e; H7; H8)."""

from __future__ import annotations

import pytest

from tests.cluster.api import Json
from tests.cluster.fleet import GPU
from tests.cluster.health.ward import Ward, uids
from tests.cluster.live import tables
from tests.cluster.pods import node_of

_NODE = "mn2a-v100-32-000"
_ROW = [f"mn2a-v100-32-{number:03d}" for number in range(10)]


def _eight_on_a_node(ward: Ward) -> list[Json]:
    with ward.only(_NODE):
        pods = ward.deployment("web", "gpu-v100-32gb", 8)
    assert {node_of(one) for one in pods} == {_NODE}
    return pods


def _tell(ward: Ward, pods: list[Json], *unhealthy: int) -> None:
    for number, one in enumerate(pods):
        health = "Unhealthy" if number in unhealthy else "Healthy"
        ward.resource_health(one, {f"GPU-{number}": health})


@pytest.mark.rule("H2", "H7", "H8")
def test_the_pod_on_a_dead_device_runs_elsewhere_and_its_neighbours_stay(ward: Ward) -> None:
    ward.begin("Evict")
    pods = _eight_on_a_node(ward)
    _tell(ward, pods, 0)
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
    pods = _eight_on_a_node(ward)
    _tell(ward, pods, 0)
    if ward.is_old():
        ward.stays(lambda: not ward.taints(_NODE), seconds=5)
        return
    ward.wait(lambda: ward.taints(_NODE), "the taint")
    ward.wait(lambda: ward.replaced("web", pods[:1], 8), "the Pod to run elsewhere")
    assert uids(pods[1:]) < uids(ward.pods("web"))


@pytest.mark.rule("H2")
def test_a_node_without_any_device_is_quarantined_only_with_a_second_signal(ward: Ward) -> None:
    ward.begin("Evict")
    pods = _eight_on_a_node(ward)
    ward.allocatable(_NODE, 0)
    _tell(ward, pods, *range(8))
    ward.stays(lambda: not ward.taints(_NODE) and len(ward.pods("web")) == 8, seconds=8)
    assert uids(ward.pods("web")) == uids(pods)
    ward.condition(_NODE, "GPUMissing", "True")
    ward.wait(lambda: ward.taints(_NODE), "the taint")
    ward.wait(lambda: ward.replaced("web", pods, 8), "the Pods to run elsewhere")


@pytest.mark.rule("H2", "H3")
def test_a_device_plugin_that_restarts_all_over_a_row_does_nothing(ward: Ward) -> None:
    ward.begin("Evict")
    pods = ward.deployment("web", "gpu-v100-32gb", 20)
    for node in _ROW:
        ward.allocatable(node, 0)
        for number, one in enumerate(pods):
            if node_of(one) == node:
                ward.resource_health(one, {f"GPU-{number}": "Unhealthy"}, GPU)
    ward.looked()
    ward.stays(lambda: not any(map(ward.taints, _ROW)), seconds=4)
    for node in _ROW:
        ward.allocatable(node, 8)
    _tell(ward, pods)
    ward.stays(lambda: not any(map(ward.taints, _ROW)), seconds=6)
    assert uids(ward.pods("web")) == uids(pods)
    assert ward.actions() == 0
    assert not any(map(ward.is_suspect, _ROW))
