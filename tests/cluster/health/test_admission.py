"""What admission makes of sick devices (semantics D7, N6)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.builders import PodBuilder
from tests.cluster.api import Json, path
from tests.cluster.health.ward import Ward
from tests.cluster.live import tables
from tests.cluster.pods import create_pod, node_of, wait_running
from tests.cluster.product.places import model_of
from tests.cluster.product.priorities import HIGH, HIGH_VALUE, priority_class
from tests.cluster.versions import ON_NEWEST
from webhook.terms import REQUEST_ANNOTATION, TABLES_PATH

pytestmark = ON_NEWEST

_A30 = [f"mn2b-a30-{number:03d}" for number in range(10)]

_FRESH = timedelta(seconds=180)
"""For so long after its renewal a status counts (D7)."""


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
        ward.wait(lambda: _tiers(ward) == ["v100-32gb"], "the webhook to know it")
        assert model_of(_six(ward, "after")) == "v100-32gb"


@pytest.mark.rule("D7", "H3", "H11")
def test_a_status_that_nobody_renews_any_more_changes_nothing(ward: Ward) -> None:
    for node in _A30:
        ward.allocatable(node, 5)
    ward.begin("Observe")
    with priority_class(ward.api, HIGH, HIGH_VALUE):
        ward.wait(lambda: _tiers(ward) == ["v100-32gb"], "the smallest tier to be skipped")
        ward.controller.process.stop()
        renewed = _renew(ward, _FRESH - timedelta(seconds=8))
        ward.wait(lambda: _tiers(ward) == ["a30-24gb"], "the smallest tier to be chosen again")
        assert datetime.now(UTC) - renewed >= _FRESH  # until then it was still skipped
        assert tables.row(ward.api, "a30-24gb")["mostUsableOnANode"] == 5
        ward.controller.start()
        ward.wait(lambda: _tiers(ward) == ["v100-32gb"], "a renewed status to count again")


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


def _tiers(ward: Ward) -> list[str]:
    """Return the rows that a Pod for six devices of a node would get now."""
    body = _pod("tried", "gpu-any-24gb", 6, priorityClassName=HIGH)
    pods = path("v1", "pods", namespace=ward.namespace)
    stored = ward.api.create(pods, body, dryRun="All")
    request = json.loads(stored["metadata"]["annotations"][REQUEST_ANNOTATION])
    found: list[str] = request["candidates"]
    return found


def _renew(ward: Ward, ago: timedelta) -> datetime:
    """Have the table's status say that it was last renewed then; the moment as it is written."""
    at = (datetime.now(UTC) - ago).replace(microsecond=0)
    status = {"renewTime": at.strftime("%Y-%m-%dT%H:%M:%SZ")}
    ward.api.patch(f"{TABLES_PATH}/default/status", {"status": status})
    return at


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
