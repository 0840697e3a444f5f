"""The health loop: what it writes, in which order, and what becomes of it when it is cut off."""

from __future__ import annotations

import pytest

from tests.webhook.controllers.health_stage import LEDGER, NODES, Stage
from webhook.health.cases import Mark, Verdict
from webhook.health.ledger import Ledger
from webhook.health.stored_ledger import ledger_of, ledger_text
from webhook.kube.errors import ApiError, UnreachableError
from webhook.terms import HEALTH, HEALTH_BREAKER, HEALTH_LABEL

Raises = ApiError | UnreachableError


def written(stage: Stage) -> list[str]:
    """What was written, a word each, in order; Events aside."""
    words = {"configmaps": "ledger", "nodes": "node", "pods": "pod"}
    found = []
    for verb, path, body in stage.server.writes:
        kind = next((word for part, word in words.items() if f"/{part}/" in path), "")
        if kind == "node":
            kind = "record" if "kind" in body or "annotations" in body["metadata"] else "taint"
        if kind:
            found.append(f"{verb} {kind}")
    return found


@pytest.mark.rule("H4", "H7", "H8")
def test_the_ledger_is_written_first_then_what_is_known_then_things_are_done() -> None:
    stage = Stage()
    stage.pod("web", "n0")
    stage.fail("n0")
    stage.run()
    assert written(stage) == ["create ledger", "patch record", "patch taint"]
    assert stage.tainted() == ["n0"]
    record = stage.record("n0")
    assert [(one.held, one.mark) for one in record.cases] == [(Verdict.FAILED, Mark.TAINT)]
    assert stage.server.get(f"{NODES}/n0")["metadata"]["labels"][HEALTH_LABEL] == "suspect"
    stage.run()
    assert stage.server.evicted == ["web"]


@pytest.mark.rule("H3")
def test_nothing_is_written_where_nothing_is_wrong() -> None:
    stage = Stage()
    assert stage.run() > 1
    assert stage.server.writes == [], "not even a ledger"
    assert stage.condition(HEALTH).status == "True"


@pytest.mark.rule("H10")
def test_a_node_that_recovered_is_as_it_was() -> None:
    stage = Stage(recovery={"after": "10s"}, observations={"every": "1s", "good": 2})
    stage.fail("n0")
    stage.run()
    stage.run()
    stage.fail("n0", status="False")
    for _ in range(20):
        stage.pass_(2)
        stage.run()
    assert stage.tainted() == []
    assert HEALTH_LABEL not in stage.server.get(f"{NODES}/n0")["metadata"]["labels"]
    settled = len(stage.server.writes)
    stage.pass_(30)
    stage.run()
    assert len(stage.server.writes) == settled


@pytest.mark.rule("H4")
@pytest.mark.parametrize("step", range(4))
def test_a_successor_goes_on_wherever_the_process_was_cut_off(step: int) -> None:
    stage = Stage()
    stage.pod("web", "n0")
    stage.fail("n0")
    left = [step]

    def die(verb: str, path: str) -> None:
        if path.endswith("/events"):
            return
        if left[0] == 0:
            raise UnreachableError(f"{verb} {path}: not sent, this process no longer leads")
        left[0] -= 1

    stage.server.before_write = die
    for _ in range(3):
        try:
            stage.run()
        except UnreachableError:
            break
    stage.server.before_write = lambda *_: None
    stage.pass_(15)
    for _ in range(4):
        stage.run("two")
        stage.pass_(1)
    assert stage.tainted() == ["n0"]
    assert stage.server.evicted == ["web"]
    ledger = ledger_of(stage.server.get(LEDGER)["data"]["ledger"])
    assert ledger is not None
    assert [one.pod for one in ledger.evictions] == ["uid-web"]


@pytest.mark.rule("H4")
def test_two_that_believe_they_lead_share_one_budget() -> None:
    stage = Stage(budget={"evictions": 3, "evictionsPerNamespace": 3})
    for number in range(8):
        stage.pod(f"web-{number}", f"n{number % 2}")
    stage.fail("n0", "n1")
    for _ in range(6):
        stage.see()
        for name in ("one", "two"):
            stage.run(name, blindly=True)  # neither has seen what the other has just done
        stage.pass_(1)
    assert len(stage.server.evicted) == 3
    assert len(set(stage.server.evicted)) == 3


@pytest.mark.rule("H9")
def test_a_refused_eviction_costs_no_budget_and_is_tried_again_later() -> None:
    stage = Stage()
    stage.server.protected = {"web"}
    stage.pod("web", "n0")
    stage.fail("n0")
    stage.run()
    stage.run()
    assert stage.server.evicted == []
    ledger = ledger_of(stage.server.get(LEDGER)["data"]["ledger"])
    assert ledger is not None
    assert ledger.evictions == ()
    told = [
        body
        for _, path, body in stage.server.writes
        if path.startswith("/api/v1/namespaces/team/events")
    ]
    assert [one["reason"] for one in told] == ["EvictionRefused"]
    assert "unhealthyPodEvictionPolicy: AlwaysAllow" in told[0]["message"]
    stage.server.protected = set()
    stage.run()
    assert stage.server.evicted == [], "not at once"
    stage.pass_(5)
    stage.run()
    assert stage.server.evicted == ["web"]


@pytest.mark.rule("H8", "H9")
@pytest.mark.parametrize(
    "change",
    [
        {"uid": "another"},
        {"deletionTimestamp": "2026-06-01T12:00:00Z"},
        {"annotations": {"gpuspec.preferred.jp/on-device-failure": "ignore"}},
    ],
    ids=str,
)
def test_a_pod_that_changed_meanwhile_is_left_alone(change: dict[str, object]) -> None:
    stage = Stage()
    stage.pod("web", "n0")
    stage.fail("n0")
    stage.run()
    stage.see()
    found = stage.server.get("/api/v1/namespaces/team/pods/web")
    found["metadata"] |= change
    stage.server.put("/api/v1/namespaces/team/pods/web", found)
    stage.run(blindly=True)
    assert stage.server.evicted == []


@pytest.mark.rule("H8")
def test_nobody_is_evicted_from_a_node_whose_taint_is_gone_meanwhile() -> None:
    stage = Stage()
    stage.pod("web", "n0")
    stage.fail("n0")
    stage.run()
    stage.see()
    found = stage.server.get(f"{NODES}/n0")
    found["spec"]["taints"] = []
    stage.server.put(f"{NODES}/n0", found)
    stage.run(blindly=True)
    assert stage.server.evicted == []


@pytest.mark.rule("H3")
def test_what_is_no_longer_seen_is_neither_acted_upon_nor_cleared() -> None:
    stage = Stage()
    stage.fail("n0")
    stage.see()
    stage.world.plain["nodes"].trouble = "GET /api/v1/nodes: no answer"
    with pytest.raises(UnreachableError, match="no answer"):
        stage.run(blindly=True)
    assert stage.server.writes == []
    said = stage.condition(HEALTH)
    assert (said.status, said.reason) == ("False", "CannotFollow")
    assert "GET /api/v1/nodes: no answer" in said.message


@pytest.mark.rule("H5")
def test_a_person_resumes_a_row_and_what_failed_is_dealt_with() -> None:
    stage = Stage()
    names = [f"n{number}" for number in range(10)]
    stage.fail(*names)
    stage.run()
    assert stage.tainted() == []
    assert stage.condition(HEALTH_BREAKER).status == "True"
    found = stage.server.get(LEDGER)
    ledger = ledger_of(found["data"]["ledger"])
    assert ledger is not None
    found["data"]["ledger"] = ledger_text(ledger.resume(None))
    stage.server.put(LEDGER, found)
    stage.pass_(1)
    stage.see()
    book = stage.loop()._book  # the mirror of the ledger shows what a person wrote
    book.mirror.put("gpuspec-health", stage.server.get(LEDGER)["metadata"]["resourceVersion"])  # type: ignore[attr-defined]
    stage.run(blindly=True)
    assert len(stage.tainted()) == 2
    assert stage.condition(HEALTH_BREAKER).status == "False"


@pytest.mark.rule("H5")
def test_breakers_of_rows_that_the_table_no_longer_has_stop_nothing() -> None:
    stage = Stage()
    old = Ledger(breakers={"old-row": 1.0, "older-row": 2.0})
    stage.server.put(
        LEDGER, {"metadata": {"name": "gpuspec-health"}, "data": {"ledger": ledger_text(old)}}
    )
    stage.fail("n0")
    stage.run()
    assert stage.tainted() == ["n0"]
    assert stage.condition(HEALTH_BREAKER).status == "False"
    ledger = ledger_of(stage.server.get(LEDGER)["data"]["ledger"])
    assert ledger is not None
    assert ledger.breakers == {}


def test_one_node_that_refuses_its_record_holds_up_no_other() -> None:
    stage = Stage()
    stage.fail("n0", "n1")

    def refuse(verb: str, path: str) -> None:
        if (verb, path) == ("patch", f"{NODES}/n0"):
            raise ApiError(f"PATCH {path}", 403, "Forbidden", "no")

    stage.server.before_write = refuse
    stage.run()
    assert stage.tainted() == ["n1"]
    said = stage.condition(HEALTH)
    assert said.reason == "NodesRefuse"
    assert "nothing is done about some nodes: PATCH /api/v1/nodes/n0: 403" in said.message


def test_a_node_deleted_meanwhile_is_no_error() -> None:
    stage = Stage()
    stage.fail("n0")
    stage.see()
    del stage.server.objects[f"{NODES}/n0"]
    stage.run(blindly=True)
    assert f"{NODES}/n0" not in stage.server.objects


def test_a_table_that_cannot_be_read_changes_nothing() -> None:
    stage = Stage()
    stage.run()
    found = stage.server.get("/apis/gpuspec.preferred.jp/v1alpha1/selectiontables/default")
    found["spec"]["devices"] = []
    stage.server.put("/apis/gpuspec.preferred.jp/v1alpha1/selectiontables/default", found)
    stage.fail("n0")
    stage.run()
    assert stage.tainted() == ["n0"], "the last good one still says Evict"


def test_a_ledger_that_is_garbage_counts_as_empty_and_marks_count_all_the_same() -> None:
    stage = Stage()
    stage.fail("n0", "n1")
    stage.run()
    stage.server.put(LEDGER, {"metadata": {"name": "gpuspec-health"}, "data": {"ledger": "[{"}})
    stage.fail("n2")
    stage.run("two")
    assert sorted(stage.tainted()) == ["n0", "n1"], "a fifth of ten nodes"


@pytest.mark.rule("H4", "H5")
@pytest.mark.parametrize("is_spoilt", [False, True])
def test_a_ledger_that_is_gone_or_spoilt_is_written_again_as_it_was(*, is_spoilt: bool) -> None:
    stage = Stage()
    stage.fail(*(f"n{number}" for number in range(10)))
    stage.run()
    mirror = stage.loop()._book.mirror
    mirror.put("gpuspec-health", stage.server.get(LEDGER)["metadata"]["resourceVersion"])  # type: ignore[attr-defined]
    stage.run()
    if is_spoilt:
        stage.server.put(LEDGER, {"metadata": {"name": "gpuspec-health"}, "data": {"ledger": "["}})
        mirror.put("gpuspec-health", stage.server.get(LEDGER)["metadata"]["resourceVersion"])  # type: ignore[attr-defined]
    else:
        del stage.server.objects[LEDGER]
        mirror.objects.clear()  # type: ignore[attr-defined]
    stage.pass_(1)
    stage.run()
    ledger = ledger_of(stage.server.get(LEDGER)["data"]["ledger"])
    assert ledger is not None
    assert "a100-80gb" in ledger.breakers


@pytest.mark.rule("H9")
def test_a_job_that_cannot_be_looked_at_stops_nothing_else() -> None:
    stage = Stage()
    stage.pod("job", "n0", owner="Job")
    stage.pod("web", "n1")
    stage.fail("n0", "n1")
    for _ in range(3):
        stage.run()
        stage.pass_(1)
    assert stage.server.evicted == ["web"]
    assert sorted(stage.tainted()) == ["n0", "n1"]


def test_marks_that_are_refused_are_tried_ever_more_rarely_and_starve_nobody() -> None:
    stage = Stage(budget={"percent": 100})
    tries = []

    def refuse(verb: str, path: str) -> None:
        if verb == "patch" and path == f"{NODES}/n0" and stage.record("n0") is not None:
            tries.append(path)
            raise ApiError(f"PATCH {path}", 403, "Forbidden", "no")

    stage.server.before_write = refuse
    stage.fail("n0", "n1")
    for _ in range(30):
        stage.run()
        stage.pass_(1)
    assert stage.tainted() == ["n1"]
    assert len(tries) < 10


@pytest.mark.rule("H6")
def test_a_run_that_takes_long_ends_and_looks_again() -> None:
    stage = Stage(budget={"evictions": 100, "evictionsPerNamespace": 100})
    for number in range(20):
        stage.pod(f"web-{number:02d}", "n0")
    stage.fail("n0")
    stage.run()

    def slow(verb: str, _: str) -> None:
        if verb == "evict":
            stage.pass_(1)

    stage.server.before_write = slow
    assert stage.run() == 0.0
    assert len(stage.server.evicted) == 3
    stage.use("Observe")
    stage.run()
    assert len(stage.server.evicted) == 3
