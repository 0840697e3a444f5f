"""After its creation a Pod is none of our business, whatever is done to it (semantics R1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.builders import Json, asking, make_pod
from tests.cluster.api import path, wait_until
from tests.cluster.configuration import webhook_configuration
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import create_pod, wait_running
from tests.cluster.product.installation import ADMISSION, Installation
from tests.cluster.versions import ON_NEWEST

pytestmark = ON_NEWEST

FINALIZER = "example.com/keep"


def update(cluster: ControlPlane, at: str) -> None:
    pod = cluster.api.get(at)
    pod["metadata"].setdefault("labels", {})["team"] = "blue"
    assert cluster.api.replace(at, pod)["metadata"]["labels"]["team"] == "blue"


def debug(cluster: ControlPlane, at: str) -> None:
    *_, namespace, _, name = at.split("/")
    cluster.kubectl("debug", "-n", namespace, name, "--image=x", "--profile=general")
    assert len(cluster.api.get(at)["spec"]["ephemeralContainers"]) == 1


def resize(cluster: ControlPlane, at: str) -> None:
    statuses = cluster.api.get(at)["status"]["containerStatuses"]
    able = [
        one | {"resources": {"requests": {"cpu": "1"}}} for one in statuses
    ]  # as a kubelet says
    cluster.api.patch(f"{at}/status", {"status": {"containerStatuses": able}})
    container = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    patch = {"spec": {"containers": [container]}}
    (main,) = cluster.api.patch(f"{at}/resize", patch, kind="strategic")["spec"]["containers"]
    assert main["resources"]["requests"]["cpu"] == "2"


def report_status(cluster: ControlPlane, at: str) -> None:
    patch = {"status": {"message": "hello"}}
    assert cluster.api.patch(f"{at}/status", patch)["status"]["message"] == "hello"


def evict(cluster: ControlPlane, at: str) -> None:
    name = at.rpartition("/")[2]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    cluster.api.create(f"{at}/eviction", body)
    wait_gone(cluster, at)


def delete(cluster: ControlPlane, at: str) -> None:
    cluster.api.delete(at)
    wait_gone(cluster, at)


def wait_gone(cluster: ControlPlane, at: str) -> None:
    wait_until(lambda: cluster.api.find(at) is None, timeout=60, what=f"{at} to be gone")


@pytest.mark.rule("R1")
@pytest.mark.parametrize("change", [update, debug, resize, report_status, evict, delete])
def test_a_translated_pod_changes_without_us(
    cluster: ControlPlane,
    webhook: Installation,
    namespace: str,
    change: Callable[[ControlPlane, str], None],
) -> None:
    create_pod(cluster.api, namespace, translated_pod())
    wait_running(cluster.api, namespace, "train")
    before = webhook.service.reviews()
    change(cluster, path("v1", "pods", "train", namespace=namespace))
    assert webhook.service.reviews() == before


@pytest.mark.rule("R1")
def test_a_pod_from_before_the_installation_can_be_changed_and_deleted(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    """It has a key that would be refused today, and a finalizer, so it goes by an update."""
    at = old_pod(cluster, webhook, namespace)
    before = webhook.service.reviews()
    use_up(cluster, at)
    assert webhook.service.reviews() == before


@pytest.mark.rule("R1")
def test_asked_about_everything_we_only_speak_at_a_creation(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    """Somebody has edited the configuration: all operations, all subresources, no conditions."""
    old = old_pod(cluster, webhook, namespace)
    with asked_about_everything(cluster, webhook, namespace):
        before = webhook.service.reviews()
        use_up(cluster, old)
        pods = path("v1", "pods", namespace=namespace)
        create_pod(cluster.api, namespace, translated_pod())
        wait_running(cluster.api, namespace, "train")
        for change in (update, debug, resize, report_status, evict):
            change(cluster, f"{pods}/train")
    met = webhook.service.reviews() - before
    assert met.pop(("patched", "Translated")) == 1
    assert met.pop(("unchanged", "OtherOperation")) >= 10
    assert not met


def translated_pod() -> Json:
    return make_pod().container("main", {"preferred.jp/gpu-any-24gb": "1"}, {"cpu": "1"}).build()


def old_pod(cluster: ControlPlane, webhook: Installation, namespace: str) -> str:
    """The path of a Pod that was created when there was no webhook and no guard."""
    old = asking(no_such_device=1).metadata(name="old", finalizers=[FINALIZER])
    with webhook.removed():
        create_pod(cluster.api, namespace, old.build())
    return path("v1", "pods", "old", namespace=namespace)


def use_up(cluster: ControlPlane, at: str) -> None:
    """Change a Pod with a finalizer and delete it."""
    update(cluster, at)
    report_status(cluster, at)
    cluster.api.delete(at, gracePeriodSeconds="0")
    assert "deletionTimestamp" in cluster.api.get(at)["metadata"]
    cluster.api.patch(at, {"metadata": {"finalizers": None}})
    wait_gone(cluster, at)


@contextmanager
def asked_about_everything(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> Iterator[None]:
    """A time in which the service is asked about whatever happens to the namespace's Pods."""
    name = "zz-everything"
    configuration = webhook_configuration(webhook.service.port, webhook.service.ca_bundle)
    configuration["metadata"] = {"name": name}
    (entry,) = configuration["webhooks"]
    del entry["matchConditions"]
    entry["rules"] = [
        {
            "apiGroups": [""],
            "apiVersions": ["*"],
            "resources": ["pods", "pods/*"],
            "operations": ["*"],
        }
    ]
    entry["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    configurations = path(ADMISSION, "mutatingwebhookconfigurations")
    cluster.api.create(configurations, configuration)
    try:
        wait_until(lambda: is_asked(cluster, webhook, namespace), timeout=60, what=f"{name} to act")
        yield
    finally:
        cluster.api.delete(f"{configurations}/{name}")


def is_asked(cluster: ControlPlane, webhook: Installation, namespace: str) -> bool:
    """Whether the service is asked about a Pod that is none of its business."""
    before = webhook.service.reviews()
    pods = path("v1", "pods", namespace=namespace)
    cluster.api.create(pods, make_pod().container("main").build(), dryRun="All")
    return webhook.service.reviews() != before
