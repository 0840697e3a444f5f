"""Which policy a Pod gets; its priority is known when we are asked (semantics D3)."""

from __future__ import annotations

import json
import uuid

import pytest

from tests.builders import Json, PodBuilder, asking
from tests.cluster.api import path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import create_pod, wait_decided
from tests.cluster.product.places import admitting_models, model_of
from tests.cluster.product.priorities import HIGH, priority_class
from webhook.terms import REQUEST_ANNOTATION

pytestmark = pytest.mark.usefixtures("webhook")

EVERY_FIT = ("EveryFit", {"v100-32gb", "a30-24gb", "a100-80gb"})
SMALLEST_FIT = ("SmallestFit", {"a30-24gb"})
"""For ``gpu-any-24gb``."""

ENOUGH = 1_000_000
"""From here on the table's second rule holds, whatever the class is called."""


@pytest.mark.rule("D3", "D4", "D5")
@pytest.mark.parametrize(
    ("value", "answer"),
    [(ENOUGH, SMALLEST_FIT), (ENOUGH - 1, EVERY_FIT), (-1, EVERY_FIT)],
    ids=["enough", "almost", "negative"],
)
def test_the_number_of_a_class_decides(
    cluster: ControlPlane,
    namespace: str,
    value: int,
    answer: tuple[str, set[str]],
) -> None:
    name = f"class-{uuid.uuid4().hex[:8]}"
    pod = asking(any_24gb=1).spec(priorityClassName=name)
    with priority_class(cluster.api, name, value):
        assert answered(cluster, namespace, pod) == answer


@pytest.mark.rule("D3", "D4", "D5")
@pytest.mark.parametrize(
    ("pod", "answer"),
    [
        (asking(any_24gb=1).spec(priorityClassName=HIGH), SMALLEST_FIT),
        (asking(any_24gb=1).spec(priorityClassName="system-cluster-critical"), SMALLEST_FIT),
        (asking(any_24gb=1), EVERY_FIT),
    ],
    ids=["by-name", "of-the-system", "none"],
)
def test_the_name_of_a_class_decides_and_none_is_the_default(
    cluster: ControlPlane,
    namespace: str,
    pod: PodBuilder,
    answer: tuple[str, set[str]],
) -> None:
    assert answered(cluster, namespace, pod) == answer


@pytest.mark.rule("D3", "D5")
def test_the_class_that_the_cluster_gives_by_default_decides_too(
    cluster: ControlPlane, namespace: str
) -> None:
    name = f"default-{uuid.uuid4().hex[:8]}"
    with priority_class(cluster.api, name, ENOUGH, is_default=True):
        assert answered(cluster, namespace, asking(any_24gb=1)) == SMALLEST_FIT
        create_pod(cluster.api, namespace, asking(any_24gb=1).build())
    node = wait_decided(cluster.api, namespace, ["train"])["train"]
    assert model_of(node or "") == "a30-24gb"


def answered(cluster: ControlPlane, namespace: str, pod: PodBuilder) -> tuple[str, set[str | None]]:
    """The policy that a Pod got, and the models of all nodes that it may go to."""
    pods = path("v1", "pods", namespace=namespace)
    stored: Json = cluster.api.create(pods, pod.build(), dryRun="All")
    request = json.loads(stored["metadata"]["annotations"][REQUEST_ANNOTATION])
    return request["policy"], admitting_models(stored)
