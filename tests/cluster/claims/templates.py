"""Pods as admission leaves them where the table's output is claims, and what they are made from.

Written by hand here: nothing of these tests needs the webhook.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.cluster.api import Api, Json, path, wait_until
from tests.cluster.fleet import fake_node
from tests.cluster.pods import node_of
from webhook.placement.templates import canonical, template_name
from webhook.terms import CLAIMS_ANNOTATION, TEMPLATE_LABEL

CLASS = "gpu.example.com"
DEVICES_PER_NODE = 100

_SECONDS = 60.0


def node(number: int) -> Json:
    """A node of devices of CLASS."""
    return fake_node(f"claims-{number}", labels={}, taints=(), capacity={"cpu": "64"})


def offer(number: int) -> Json:
    """The devices of a node."""
    name = f"claims-{number}"
    devices = [{"name": f"gpu-{device}"} for device in range(DEVICES_PER_NODE)]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": CLASS, "nodeName": name, "pool": pool, "devices": devices}
    return {"metadata": {"name": name}, "spec": spec}


def spec_of(device: int | None = None, device_class: str = CLASS, count: int = 1) -> Json:
    """What a claim asks for: any device of the driver, or, to have a content of its own, another.

    It never runs out: the expression only excludes one device.
    """
    expression = f'device.driver == "{CLASS}"' + (f" && {device} == {device}" if device else "")
    asked = {
        "deviceClassName": device_class,
        "selectors": [{"cel": {"expression": expression}}],
        "allocationMode": "ExactCount",
        "count": count,
    }
    return {"devices": {"requests": [{"name": "gpu", "exactly": asked}]}}


def claim_pod(name: str, spec: Json, *, annotation: str | None = None, **more: object) -> Json:
    """A Pod of one claim; another annotation forges it."""
    template = template_name(spec)
    container = {"name": "main", "image": "x", "resources": {"claims": [{"name": "gpuspec-main"}]}}
    claim = {"name": "gpuspec-main", "resourceClaimTemplateName": template}
    text = canonical({template: spec}) if annotation is None else annotation
    return {
        "metadata": {"name": name, "annotations": {CLAIMS_ANNOTATION: text}},
        "spec": {"containers": [container], "resourceClaims": [claim], **more},
    }


def create(api: Api, namespace: str, *pods: Json) -> None:
    """Create Pods."""
    for one in pods:
        api.create(path("v1", "pods", namespace=namespace), one)


def wait_bound(api: Api, namespace: str, count: int, *, timeout: float = _SECONDS) -> None:
    """Wait until so many Pods have a node."""
    at = path("v1", "pods", namespace=namespace)

    def bound() -> int:
        return sum(node_of(one) is not None for one in api.list(at))

    wait_until(
        lambda: bound() == count,
        timeout=timeout,
        what=f"{count} Pods of {namespace} to be bound",
        state=lambda: f"{bound()} are; templates: {templates(api, namespace)}",
        poll=0.1,
    )


def templates_path(namespace: str) -> str:
    """Where a namespace's templates are."""
    return path("resource.k8s.io/v1", "resourceclaimtemplates", namespace=namespace)


def templates(api: Api, namespace: str) -> list[str]:
    """The names of our templates in a namespace."""
    found = api.list(templates_path(namespace), labelSelector=TEMPLATE_LABEL)
    return [one["metadata"]["name"] for one in found]


def wait_templates(api: Api, namespace: str, names: Sequence[str]) -> None:
    """Wait until these are our templates in a namespace, and no others."""
    wait_until(
        lambda: sorted(templates(api, namespace)) == sorted(names),
        timeout=_SECONDS,
        what=f"the templates of {namespace} to be {list(names)}",
        state=lambda: str(templates(api, namespace)),
    )


def told(api: Api, namespace: str) -> dict[str, list[str]]:
    """What Pods were told about their templates, by name."""
    found: dict[str, list[str]] = {}
    at = path("v1", "events", namespace=namespace)
    for event in api.list(at, fieldSelector="reason=ClaimTemplateMissing"):
        found.setdefault(event["involvedObject"]["name"], []).append(event["message"])
    return found
