"""Events about health: each told once, and told anew when what they say has changed."""

from __future__ import annotations

import pytest

from tests.webhook.controllers.health_stage import LEDGER, Stage
from webhook.health.ledger import Ledger
from webhook.health.stored_ledger import ledger_text
from webhook.terms import LEDGER_FIELD

pytestmark = pytest.mark.rule("H11")


def told(stage: Stage, reason: str) -> list[str]:
    """The messages of all Events of a reason, in order."""
    return [
        body["message"]
        for verb, path, body in stage.server.writes
        if verb == "create" and "/events" in path and body["reason"] == reason
    ]


def runs(stage: Stage, count: int = 3) -> None:
    for _ in range(count):
        stage.run()
        stage.pass_(1)


@pytest.mark.rule("H7")
def test_a_taint_that_is_in_place_is_told_once() -> None:
    stage = Stage()
    stage.fail("n0")
    stage.run()
    assert told(stage, "HealthQuarantined") == []
    runs(stage)
    assert told(stage, "HealthQuarantined") == [
        (
            "no new Pod comes to node n0: our node taint gpuspec.preferred.jp/unhealthy:NoSchedule "
            "is in place"
        )
    ]


@pytest.mark.rule("H6")
def test_what_depends_on_the_mode_is_told_anew_in_another_one() -> None:
    stage = Stage(mode="Observe")
    stage.fail("n0")
    runs(stage)
    assert told(stage, "HealthQuarantined") == []
    stage.use("Quarantine")
    runs(stage)
    stage.use("Evict")
    runs(stage)
    begin = "node n0: Failed: condition GPUIsLost is True"
    assert told(stage, "HealthFailed") == [
        f"{begin}; mode Observe: a node taint would keep new Pods away",
        f"{begin}; mode Quarantine: a node taint is to keep new Pods away",
        f"{begin}; no new Pod comes there (node taint)",
    ]
    assert len(told(stage, "HealthQuarantined")) == 1


@pytest.mark.rule("H3")
def test_a_suspect_is_told_once_whatever_the_mode() -> None:
    stage = Stage(mode="Observe")
    found = stage.server.get("/api/v1/nodes/n0")
    found["status"]["allocatable"] = {"nvidia.com/gpu": "3"}
    stage.server.put("/api/v1/nodes/n0", found)
    runs(stage)
    stage.use("Evict")
    runs(stage)
    assert told(stage, "HealthSuspect") == [
        "some nvidia.com/gpu of node n0: Suspect: 3 of 4 nvidia.com/gpu are allocatable"
    ]


def test_the_status_names_rows_with_a_mode_of_their_own() -> None:
    stage = Stage(mode="Observe", rows=[{"id": "a100-80gb", "mode": "Evict"}])
    stage.run()
    status = stage.board.fields()["health"]
    assert isinstance(status, dict)
    assert status["mode"] == "Observe"
    assert status["rowModes"] == [{"id": "a100-80gb", "mode": "Evict"}]


@pytest.mark.rule("H10")
def test_a_taint_by_hand_has_it_act_again_where_a_person_removed_ours() -> None:
    """What `gpuspec health clear` says: until then it waits for new evidence."""
    stage = Stage()
    stage.fail("n0")
    runs(stage)
    untainted = stage.server.get("/api/v1/nodes/n0")
    untainted["spec"]["taints"] = []
    stage.server.put("/api/v1/nodes/n0", untainted)
    stage.pod("web", "n0")
    runs(stage)
    assert (stage.tainted(), stage.server.evicted) == ([], [])
    taint = {"key": "gpuspec.preferred.jp/unhealthy", "effect": "NoSchedule"}
    tainted = stage.server.get("/api/v1/nodes/n0")
    tainted["spec"]["taints"] = [taint]
    stage.server.put("/api/v1/nodes/n0", tainted)
    runs(stage)
    assert (stage.tainted(), stage.server.evicted) == (["n0"], ["web"])


@pytest.mark.rule("H10")
def test_one_that_starts_after_all_was_forgotten_begins_afresh() -> None:
    stage = Stage()
    stage.fail("n0")
    runs(stage)
    found = stage.server.get("/api/v1/nodes/n0")
    found["spec"]["taints"] = []
    stage.server.put("/api/v1/nodes/n0", found)
    runs(stage)
    assert stage.tainted() == []
    found = stage.server.get("/api/v1/nodes/n0")
    found["metadata"]["annotations"] = {}
    stage.server.put("/api/v1/nodes/n0", found)
    stage.pass_(15)
    runs(stage)
    assert stage.tainted() == [], "the one that runs has not forgotten"
    assert stage.record("n0") is not None, "and writes it down again"
    found = stage.server.get("/api/v1/nodes/n0")
    found["metadata"]["annotations"] = {}
    stage.server.put("/api/v1/nodes/n0", found)
    stage.run("two")
    assert stage.tainted() == ["n0"]


@pytest.mark.rule("H10")
def test_that_a_person_removed_our_mark_is_told() -> None:
    stage = Stage()
    stage.fail("n0")
    runs(stage)
    found = stage.server.get("/api/v1/nodes/n0")
    found["spec"]["taints"] = []
    stage.server.put("/api/v1/nodes/n0", found)
    runs(stage)
    assert told(stage, "HealthHeldBack") == [
        "node n0: a person removed our mark, and there is no new evidence since"
    ]


@pytest.mark.rule("H5")
def test_where_everything_is_stopped_it_is_said_by_what() -> None:
    stage = Stage()
    stage.fail("n0")
    ledger = Ledger(breakers=dict.fromkeys(("a30-24gb", "v100-16gb"), stage.now.timestamp()))
    stage.server.put(LEDGER, {"metadata": {}, "data": {LEDGER_FIELD: ledger_text(ledger)}})
    runs(stage)
    assert told(stage, "HealthHeldBack") == [
        "node n0: everything is stopped, by a30-24gb and v100-16gb"
    ]


@pytest.mark.rule("H9")
def test_a_refused_eviction_is_told_once_and_in_the_status() -> None:
    """It is no reason of its own to stay: it is tried again."""
    stage = Stage()
    stage.fail("n0")
    stage.pod("web", "n0")
    stage.server.protected.add("web")
    runs(stage, 5)
    assert len(told(stage, "EvictionRefused")) == 1
    assert told(stage, "KeptOnFailedDevice") == []
    stage.run()
    health = stage.condition("Health")
    assert health.reason == "EvictionsRefused"
    said = "1 refused eviction, by PodDisruptionBudgets mostly, tried again: team/web"
    assert said in health.message
