"""What admission makes of sick devices (semantics D7, N6)."""

from __future__ import annotations

import json

import pytest

from tests.builders import PodBuilder
from tests.cluster.api import Json, path
from tests.cluster.conftest import wanted_minors
from tests.cluster.health.ward import Ward
from tests.cluster.live import tables
from tests.cluster.pods import create_pod, node_of, wait_running
from tests.cluster.product.places import model_of
from tests.cluster.product.priorities import HIGH, HIGH_VALUE, priority_class

# Nothing of it differs between versions: the newest of those wanted.
pytestmark = pytest.mark.parametrize(
    "kubernetes", wanted_minors()[-1:], indirect=True, scope="session"
)

_A30 = [f"mn2b-a30-{number:03d}" for number in range(10)]


@pytest.mark.rule("D7")
def test_a_tier_without_a_node_of_enough_usable_devices_is_skipped(ward: Ward) -> None:
    ward.begin("Observe")
    with priority_class(ward.api, HIGH, HIGH_VALUE):
        assert model_of(_six(ward, "before")) == "a30-24gb"
        for node in _A30:
            ward.allocatable(node, 5)
        ward.wait(
            lambda: tables.row(ward.api, "a30-24gb")["mostUsableOnANode"] == 5, "the row's status"
        )
        pods = path("v1", "pods", namespace=ward.namespace)
        body = _pod("tried", "gpu-any-24gb", 6, priorityClassName=HIGH)
        ward.wait(
            lambda: "v100-32gb" in json.dumps(ward.api.create(pods, body, dryRun="All")["spec"]),
            "the webhook to know it",
        )
        assert model_of(_six(ward, "after")) == "v100-32gb"


@pytest.mark.rule("N6", "H7")
def test_a_node_that_is_suspect_is_avoided_while_there_is_another(ward: Ward) -> None:
    suspect, other = "mn2b-a100-000", "mn2b-a100-001"
    ward.begin("Quarantine")
    ward.condition(suspect, "GPUPendingPage", "True")
    ward.wait(lambda: ward.is_suspect(suspect), "the node to be suspect")
    with ward.only(suspect, other):
        for number in range(2):
            assert _node(ward, f"web-{number}", "gpu-a100", 1) == other
        assert _node(ward, "large", "gpu-a100", 4) == suspect  # a preference, not a law


def _six(ward: Ward, name: str) -> str:
    return _node(ward, name, "gpu-any-24gb", 6, priorityClassName=HIGH)


def _node(ward: Ward, name: str, spec: str, count: int, **more: object) -> str:
    create_pod(ward.api, ward.namespace, _pod(name, spec, count, **more))
    node = node_of(wait_running(ward.api, ward.namespace, name))
    assert node is not None
    return node


def _pod(name: str, spec: str, count: int, **more: object) -> Json:
    pod: Json = PodBuilder(name).container("main", {f"preferred.jp/{spec}": str(count)}).build()
    pod["spec"] |= more
    return pod
