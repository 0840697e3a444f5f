"""Too much fails: breaker and budget hold, whoever leads (semantics H4, H5)."""

from __future__ import annotations

import time

import pytest

from tests.cluster.api import Json
from tests.cluster.fleet import fleet
from tests.cluster.health.ward import Ward, uids
from tests.cluster.live import tables
from tests.cluster.live.programs import Controller
from tests.cluster.pods import events_about, node_of
from tests.cluster.versions import ON_NEWEST
from webhook.health.words import Reason

pytestmark = ON_NEWEST


def _pool(name: str) -> list[str]:
    names = (one["metadata"]["name"] for one in fleet())
    return [one for one in names if one.startswith(name)][:10]


_A100, _A30 = _pool("mn2b-a100"), _pool("mn2b-a30")

_APART_S = 1.0
"""Seconds between one node that fails and the next."""


@pytest.mark.rule("H5")
def test_a_sensor_that_calls_a_whole_row_bad_evicts_nobody(ward: Ward) -> None:
    ward.begin("Evict")
    pods = ward.deployment("web", "gpu-a100", 20)
    ward.conditions(_A100, "GPUIsLost", "True")
    ward.wait(lambda: "HealthBreaker=True a100-80gb is stopped" in ward.told(), "the breaker")
    ward.stays(lambda: uids(ward.pods("web")) == uids(pods), seconds=6)
    assert sum(bool(ward.taints(one)) for one in _A100) <= 2  # a fifth of the row
    assert ward.controller.metric("gpuspec_health_breaker_open", scope="row") == 1
    assert ward.controller.metric("gpuspec_health_breaker_open", scope="all") == 0
    ward.conditions(_A30, "GPUIsLost", "True")
    ward.wait(lambda: "everything is stopped" in ward.told(), "all to stop")
    ward.condition("mn2a-v100-32-000", "GPUIsLost", "True")
    ward.stays(lambda: not ward.taints("mn2a-v100-32-000"), seconds=3)
    assert ward.actions(action="evict") == 0


@pytest.mark.rule("H4")
def test_what_fails_one_after_the_other_is_quarantined_up_to_the_budget(ward: Ward) -> None:
    ward.begin("Evict", budget={"evictions": 3})
    for node in _A100[:2]:
        ward.condition(node, "GPUIsLost", "True")
        ward.wait(lambda node=node: ward.taints(node), "the taint")  # type: ignore[misc]
    ward.condition(_A100[2], "GPUIsLost", "True")
    ward.wait(lambda: "HealthBudget=False" in ward.told(), "the budget to be spent")
    ward.stays(lambda: not ward.taints(_A100[2]), seconds=4)
    ward.condition(_A100[0], "GPUIsLost", "False")
    ward.wait(lambda: ward.taints(_A100[2]), "room for the third")
    assert not ward.taints(_A100[0])


@pytest.mark.rule("H4", "H5", "H11")
def test_of_a_row_that_fails_bit_by_bit_exactly_the_budget_is_quarantined(ward: Ward) -> None:
    evictions = 6  # fewer than the Pods on the nodes that may be quarantined
    ward.begin("Evict", budget={"evictions": evictions, "evictionsPerNamespace": evictions})
    size = tables.row(ward.api, "a100-80gb")["nodes"]
    bad, budget = _A100[: size * 40 // 100], size * 20 // 100
    assert (len(bad), budget) == (4, 2)
    quarantined, held_back = bad[:budget], bad[budget:]
    before = {node: _told_held_back(ward, node) for node in bad}
    pods = ward.deployment("web", "gpu-a100", 4 * size)
    for node in bad:
        ward.condition(node, "GPUIsLost", "True")
        time.sleep(_APART_S)
    for node in held_back:
        ward.wait(lambda node=node: _told_held_back(ward, node) - before[node], "the Event")  # type: ignore[misc]
    ward.wait(lambda: len(_gone(ward, pods)) == evictions, "the evictions")

    def holds() -> bool:
        tainted = [node for node in _A100 if ward.taints(node)]
        return tainted == quarantined and len(_gone(ward, pods)) == evictions

    ward.stays(holds, seconds=5)
    assert {node_of(one) for one in _gone(ward, pods)} == set(quarantined)
    assert ward.actions(action="taint", result="done") == budget
    assert ward.actions(action="evict", result="done") == evictions
    spent = tables.condition(ward.api, "HealthBudget")
    assert spent["reason"] == "Spent"
    assert [node in spent["message"] for node in bad] == [False, True, True, True]
    said = tables.status(ward.api)["health"]
    counts = said["failed"], said["quarantined"], said["evictionsLeft"], said["stoppedRows"]
    assert counts == (len(bad), budget, 0, [])  # so it was the budget that held, and no breaker


@pytest.mark.rule("H4")
def test_two_that_believe_they_lead_keep_to_one_budget(ward: Ward) -> None:
    ward.begin("Evict", budget={"evictions": 3, "evictionsPerNamespace": 3})
    pods = ward.deployment("web", "gpu-a100", 40)
    with ward.second():
        for node in _A100[:2]:
            ward.condition(node, "GPUIsLost", "True")
        ward.wait(lambda: "HealthBudget=False" in ward.told(), "the budget to be spent")
        ward.stays(lambda: len(uids(pods) - uids(ward.pods("web"))) <= 3, seconds=5)
    assert len(uids(pods) - uids(ward.pods("web"))) == 3


@pytest.mark.rule("H4", "H8")
def test_whoever_comes_after_a_leader_that_was_killed_goes_on(ward: Ward) -> None:
    ward.begin("Evict", evictAfter="15s")
    with ward.only(_A100[0]):
        pods = ward.deployment("web", "gpu-a100", 4)
    ward.condition(_A100[0], "GPUIsLost", "True")
    ward.wait(lambda: ward.taints(_A100[0]), "the taint")
    ward.controller.close()  # between quarantine and eviction
    ward.plane.restart("kube-apiserver")
    successor: Controller
    with ward.second() as successor:
        ward.wait(lambda: ward.replaced("web", pods, 4), "the Pods to run elsewhere")
        assert successor.total("gpuspec_health_actions_total", action="taint") == 0
        assert successor.total("gpuspec_health_actions_total", action="evict") == 4
    assert _A100[0] not in {node_of(one) for one in ward.pods("web")}


def _gone(ward: Ward, pods: list[Json]) -> list[Json]:
    """Return those of a Deployment's first Pods that are gone."""
    left = uids(ward.pods("web"))
    return [one for one in pods if one["metadata"]["uid"] not in left]


def _told_held_back(ward: Ward, node: str) -> set[str]:
    """Return the Events that tell of a node that nothing more is done."""
    events = events_about(ward.api, "default", node)
    return uids(one for one in events if one["reason"] == Reason.HELD_BACK)
