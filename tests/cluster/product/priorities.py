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
def priority_class(api: Api, name: str, value: int, *, is_default: bool = False) -> Iterator[None]:
    """A time in which there is such a class, which Pods that name none may be given too."""
    create_priority_class(api, name, value, is_default=is_default)
    try:
        yield
    finally:
        api.delete(path("scheduling.k8s.io/v1", _CLASSES, name))
        if is_default:
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
