"""What rows of output ResourceClaim have follows ResourceSlices, claims and DeviceClasses."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from selection_spec.availability import Availability, RowStatus
from tests.cluster.api import Json, path, wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.live import tables
from tests.cluster.live.tables import shows
from tests.cluster.pods import create_pod, pod, wait_decided
from tests.cluster.versions import ON_NEWEST
from webhook.serving.live_status import live_status
from webhook.terms import CLASSES_PATH, SLICES_PATH

pytestmark = ON_NEWEST

DRIVER = "gpu.example.com"


@pytest.fixture
def own_driver(known: ControlPlane) -> Iterator[ControlPlane]:
    """A table whose A30 row is of output ResourceClaim, and the DeviceClass that it asks for."""
    api = known.api
    claim = {"deviceClassName": DRIVER, "driver": DRIVER, "products": ["NVIDIA A30"]}
    device_class = {"metadata": {"name": DRIVER}, "spec": {}}
    api.create(CLASSES_PATH, device_class)
    tables.apply(api, tables.with_row("a30-24gb", output="ResourceClaim", claim=claim))
    yield known
    for one in api.list(SLICES_PATH):
        api.delete(f"{SLICES_PATH}/{one['metadata']['name']}")
    if api.find(f"{CLASSES_PATH}/{DRIVER}") is not None:
        api.delete(f"{CLASSES_PATH}/{DRIVER}")


@pytest.mark.rule("D7")
def test_rows_of_claims_are_counted_from_slices_and_claims(
    own_driver: ControlPlane, namespace_of: str, kubernetes: str
) -> None:
    api = own_driver.api
    # Before 1.36 the API server drops the taints of devices.
    tainted = 0 if kubernetes == "1.35" else 2
    shows(own_driver, "a30-24gb", nodes=5, devices=0, usable=0, free=0, claimDevices=0)
    node, other, third = (f"mn2b-a30-{number}" for number in ("000", "010", "020"))
    api.create(SLICES_PATH, _slice(node, devices=4))
    shows(own_driver, "a30-24gb", devices=4, usable=4, mostUsableOnANode=4, free=4)

    # Of a new generation the first half: the pool has nothing until the second is there too.
    api.create(SLICES_PATH, _slice(node, devices=1, generation=2, of=2))
    shows(own_driver, "a30-24gb", devices=0, usable=0, free=0)
    api.create(SLICES_PATH, _slice(node, devices=2, generation=2, of=2, part=1))
    shows(own_driver, "a30-24gb", devices=3, usable=3, mostUsableOnANode=3, free=3)

    api.create(SLICES_PATH, _slice(other, devices=2, taint="NoSchedule"))
    shows(own_driver, "a30-24gb", devices=5, usable=5 - tainted, free=5 - tainted)

    api.create(SLICES_PATH, _slice(third, devices=2))
    shows(own_driver, "a30-24gb", devices=7, usable=7 - tainted, free=7 - tainted)
    api.patch(path("v1", "nodes", third), {"spec": {"unschedulable": True}})
    shows(own_driver, "a30-24gb", devices=7, usable=5 - tainted, free=5 - tainted)
    api.patch(path("v1", "nodes", third), {"spec": {"unschedulable": None}})

    claims = f"/apis/resource.k8s.io/v1/namespaces/{namespace_of}/resourceclaims"
    exactly = {"deviceClassName": DRIVER, "count": 2}
    requests = [{"name": "gpu", "exactly": exactly}]
    api.create(claims, {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}})
    taint = {"key": "gpu-model", "operator": "Exists"}
    uses = pod("one", tolerations=[taint], resourceClaims=[{"name": "c", "resourceClaimName": "c"}])
    create_pod(api, namespace_of, uses)
    wait_decided(api, namespace_of, ["one"])
    shows(own_driver, "a30-24gb", devices=7, usable=7 - tainted, free=5 - tainted)
    api.delete(path("v1", "pods", "one", namespace=namespace_of), gracePeriodSeconds="0")
    shows(own_driver, "a30-24gb", devices=7, usable=7 - tainted, free=7 - tainted)


@pytest.mark.rule("C3")
def test_a_device_class_that_goes_and_comes_back(own_driver: ControlPlane) -> None:
    api = own_driver.api
    api.create(SLICES_PATH, _slice("mn2b-a30-000", devices=6))
    shows(own_driver, "a30-24gb", devices=6)

    def availability() -> Availability:
        status = tables.status(api)
        return live_status(status).of_table(status["digest"], datetime.now(UTC))

    assert availability().missing_classes == frozenset()
    assert availability().rows["a30-24gb"] == RowStatus(6, 6)
    api.delete(f"{CLASSES_PATH}/{DRIVER}")
    wait_until(
        lambda: availability().missing_classes == {DRIVER},
        timeout=tables.SEEN_SECONDS,
        what="the DeviceClass to be missed",
        state=lambda: str(tables.status(api)),
    )
    missed = f"DeviceClass {DRIVER} does not exist; there is none"
    assert missed in tables.row(api, "a30-24gb")["problems"]
    api.create(CLASSES_PATH, {"metadata": {"name": DRIVER}, "spec": {}})
    wait_until(
        lambda: availability().missing_classes == frozenset(),
        timeout=tables.SEEN_SECONDS,
        what="the DeviceClass to be back",
        state=lambda: str(tables.status(api)),
    )
    assert missed not in tables.row(api, "a30-24gb")["problems"]


def _slice(  # noqa: PLR0913 - one a field
    node: str, *, devices: int, generation: int = 1, of: int = 1, part: int = 0, taint: str = ""
) -> Json:
    """A30s of a node's pool."""
    attributes = {"productName": {"string": "NVIDIA A30"}, "type": {"string": "gpu"}}
    taints = [{"key": f"{DRIVER}/xid", "value": "79", "effect": taint}] if taint else []
    return {
        "metadata": {"name": f"{node}-{generation}-{part}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": generation, "resourceSliceCount": of},
            "devices": [
                {
                    "name": f"gpu-{part}-{number}",
                    "attributes": attributes,
                    "capacity": {"memory": {"value": "24Gi"}},
                    **({"taints": taints} if taints else {}),
                }
                for number in range(devices)
            ],
        },
    }
