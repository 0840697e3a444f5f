"""Pods for tests, and what the scheduler decided about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.cluster.api import Api, Json, path, wait_until

_DECIDED_SECONDS = 60.0


def pod(
    name: str,
    *,
    limits: Mapping[str, str] | None = None,
    tolerations: Sequence[Json] = (),
    **spec: object,
) -> Json:
    """A Pod of one container; further keywords go into its spec (``nodeSelector={…}``)."""
    container: Json = {"name": "main", "image": "example.invalid/image"}
    if limits:
        container["resources"] = {"limits": dict(limits)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "tolerations": list(tolerations), **spec},
    }


def create_pod(api: Api, namespace: str, body: Json) -> Json:
    """Create a Pod; the answer is the Pod as admission left it."""
    return api.create(path("v1", "pods", namespace=namespace), body)


def wait_decided(
    api: Api, namespace: str, names: Sequence[str], *, timeout: float = _DECIDED_SECONDS
) -> dict[str, str | None]:
    """The node of each Pod once the scheduler has tried it; None where it found no node."""
    at = path("v1", "pods", namespace=namespace)

    def decisions() -> dict[str, str | None] | None:
        pods = {item["metadata"]["name"]: item for item in api.list(at)}
        decided = {n: node_of(pods[n]) for n in names if n in pods and was_tried(pods[n])}
        return decided if len(decided) == len(set(names)) else None

    return wait_until(
        decisions, timeout=timeout, what=f"the scheduler's verdict on {len(names)} Pods", poll=0.2
    )


def wait_running(api: Api, namespace: str, name: str) -> Json:
    """The Pod once it runs on a node."""
    at = path("v1", "pods", name, namespace=namespace)
    return api.wait_for(at, lambda found: found["status"].get("phase") == "Running")


def node_of(found: Json) -> str | None:
    """The node that the Pod is bound to."""
    node: str | None = found["spec"].get("nodeName")
    return node


def was_tried(found: Json) -> bool:
    """Whether the Pod has a node, or the scheduler has said that there is none."""
    return node_of(found) is not None or any(
        condition["type"] == "PodScheduled" and condition["status"] == "False"
        for condition in found["status"].get("conditions", ())
    )


def events_about(api: Api, namespace: str, name: str) -> list[Json]:
    """The events that name this object."""
    at = path("v1", "events", namespace=namespace)
    return api.list(at, fieldSelector=f"involvedObject.name={name}")
