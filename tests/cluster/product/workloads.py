"""Workloads as users write them, and the Pods that their controllers make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tests.builders import Json, PodBuilder
from tests.cluster.api import Api, path, wait_until
from tests.cluster.pods import events_about

_PLURALS = {
    "Deployment": ("apps/v1", "deployments"),
    "StatefulSet": ("apps/v1", "statefulsets"),
    "DaemonSet": ("apps/v1", "daemonsets"),
    "Job": ("batch/v1", "jobs"),
}
_STARTED = ("Running", "Succeeded")
_START_SECONDS = 120.0
_EVENT_SECONDS = 60.0


def workload(kind: str, name: str, pod: PodBuilder, **spec: object) -> Json:
    """A workload of such Pods, labelled ``app: <name>``; keywords are more of its spec."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod.build()["spec"]}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    else:
        spec["selector"] = {"matchLabels": labels}
    return {
        "apiVersion": _PLURALS[kind][0],
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def create_workload(api: Api, namespace: str, body: Json) -> Json:
    """Create it; the answer is it as stored."""
    return api.create(workload_path(body["kind"], namespace), body)


def workload_path(kind: str, namespace: str, name: str | None = None) -> str:
    """The path of a workload, or of all of its kind in the namespace."""
    version, plural = _PLURALS[kind]
    return path(version, plural, name, namespace=namespace)


def pods_of(api: Api, namespace: str, app: str) -> list[Json]:
    """The Pods that a workload has now."""
    return api.list(path("v1", "pods", namespace=namespace), labelSelector=f"app={app}")


def wait_pods(api: Api, namespace: str, app: str, count: int) -> list[Json]:
    """A workload's Pods once there are so many and all run, or have run to their end."""

    def there() -> list[Json]:
        pods = pods_of(api, namespace, app)
        return pods if sum(phases(pods)[phase] for phase in _STARTED) == count else []

    return wait_until(
        there,
        timeout=_START_SECONDS,
        what=f"{count} Pods of {app} to run",
        state=lambda: str(phases(pods_of(api, namespace, app))),
        poll=0.2,
    )


def phases(pods: list[Json]) -> Counter[str]:
    """How many Pods are in which phase."""
    return Counter(pod["status"].get("phase", "") for pod in pods)


def wait_event(api: Api, namespace: str, name: str, reason: str) -> str:
    """The message of the first event about an object with this reason."""

    def message() -> str:
        return next(
            (
                event["message"]
                for event in events_about(api, namespace, name)
                if event["reason"] == reason
            ),
            "",
        )

    return wait_until(message, timeout=_EVENT_SECONDS, what=f"an event {reason} about {name}")


def conditions(found: Json) -> Mapping[str, str]:
    """Type and message of an object's conditions."""
    return {one["type"]: one["message"] for one in found["status"].get("conditions", ())}
