"""A device of a DRA driver dies (semantics H2 d, H7, H8)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import pytest

from tests.cluster.api import Json, path
from tests.cluster.claims.allocated import given
from tests.cluster.claims.devices import NVIDIA
from tests.cluster.claims.fleet import (
    CLASSES,
    DRA,
    device_class,
    fleets_table,
    publishing,
    slices_of,
)
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import GPU
from tests.cluster.health.conftest import nodes
from tests.cluster.health.ward import Ward, uids
from tests.cluster.pods import node_of

_NODE, _OTHER = "mn2b-a100-000", "mn2b-a100-001"
_LOST = {"key": "gpu.nvidia.com/gpu-lost", "effect": "NoSchedule"}
_HINT = {"key": "gpu.nvidia.com/xid", "value": "31", "effect": "None"}


@pytest.fixture(scope="module")
def driver(plane: ControlPlane) -> Iterator[ControlPlane]:
    """Every device of the fleet is offered by a driver as well as by the device plugin."""
    made = device_class()
    plane.api.create(CLASSES, made)
    with publishing(plane.api, slices_of(nodes())):
        yield plane
    plane.api.delete(f"{CLASSES}/{made['metadata']['name']}")


@pytest.fixture
def claims(driver: ControlPlane, ward: Ward) -> Ward:
    """A ward whose devices are claimed."""
    assert driver is ward.plane
    return ward


def _three_on_a_node(ward: Ward) -> tuple[list[Json], str]:
    """Return Pods with claims, and the device of the first."""
    ward.begin("Evict", fleets_table())
    with ward.only(_NODE):
        pods = ward.deployment("web", "gpu-a100", 3)
    (held,) = given(ward.api, ward.namespace)[pods[0]["metadata"]["name"]]
    (device,) = held.devices
    return pods, device


@pytest.mark.rule("H2", "H7", "H8")
def test_the_pod_gets_another_device_when_its_drivers_taint_says_that_it_is_dead(
    claims: Ward,
) -> None:
    ward = claims
    pods, device = _three_on_a_node(ward)
    ward.device_taint(_NODE, device, _LOST)
    if ward.is_old():  # the API server drops the taint
        ward.stays(lambda: uids(ward.pods("web")) == uids(pods), seconds=6)
        return
    took = ward.wait(lambda: ward.replaced("web", pods[:1], 3), "the Pod to run elsewhere")
    print(f"\n{ward.plane.version}: running elsewhere {took:.1f} s after the driver's taint")
    assert took < 10
    (new,) = (one for one in ward.pods("web") if one["metadata"]["uid"] not in uids(pods))
    (got,) = given(ward.api, ward.namespace)[new["metadata"]["name"]]
    assert (node_of(new), got.devices) != (_NODE, (device,))
    assert uids(pods[1:]) < uids(ward.pods("web"))
    assert not ward.taints(_NODE)
    if ward.plane.version == "1.37":  # earlier ones serve no rules by default
        (rule,) = ward.rules()
        assert rule["spec"]["taint"]["effect"] == "NoSchedule"
        assert rule["spec"]["deviceSelector"]["device"] == device
    ward.device_taint(_NODE, device, None)
    ward.wait(lambda: not ward.rules() and not ward.is_suspect(_NODE), "our marks to be gone")


@pytest.mark.rule("H2", "H8")
def test_nobody_is_evicted_from_a_device_that_its_driver_only_wonders_about(
    claims: Ward,
) -> None:
    ward = claims
    pods, device = _three_on_a_node(ward)
    ward.device_taint(_NODE, device, _HINT)
    if not ward.is_old():
        ward.wait(lambda: ward.is_suspect(_NODE), "the node to be suspect")
    ward.stays(lambda: uids(ward.pods("web")) == uids(pods), seconds=6)
    assert ward.actions() == 0


@pytest.mark.rule("H7", "H8")
def test_nobody_is_evicted_from_a_device_that_nothing_fences(claims: Ward) -> None:
    ward = claims
    # The row's share is spent on the first, and nothing recovers meanwhile.
    long = {"after": "1h", "atMost": "1h"}
    ward.begin("Evict", fleets_table(), budget={"percent": 1}, recovery=long)
    found = {}
    for node in (_NODE, _OTHER):
        with ward.only(node):
            (found[node],) = ward.deployment(node, "gpu-a100", 1)
    for node, pod in found.items():
        (its,) = given(ward.api, ward.namespace)[pod["metadata"]["name"]]
        (device,) = its.devices
        claim = pod["spec"]["resourceClaims"][0]["name"]
        told = {f"{NVIDIA}/{node}/{device}": "Unhealthy"}
        ward.resource_health(pod, told, f"claim:{claim}")
        if ward.is_old():  # the API server drops it
            ward.stays(partial(_is_there, ward, pod, node), seconds=5)
        elif node == _NODE:
            ward.wait(lambda: ward.replaced(_NODE, [found[_NODE]], 1), "the first to move")
    if not ward.is_old():
        ward.wait(lambda: "HealthBudget=False" in ward.told(), "the report")
    ward.stays(lambda: _is_there(ward, found[_OTHER], _OTHER), seconds=5)


def _is_there(ward: Ward, pod: Json, app: str) -> bool:
    return uids([pod]) == uids(ward.pods(app))


@pytest.mark.rule("H8")
def test_a_pod_with_an_extended_resource_of_a_driver_runs_elsewhere(
    claims: Ward,
) -> None:
    ward = claims
    if ward.is_old():  # the gate is off: there are no such Pods
        found = ward.api.get(f"{CLASSES}/{NVIDIA}")
        assert "extendedResourceName" not in found["spec"]
        return
    with ward.without_plugin(_NODE), ward.serving_resource():
        ward.begin("Evict")
        with ward.only(_NODE):
            pods = ward.deployment("web", "gpu-a100", 3)
        made = {
            one["metadata"]["ownerReferences"][0]["name"]: one
            for one in ward.api.list(path(DRA, "resourceclaims", namespace=ward.namespace))
        }
        claim = made[pods[0]["metadata"]["name"]]
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        ward.device_taint(_NODE, result["device"], _LOST)
        took = ward.wait(lambda: ward.replaced("web", pods[:1], 3), "the Pod to run elsewhere")
        print(f"\n{ward.plane.version}: {GPU} by a driver: running elsewhere after {took:.1f} s")
        assert took < 10
        assert uids(pods[1:]) < uids(ward.pods("web"))


@pytest.mark.rule("H2", "H3")
def test_a_device_on_which_two_programs_crash_is_left(claims: Ward) -> None:
    ward = claims
    ward.begin("Evict", fleets_table())
    first = _alone_on_the_first_device(ward, "first")
    ward.crash(first)
    ward.looked()
    assert not ward.cases(_NODE)  # one program's crash is that program's
    ward.delete_deployment("first")
    second = _alone_on_the_first_device(ward, "second")
    ward.crash(second)
    ward.wait(lambda: ward.cases(_NODE), "the device to be suspect")
    assert ward.cases(_NODE)[0]["verdict"] == "Suspect"
    for _ in range(2):
        time.sleep(1.1)  # a crash is told to the second
        ward.crash(second)
        ward.looked()
    ward.wait(lambda: ward.replaced("second", [second], 1), "the Pod to run elsewhere")
    assert ward.cases(_NODE)[0]["verdict"] == "Failed"


def _alone_on_the_first_device(ward: Ward, name: str) -> Json:
    with ward.only(_NODE):
        (pod,) = ward.deployment(name, "gpu-a100", 1)
    (held,) = given(ward.api, ward.namespace)[pod["metadata"]["name"]]
    assert held.devices == ("gpu-0",)
    return pod
