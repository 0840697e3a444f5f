"""Which models Pods are on, and times in which a model's nodes take no more Pods.

The scheduler learns of a changed node or a removed Pod a moment after the API server has answered,
so each such time begins and ends when the scheduler has shown that it knows.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

from tests.cluster.api import Api, Json, WaitError, path, wait_until
from tests.cluster.fleet import GPU, MODEL_LABEL, fleet, model_taint
from tests.cluster.namespaces import create_namespace, empty_namespace
from tests.cluster.nodes import wait_nodes_ready
from tests.cluster.pods import create_pod, node_of, pod, wait_decided, was_tried
from tests.matcher import admits

JOB_LABEL = "batch.kubernetes.io/job-name"

_HOSTNAME = "kubernetes.io/hostname"
_MARK = "example.com/mark"
_NODE_WITHOUT_GPU = "mn3-000"
_PARALLEL = 16
_SEEN_SECONDS = 60.0
_PLACED_SECONDS = 60.0
# Nothing that a test creates may push such Pods aside.
_TOP_PRIORITY = "system-node-critical"


@cache
def _models() -> Mapping[str, str | None]:
    return {
        node["metadata"]["name"]: node["metadata"]["labels"].get(MODEL_LABEL) for node in fleet()
    }


def model_of(node: str) -> str | None:
    """The model of a node of the fleet, None where it has no GPU."""
    return _models()[node]


def nodes_of(model: str) -> list[str]:
    """The names of a model's nodes, in order."""
    return sorted(name for name, one in _models().items() if one == model)


def admitting_models(stored: Json) -> set[str | None]:
    """The models whose nodes admit a Pod, room aside (see :mod:`tests.matcher`)."""
    return {model_of(node["metadata"]["name"]) for node in fleet() if admits(node, stored)}


def placements(api: Api, namespace: str) -> dict[str, str | None]:
    """The model of each Pod that the scheduler has tried; None where it found no node.

    The Pod of a Job goes by the Job's name. One on a node without GPUs fails the test at once.
    """
    placed: dict[str, str | None] = {}
    for found in api.list(path("v1", "pods", namespace=namespace)):
        if was_tried(found):
            metadata, node = found["metadata"], node_of(found)
            who = metadata.get("labels", {}).get(JOB_LABEL, metadata["name"])
            placed[who] = None if node is None else model_of(node)
            assert node is None or placed[who] is not None, f"{who} is on {node}, without a GPU"
    return placed


def wait_placed(
    api: Api, namespace: str, expected: Mapping[str, str | None]
) -> dict[str, str | None]:
    """The placements as soon as they are the expected ones, else what they are in the end."""
    with contextlib.suppress(WaitError):  # the caller's assertion shows the difference
        wait_until(
            lambda: placements(api, namespace) == expected,
            timeout=_PLACED_SECONDS,
            what="the Pods to be where they should",
            poll=0.2,
        )
    return placements(api, namespace)


@contextmanager
def fresh_namespace(api: Api) -> Iterator[str]:
    """A namespace for a part of a test."""
    name = f"part-{uuid.uuid4().hex[:8]}"
    create_namespace(api, name)
    try:
        yield name
    finally:
        empty_namespace(api, name)


@contextmanager
def cordoned(api: Api, model: str) -> Iterator[None]:
    """A time in which the model's nodes take no new Pods, as after ``kubectl cordon``."""
    names = nodes_of(model)
    in_parallel(lambda name: _set_unschedulable(api, name, value=True), names)
    try:
        _wait_full(api, model)
        yield
    finally:
        in_parallel(lambda name: _set_unschedulable(api, name, value=False), names)
        wait_nodes_ready(api, names)  # Kubernetes takes its own taint back a moment later
        wait_nodes_known(api)


@contextmanager
def full(api: Api, model: str) -> Iterator[None]:
    """A time in which every device of the model is in use."""
    names = nodes_of(model)
    devices = api.get(path("v1", "nodes", names[0]))["status"]["allocatable"][GPU]
    with fresh_namespace(api) as namespace:
        in_parallel(
            lambda name: create_pod(
                api,
                namespace,
                pod(name, limits={GPU: devices}, nodeName=name, priorityClassName=_TOP_PRIORITY),
            ),
            names,
        )
        _wait_full(api, model)
        yield
    _wait_free(api, names[-1])  # a collection is deleted in the order of names


def in_parallel(do: Callable[[str], object], names: Iterable[str]) -> None:
    """Do the same for each name."""
    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(do, names))


def _set_unschedulable(api: Api, name: str, *, value: bool) -> None:
    api.patch(path("v1", "nodes", name), {"spec": {"unschedulable": value}})


def _wait_full(api: Api, model: str) -> None:
    wait_until(
        lambda: _probe(api, {MODEL_LABEL: model}, model) is None,
        timeout=_SEEN_SECONDS,
        what=f"the scheduler to see that no {model} is free",
    )


def _wait_free(api: Api, node: str) -> None:
    model = model_of(node)
    assert model is not None
    wait_until(
        lambda: _probe(api, {_HOSTNAME: node}, model) == node,
        timeout=_SEEN_SECONDS,
        what=f"the scheduler to see that {node} is free",
    )


def wait_nodes_known(api: Api) -> None:
    """Wait until the scheduler knows every change of a node that was made before.

    It learns of them in their order, so one more is made, which decides where a Pod may go.
    """
    mark = uuid.uuid4().hex[:8]
    labels = {"metadata": {"labels": {_MARK: mark}}}
    api.patch(path("v1", "nodes", _NODE_WITHOUT_GPU), labels)
    wait_until(
        lambda: _scheduled(api, pod("", nodeSelector={_MARK: mark})) == _NODE_WITHOUT_GPU,
        timeout=_SEEN_SECONDS,
        what="the scheduler to know the nodes",
    )


def _probe(api: Api, selector: Mapping[str, str], model: str) -> str | None:
    """Where a Pod for one device of the model would go now."""
    taint = model_taint(model)
    return _scheduled(
        api, pod("", limits={GPU: "1"}, tolerations=[taint], nodeSelector=dict(selector))
    )


def _scheduled(api: Api, body: Json) -> str | None:
    """Where the scheduler puts such a Pod now."""
    name = f"probe-{uuid.uuid4().hex[:8]}"
    create_pod(api, "default", body | {"metadata": {"name": name}})
    node = wait_decided(api, "default", [name])[name]
    api.delete(path("v1", "pods", name, namespace="default"), gracePeriodSeconds="0")
    return node
