"""Too much fails: breaker and budget hold, whoever leads (semantics H4, H5)."""

from __future__ import annotations

import pytest

from tests.cluster.conftest import wanted_minors
from tests.cluster.fleet import fleet
from tests.cluster.health.ward import Ward, uids
from tests.cluster.live.programs import Controller
from tests.cluster.pods import node_of

# Nothing of it differs between versions: the newest of those wanted.
pytestmark = pytest.mark.parametrize(
    "kubernetes", wanted_minors()[-1:], indirect=True, scope="session"
)


def _pool(name: str) -> list[str]:
    names = (one["metadata"]["name"] for one in fleet())
    return [one for one in names if one.startswith(name)][:10]


_A100, _A30 = _pool("mn2b-a100"), _pool("mn2b-a30")


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
