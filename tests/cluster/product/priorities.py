"""PriorityClasses that come into force and go again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.api import Api, ApiError, Json, path, wait_until

HIGH = "high"
"""The class that the example table names; its number means nothing there."""

HIGH_VALUE = 1000

_CLASSES = "priorityclasses"
_SEEN_SECONDS = 30.0


def create_priority_class(api: Api, name: str, value: int, *, is_default: bool = False) -> None:
    """Create a class, preempting nobody, and wait until Pods are given it."""
    body = {
        "metadata": {"name": name},
        "value": value,
        "globalDefault": is_default,
        "preemptionPolicy": "Never",
    }
    api.create(path("scheduling.k8s.io/v1", _CLASSES), body)
    _wait_for_priority(api, {} if is_default else {"priorityClassName": name}, value)


@contextmanager
def default_priority_class(api: Api, name: str, value: int) -> Iterator[None]:
    """A time in which Pods that name no class get this one."""
    create_priority_class(api, name, value, is_default=True)
    try:
        yield
    finally:
        api.delete(path("scheduling.k8s.io/v1", _CLASSES, name))
        _wait_for_priority(api, {}, 0)


def _wait_for_priority(api: Api, spec: Json, value: int) -> None:
    container = {"name": "main", "image": "x"}
    body = {"metadata": {"name": "probe"}, "spec": {"containers": [container], **spec}}
    pods = path("v1", "pods", namespace="default")

    def given() -> int | None:
        try:
            priority: int = api.create(pods, body, dryRun="All")["spec"]["priority"]
        except ApiError:  # no such class yet
            return None
        return priority

    wait_until(
        lambda: given() == value,
        timeout=_SEEN_SECONDS,
        what=f"Pods to have priority {value}",
        state=lambda: f"they have {given()}",
    )
