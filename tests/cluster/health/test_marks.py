"""What becomes of our marks on nodes (semantics H3, H6, H7, H10)."""

from __future__ import annotations

import time

import pytest

from tests.cluster.api import Json, path
from tests.cluster.health.ward import Ward
from tests.cluster.versions import ON_NEWEST

pytestmark = ON_NEWEST

_NODE = "mn2b-a100-000"
_FOREIGN = {"key": "example.com/maintenance", "value": "soon", "effect": "PreferNoSchedule"}


@pytest.mark.rule("H3")
def test_flapping_is_one_quarantine_with_a_growing_time_to_recover(ward: Ward) -> None:
    ward.begin("Evict")
    ward.condition(_NODE, "GPUIsLost", "True")
    ward.wait(lambda: ward.taints(_NODE), "the taint")
    for _ in range(10):
        ward.condition(_NODE, "GPUIsLost", "False")
        ward.wait(lambda: ward.cases(_NODE)[0].get("good"), "a good observation")
        ward.condition(_NODE, "GPUIsLost", "True")
        ward.wait(lambda: not ward.cases(_NODE)[0].get("good"), "a bad one")
    ward.condition(_NODE, "GPUIsLost", "False")
    assert ward.actions(action="taint", result="done") == 1
    (case,) = ward.cases(_NODE)
    assert case["relapses"] == 10
    ward.stays(lambda: ward.taints(_NODE), seconds=5)  # a first recovery would be over


@pytest.mark.rule("H7", "H10")
def test_whatever_others_do_with_a_node_meanwhile_stays(ward: Ward) -> None:
    at = path("v1", "nodes", _NODE)
    before = _taints(ward)
    ward.api.patch(at, {"spec": {"taints": [*before, _FOREIGN]}})
    ward.begin("Quarantine")
    ward.condition(_NODE, "GPUIsLost", "True")
    ward.wait(lambda: ward.taints(_NODE), "the taint")
    ward.api.patch(at, {"spec": {"unschedulable": True}})
    ward.wait(
        lambda: any(one["key"] == "node.kubernetes.io/unschedulable" for one in _taints(ward)),
        "the node to be cordoned",
    )
    ward.condition(_NODE, "GPUIsLost", "False")
    ward.wait(lambda: not ward.taints(_NODE), "the taint to be gone")
    keys = {one["key"] for one in _taints(ward)}
    assert keys == {*(one["key"] for one in before), _FOREIGN["key"]} | {
        "node.kubernetes.io/unschedulable"
    }
    assert ward.api.get(at)["spec"]["unschedulable"] is True
    kept = [one for one in _taints(ward) if one["key"] != _FOREIGN["key"]]
    ward.api.patch(at, {"spec": {"unschedulable": False, "taints": kept}})
    ward.wait(lambda: len(_taints(ward)) == len(before), "the node to be as it was")


@pytest.mark.rule("H10")
def test_a_person_who_removes_our_taint_is_respected_until_there_is_new_evidence(
    ward: Ward,
) -> None:
    ward.begin("Quarantine")
    ward.condition(_NODE, "GPUIsLost", "True")
    ward.wait(lambda: ward.taints(_NODE) and ward.cases(_NODE)[0].get("seen"), "the taint")
    kept = [one for one in _taints(ward) if one not in ward.taints(_NODE)]
    ward.api.patch(path("v1", "nodes", _NODE), {"spec": {"taints": kept}})
    ward.stays(lambda: not ward.taints(_NODE), seconds=4)
    ward.condition(_NODE, "GPURuntimeError", "True")
    ward.wait(lambda: ward.taints(_NODE), "the taint, for a new reason")


@pytest.mark.rule("H6")
def test_observe_does_nothing_and_reports_all(ward: Ward) -> None:
    ward.begin("Observe")
    with ward.only(_NODE):
        pods = ward.deployment("web", "gpu-a100", 2)
    ward.condition(_NODE, "GPUIsLost", "True")
    ward.wait(lambda: "1 subject Failed" in ward.told(), "the report")
    ward.stays(lambda: not ward.taints(_NODE) and not ward.is_suspect(_NODE), seconds=5)
    assert ward.actions() == 0
    assert {one["metadata"]["uid"] for one in ward.pods("web")} == {
        one["metadata"]["uid"] for one in pods
    }
    ward.use("Evict")
    ward.wait(lambda: ward.replaced("web", pods, 2), "the Pods to run elsewhere")
    ward.use("Observe")
    ward.condition(_NODE, "GPUIsLost", "False")
    time.sleep(6)  # a recovery would be over
    assert ward.taints(_NODE)


def _taints(ward: Ward) -> list[Json]:
    found: list[Json] = ward.api.get(path("v1", "nodes", _NODE))["spec"].get("taints", [])
    return found
