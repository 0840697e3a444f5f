"""What a namespace's LimitRange and ResourceQuota make of our key, and of what it becomes."""

from __future__ import annotations

import pytest

from tests.builders import GPU, Json, asking
from tests.cluster.api import ApiError, path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import create_pod
from tests.cluster.product.installation import WEBHOOK

pytestmark = pytest.mark.usefixtures("webhook")


@pytest.mark.rule("A5")
def test_a_limit_range_that_adds_devices_to_every_container_is_named(
    cluster: ControlPlane, namespace: str
) -> None:
    limits = {"limits": [{"type": "Container", "default": {GPU: "1"}}]}
    at = path("v1", "limitranges", namespace=namespace)
    cluster.api.create(at, {"metadata": {"name": "one-gpu-each"}, "spec": limits})
    with pytest.raises(ApiError) as refused:
        create_pod(cluster.api, namespace, asking(any_24gb=1).build())
    assert refused.value.message == (
        f'admission webhook "{WEBHOOK}" denied the request: container "main" asks for '
        "preferred.jp/gpu-any-24gb and for nvidia.com/gpu; keep the spec; if you did not write the "
        "other, a LimitRange of the namespace added it and should not"
    )


@pytest.mark.rule("N1")
def test_a_quota_on_the_real_resource_counts_what_the_spec_became(
    cluster: ControlPlane, namespace: str
) -> None:
    create_quota(cluster, namespace, f"requests.{GPU}", "3")
    create_pod(cluster.api, namespace, asking(any_24gb=2).metadata(name="first").build())
    with pytest.raises(ApiError) as refused:
        create_pod(cluster.api, namespace, asking(any_24gb=2).metadata(name="second").build())
    assert refused.value.message == (
        'pods "second" is forbidden: exceeded quota: devices, requested: requests.nvidia.com/gpu=2,'
        " used: requests.nvidia.com/gpu=2, limited: requests.nvidia.com/gpu=3"
    )
    create_pod(cluster.api, namespace, asking(any_24gb=1).metadata(name="third").build())
    wait_used(cluster, namespace, {f"requests.{GPU}": "3"})


def test_a_quota_on_our_key_never_counts(cluster: ControlPlane, namespace: str) -> None:
    """So it limits nothing: the README says where to put it."""
    never = "requests.preferred.jp/gpu-any-24gb"
    create_quota(cluster, namespace, never, "1")
    for name in ("first", "second"):
        create_pod(cluster.api, namespace, asking(any_24gb=1).metadata(name=name).build())
    # a quota on another resource is counted at the same time, so that this one has had its turn
    cluster.api.patch(quota_path(namespace), {"spec": {"hard": {"pods": "5"}}})
    wait_used(cluster, namespace, {never: "0", "pods": "2"})


def create_quota(cluster: ControlPlane, namespace: str, resource: str, hard: str) -> None:
    """Create a quota and wait until it is in force."""
    body: Json = {"metadata": {"name": "devices"}, "spec": {"hard": {resource: hard}}}
    cluster.api.create(path("v1", "resourcequotas", namespace=namespace), body)
    wait_used(cluster, namespace, {resource: "0"})


def wait_used(cluster: ControlPlane, namespace: str, used: dict[str, str]) -> None:
    cluster.api.wait_for(
        quota_path(namespace),
        lambda quota: quota["status"].get("used") == used,
        timeout=60,
        what=f"the quota's use to be {used}",
    )


def quota_path(namespace: str) -> str:
    return path("v1", "resourcequotas", "devices", namespace=namespace)
