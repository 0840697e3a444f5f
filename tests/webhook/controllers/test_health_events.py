"""Events about health: each told once, and told anew when what they say has changed."""

from __future__ import annotations

import pytest

from tests.webhook.controllers.health_stage import Stage

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
