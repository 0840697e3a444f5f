"""Which keys of a ResourceQuota count what a spec has become, as each version of Kubernetes has it.

A claim is charged when it is made, so a Pod over its quota is created and waits; one with a device
plugin's resource is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.builders import asking
from tests.cluster.api import ApiError, Json, path, wait_until
from tests.cluster.claims.allocated import wait_given
from tests.cluster.claims.devices import NVIDIA
from tests.cluster.claims.fleet import CLASSES, device_class, fleets_table
from tests.cluster.claims.running import Gpuspec
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import GPU
from tests.cluster.pods import create_pod, events_about

OTHER = "other.example"
SERVED = "served.example/gpu"

EXPLICIT = f"{NVIDIA}.deviceclass.resource.k8s.io/devices"
IMPLICIT = f"requests.deviceclass.resource.kubernetes.io/{NVIDIA}"
OTHERS_EXPLICIT = f"{OTHER}.deviceclass.resource.k8s.io/devices"
OTHERS_IMPLICIT = f"requests.deviceclass.resource.kubernetes.io/{OTHER}"
OTHERS_NAME = f"requests.{SERVED}"
CLAIMS = "count/resourceclaims.resource.k8s.io"
RESOURCE = f"requests.{GPU}"
OUR_KEY = "requests.preferred.jp/gpu-any-24gb"

KEYS = (
    *(EXPLICIT, IMPLICIT, OTHERS_EXPLICIT, OTHERS_IMPLICIT, OTHERS_NAME),
    *(CLAIMS, RESOURCE, OUR_KEY),
)


@pytest.fixture(scope="module")
def other_class(cluster: ControlPlane) -> Iterator[None]:
    """A second DeviceClass, which is also served under the name of an extended resource."""
    cluster.api.create(CLASSES, device_class(OTHER, extendedResourceName=SERVED))
    yield
    cluster.api.delete(f"{CLASSES}/{OTHER}")


def two_classes() -> Json:
    """The fleet's table; the A30 belongs to the second class."""
    table = fleets_table()
    for row in table["spec"]["devices"]:
        if row["name"] == "a30":
            row["claim"]["deviceClassName"] = OTHER
    return table


@pytest.mark.rule("C2")
@pytest.mark.usefixtures("other_class")
def test_every_class_that_a_claim_names_is_charged_whichever_is_taken(
    gpuspec: Gpuspec, namespace: str
) -> None:
    """Two devices of v100-32gb or a100-80gb, of one class, or of a30-24gb, of the other."""
    create_quotas(gpuspec, namespace, dict.fromkeys(KEYS, "9"))
    with gpuspec.serving(two_classes()):
        create_pod(gpuspec.api, namespace, asking(any_24gb=2).build())
        wait_given(gpuspec.api, namespace, "train")
    implicit = "0" if gpuspec.plane.version == "1.35" else "2"
    wait_used(
        gpuspec,
        namespace,
        {
            EXPLICIT: "2",
            OTHERS_EXPLICIT: "2",
            IMPLICIT: implicit,
            OTHERS_IMPLICIT: implicit,
            OTHERS_NAME: implicit,
            CLAIMS: "1",
            RESOURCE: "0",
            OUR_KEY: "0",
        },
    )


@pytest.mark.rule("N1")
def test_a_device_plugins_resource_is_charged_as_ever(gpuspec: Gpuspec, namespace: str) -> None:
    create_quotas(gpuspec, namespace, dict.fromkeys((EXPLICIT, IMPLICIT, CLAIMS, RESOURCE), "2"))
    with gpuspec.serving(fleets_table(output="ExtendedResource")):
        create_pod(gpuspec.api, namespace, asking(any_24gb=2).build())
        with pytest.raises(ApiError) as refused:
            create_pod(gpuspec.api, namespace, asking(any_24gb=1).metadata(name="over").build())
    assert refused.value.message == (
        f'pods "over" is forbidden: exceeded quota: {quota_of(RESOURCE)}, requested: {RESOURCE}=1, '
        f"used: {RESOURCE}=2, limited: {RESOURCE}=2"
    )
    wait_used(gpuspec, namespace, {EXPLICIT: "0", IMPLICIT: "0", CLAIMS: "0", RESOURCE: "2"})


@pytest.mark.rule("C1")
def test_a_pod_over_the_quota_of_its_class_is_created_and_waits(
    gpuspec: Gpuspec, namespace: str
) -> None:
    create_quotas(gpuspec, namespace, {EXPLICIT: "3"})
    create_pod(gpuspec.api, namespace, asking(any_24gb=2).build())
    wait_given(gpuspec.api, namespace, "train")
    create_pod(gpuspec.api, namespace, asking(any_24gb=2).metadata(name="over").build())
    said = wait_until(
        lambda: next((one for one in told(gpuspec, namespace, "over") if "quota" in one), ""),
        timeout=60,
        what="an event about the quota",
    )
    assert said.endswith(
        f" is forbidden: exceeded quota: {quota_of(EXPLICIT)}, requested: {EXPLICIT}=2, "
        f"used: {EXPLICIT}=2, limited: {EXPLICIT}=3"
    )


def told(gpuspec: Gpuspec, namespace: str, name: str) -> list[str]:
    """What the events about a Pod say."""
    return [one["message"] for one in events_about(gpuspec.api, namespace, name)]


def quota_of(key: str) -> str:
    """What the quota with this key is called: a name may not have all its characters."""
    return key.replace("/", ".").lower()


def create_quotas(gpuspec: Gpuspec, namespace: str, hard: Mapping[str, str]) -> None:
    """Create a quota for each key and wait until all are in force.

    One for all of them would be no proof: it is only recalculated when one of its keys asks for it.
    """
    at = path("v1", "resourcequotas", namespace=namespace)
    for key, most in hard.items():
        body = {"metadata": {"name": quota_of(key)}, "spec": {"hard": {key: most}}}
        gpuspec.api.create(at, body)
    wait_used(gpuspec, namespace, dict.fromkeys(hard, "0"))


def wait_used(gpuspec: Gpuspec, namespace: str, used: Mapping[str, str]) -> None:
    """Wait until the quotas' use is this."""
    gpuspec.api.wait_for(
        path("v1", "resourcequotas", namespace=namespace),
        lambda found: used_of(found["items"]) == used,
        timeout=60,
        what=f"the quotas' use to be {used}",
    )


def used_of(quotas: list[Json]) -> dict[str, str]:
    return {key: amount for one in quotas for key, amount in one["status"].get("used", {}).items()}
