"""``gpuspec health`` says of every Pod on what has failed what becomes of it (H8, H9, H11)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.advice.health.ward import NOW, READY, Ward, use_ward
from tests.webhook.cli.running import answer, run
from tests.webhook.cli.test_health import LOST, TAINT, flat, look, quarantined, record
from tests.webhook.cli.test_health_explain import explain
from webhook.health.cases import Mark
from webhook.health.ledger import Eviction, Ledger
from webhook.health.subjects import node_subject

pytestmark = pytest.mark.rule("H11")

WELL = {"GPUIsLost": "False"}


def recovering() -> Ward:
    marked = record("n1", mark=Mark.TAINT, is_seen=True, good=1, good_since=NOW - 60)
    return Ward({"mode": "Evict"}).node("n1", bad=WELL, taints=[TAINT], record=marked)


def waived() -> Ward:
    removed = record("n1", mark=Mark.TAINT, is_seen=True)
    return Ward({"mode": "Evict"}).node("n1", bad=LOST, record=removed)


def blind() -> Ward:
    marked = record("n1", mark=Mark.TAINT, is_seen=True)
    return Ward({"mode": "Evict"}).node("n1", ready="Unknown", taints=[TAINT], record=marked)


def unfenced() -> Ward:
    return Ward({"mode": "Evict"}).node("n1", bad=LOST, record=record("n1"))


def full() -> Ward:
    marked = record("n0", mark=Mark.TAINT, is_seen=True)
    ward = unfenced().node("n0", bad=LOST, taints=[TAINT], record=marked)
    return ward.ledger(Ledger(quarantined={node_subject("n0"): NOW - 300}))


def protected() -> Ward:
    return quarantined().disruption_budget("keep")


def halted(*rows: str) -> Ward:
    return quarantined().ledger(Ledger(breakers=dict.fromkeys(rows, NOW - 60)))


NO_DISRUPTION = "the PodDisruptionBudget ml/keep allows no disruption now"
SHARE = "the share of its row that may be quarantined is spent"
EVERYTHING = "everything is stopped, by a30-24gb and t4-16gb"


@pytest.mark.rule("H8", "H9")
@pytest.mark.parametrize(
    ("ward", "said", "becomes", "explained"),
    [
        (quarantined(), "next: evict ml/p", "evict", "it is evicted now, if its"),
        (
            unfenced(),
            "then, once no new Pod can come: evict ml/p",
            "evictOnceFenced",
            "it is evicted once no new Pod can come there",
        ),
        (
            protected(),
            f"next: evict ml/p, once that is allowed: {NO_DISRUPTION}",
            "refused",
            f"it is evicted once that is allowed: {NO_DISRUPTION}",
        ),
        (
            full(),
            f"wait for its row's budget: {SHARE}: ml/p",
            "waitsForBudget",
            f"it waits for a budget: {SHARE}",
        ),
        (
            recovering(),
            "left alone: ml/p: what it runs on is recovering",
            "leftAlone",
            "it is left alone: what it runs on is recovering",
        ),
        (
            waived(),
            "left alone: ml/p: a person removed our mark",
            "leftAlone",
            "it is left alone: a person removed our mark",
        ),
        (
            blind(),
            "left alone: ml/p: data is missing or stale",
            "leftAlone",
            "it is left alone: data is missing or stale",
        ),
        (
            halted("v100-16gb"),
            "left alone: ml/p: the breaker stopped its row",
            "leftAlone",
            "it is left alone: the breaker stopped its row",
        ),
        (
            halted("a30-24gb", "t4-16gb"),
            f"left alone: ml/p: {EVERYTHING}",
            "leftAlone",
            f"held back: {EVERYTHING}; gpuspec health resume a30-24gb t4-16gb",
        ),
    ],
    ids=[
        "goes",
        "follows",
        "refused",
        "waits",
        "recovering",
        "waived",
        "blind",
        "stopped",
        "all stopped",
    ],
)
def test_every_holder_is_in_the_report_with_what_becomes_of_it(
    monkeypatch: pytest.MonkeyPatch, ward: Ward, said: str, becomes: str, explained: str
) -> None:
    ward.pod("p", "n1", conditions=READY)
    assert said in flat(look(monkeypatch, ward).stdout)
    found = answer(run("health", "-o", "json"), 1)["subjects"]
    (subject,) = (one for one in found if one["node"] == "n1")
    assert [one["becomes"] for one in subject["holders"]] == [becomes]
    assert explained in flat(explain(monkeypatch, ward, "ml/p").stdout)
    told = answer(explain(monkeypatch, ward, "ml/p", "-o", "json"))
    assert told["becomes"] == becomes
    assert told["evictable"] is (becomes != "leftAlone")


@pytest.mark.rule("H8")
def test_a_pod_that_tolerates_the_taint_stays_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the plan that knows: by its permit alone it could go."""
    ward = quarantined().pod("p", "n1")
    pod = ward.objects["/api/v1/namespaces/ml/pods/p"]
    pod["spec"]["tolerations"] = [{"operator": "Exists"}]
    why = "it tolerates our taint gpuspec.preferred.jp/unhealthy:NoSchedule, so the next one could"
    assert f"it stays: {why}" in flat(explain(monkeypatch, ward, "ml/p").stdout)
    told = answer(explain(monkeypatch, ward, "ml/p", "-o", "json"))
    assert (told["evictable"], told["becomes"]) == (False, "stays")
    assert told["why"].startswith(why)


@pytest.mark.rule("H6")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "it stays, for mode Observe evicts nobody; mode Evict would evict it"),
        ({"owner": None}, "it would stay: nothing would replace it: it has no owner"),
    ],
)
def test_in_observe_a_pod_stays(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], said: str
) -> None:
    ward = Ward().node("n1", bad=LOST, record=record("n1")).pod("p", "n1", **fields)
    assert said in flat(explain(monkeypatch, ward, "ml/p").stdout)


@pytest.mark.rule("H6", "H9")
def test_what_would_be_refused_is_told_in_observe(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().node("n1", bad=LOST, record=record("n1")).pod("p", "n1", conditions=READY)
    ward.disruption_budget("keep")
    assert f"would: evict ml/p, once that is allowed: {NO_DISRUPTION}" in flat(
        look(monkeypatch, ward).stdout
    )
    assert f"mode Evict would, once that is allowed: {NO_DISRUPTION}" in flat(
        explain(monkeypatch, ward, "ml/p").stdout
    )


@pytest.mark.rule("H9")
def test_disruption_budgets_that_may_not_be_seen_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = protected().pod("p", "n1")
    ward.refused.add(("list", "/apis/policy/v1/poddisruptionbudgets"))
    result = look(monkeypatch, ward)
    assert "next: evict ml/p" in flat(result.stdout)
    assert (
        "note: whose eviction PodDisruptionBudgets would refuse cannot be told: you may not list "
        "poddisruptionbudgets" in result.stderr
    )


@pytest.mark.rule("H3")
def test_of_many_that_recover_the_least_and_the_most_progress_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ward = Ward()
    for number in range(1, 5):
        good = {"good": min(number, 3), "good_since": NOW - 20 * number}
        found = record(f"n{number}", **good, relapses=number % 2)
        ward.node(f"n{number}", bad=WELL, record=found)
    said = flat(look(monkeypatch, ward).stdout)
    assert (
        "Failed 4 nodes, for 5m: recovering: seen good 1 to 3 times of the 3 that are needed, and "
        "good for 20s to 1m20s of the 5m to 10m that it takes, after up to 1 relapse" in said
    )


@pytest.mark.rule("H4", "H6")
def test_the_budget_that_observe_would_leave_is_told_beside_the_real_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ward = Ward({"mode": "Observe", "budget": {"percent": 20}})
    for number in range(10):
        name = f"n{number}"
        if number < 2:
            ward.node(name, bad=LOST, record=record(name))
        else:
            ward.node(name)
    ward.pod("p", "n0")
    said = flat(look(monkeypatch, ward).stdout)
    assert "evictions: 10 of the 10 in 10m are left; would be left: 9 of 10" in said
    assert (
        "v100-16gb: 2 of 2 nodes and 16 of 16 devices may still be quarantined (20% of 10 nodes "
        "and 80 devices); would be left: 0 of 2 nodes" in said
    )
    budget = answer(run("health", "-o", "json"), 1)["budget"]
    assert (budget["evictionsLeft"], budget["evictionsWouldBeLeft"]) == (10, 9)
    (row,) = budget["rows"]
    assert (row["nodes"]["quarantinesLeft"], row["nodes"]["quarantinesWouldBeLeft"]) == (2, 0)


@pytest.mark.rule("H10")
@pytest.mark.parametrize("mode", ["Observe", "Evict"])
def test_a_healthy_node_with_a_taint_by_hand_is_named(
    monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    ward = Ward({"mode": mode}).node("n1", taints=[TAINT]).node("n2")
    result = look(monkeypatch, ward)
    note = (
        "note: n1: nothing there has failed, but our taint "
        "gpuspec.preferred.jp/unhealthy:NoSchedule keeps new Pods away, and nothing tells that "
        "gpuspec has placed it: a person did, and has to take it off: kubectl taint node n1 "
        "gpuspec.preferred.jp/unhealthy-"
    )
    assert note in flat(result.stdout)
    assert "marks of ours are left" not in result.stdout
    use_ward(monkeypatch, ward)
    assert answer(run("health", "-o", "json"))["taintedByHand"] == ["n1"]
    assert note in flat(explain(monkeypatch, ward, "n1").stdout)
    assert "by hand" not in explain(monkeypatch, ward, "n2").stdout


@pytest.mark.rule("H10")
def test_a_taint_of_ours_that_is_remembered_is_nobody_elses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for ward in (quarantined(), recovering(), Ward().node("n1")):
        assert "a person" not in look(monkeypatch, ward).stdout


@pytest.mark.rule("H10")
def test_on_a_failed_node_the_duty_to_take_it_off_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward({"mode": "Evict"}).node("n1", bad=LOST, taints=[TAINT], record=record("n1"))
    duty = (
        "a person has placed it, so it stays once all is well, until: kubectl taint node n1 "
        "gpuspec.preferred.jp/unhealthy-"
    )
    assert duty in flat(look(monkeypatch, ward).stdout)
    assert duty in flat(explain(monkeypatch, ward, "n1").stdout)


@pytest.mark.rule("H4", "H6")
def test_what_others_have_spent_keeps_nobody_of_an_observed_row_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ward = Ward({"mode": "Evict", "rows": [{"id": "v100-16gb", "mode": "Observe"}]})
    ward.node("n1", bad=LOST, record=record("n1")).pod("p", "n1")
    spent = tuple(Eviction(f"gone-{number}", "web", NOW - 20) for number in range(10))
    said = flat(look(monkeypatch, ward.ledger(Ledger(evictions=spent))).stdout)
    assert "would: evict ml/p" in said
    assert "evictions wait" not in said
    assert (
        "evictions: 0 of the 10 in 10m are left; taken: 10 by namespace web (at most 8 by one); "
        "would be left: 9 of 10" in said
    )
