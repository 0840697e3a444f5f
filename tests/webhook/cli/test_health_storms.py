"""``gpuspec health`` in a storm: what is alike is told once, and nothing is lost by that (H11)."""

from __future__ import annotations

import pytest

from tests.webhook.advice.health.ward import NOW, Ward, use_ward
from tests.webhook.cli.running import answer, run
from tests.webhook.cli.test_health import LOST, TAINT, flat, look, quarantined, record
from webhook.health.cases import Mark
from webhook.health.ledger import Eviction, Ledger

pytestmark = pytest.mark.rule("H11")

NODES = 23


def storm(mode: str = "Observe", count: int = NODES) -> Ward:
    """So many nodes of one row failed by the same signal, one second after the other."""
    ward = Ward({"mode": mode, "budget": {"percent": 100}})
    for number in range(count):
        name = f"n{number:02d}"
        failed = record(name, since=NOW - 300 - number, failed=NOW - 300 - number)
        ward.node(name, bad=LOST, record=failed).pod(f"train-{number:02d}", name)
    return ward


def test_what_is_alike_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose Pods a budget holds are not like those whose Pods would go."""
    result = look(monkeypatch, storm())
    assert result.stdout.splitlines()[3:18] == [
        "v100-16gb",
        "  Failed  15 nodes, for 5m to 5m14s",
        "          n00, n01, n02, n03, n04, n05 and 9 more",
        "          - condition GPUIsLost is True (Seen), for 5m10s",
        "          would: taint 15 nodes gpuspec.preferred.jp/unhealthy:NoSchedule",
        "          evictions wait: the 8 evictions in 10m of their namespace are spent:",
        "            ml/train-00, ml/train-01, ml/train-02, ml/train-03 and 11 more",
        "  Failed  8 nodes, for 5m15s to 5m22s",
        "          n15, n16, n17, n18, n19, n20 and 2 more",
        "          - condition GPUIsLost is True (Seen), for 5m10s",
        "          would: taint 8 nodes gpuspec.preferred.jp/unhealthy:NoSchedule",
        "          would: evict ml/train-15, ml/train-16, ml/train-17, ml/train-18 and 4",
        "            more",
        "",
        "Budget, once what is next is done",
    ]
    assert "\n\n(--all tells of each by itself)\n\n23 Failed" in result.stdout
    assert "23 Failed" in result.stdout


def test_all_and_the_json_tell_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    use_ward(monkeypatch, storm())
    said = run("health", "--all").stdout
    for number in range(NODES):
        assert f"  Failed  node n{number:02d}, for 5m" in said
    assert "by itself" not in said
    assert len(answer(run("health", "-o", "json"), 1)["subjects"]) == NODES


def test_two_that_are_alike_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    said = look(monkeypatch, storm(count=2)).stdout
    assert "  Failed  node n00, for 5m" in said
    assert "  Failed  node n01, for 5m1s" in said
    assert "--all" not in said


def test_what_differs_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them has our taint, one another signal: what is said of them is not the same."""
    ward = storm("Quarantine", count=7)
    marked = record("n00", mark=Mark.TAINT, is_seen=True)
    ward.node("n00", bad=LOST, taints=[TAINT], record=marked)
    ward.node("n01", bad={"GPUMissing": "True"}, record=record("n01"))
    ward.node("other", "a30-24gb", bad=LOST, record=record("other"))
    said = flat(look(monkeypatch, ward).stdout)
    assert "Failed node n00, for 5m" in said
    assert "Failed node n01, for 5m" in said
    assert "Failed 5 nodes, for 5m2s to 5m6s n02, n03, n04, n05, n06 - condition" in said
    assert "next: taint 5 nodes gpuspec.preferred.jp/unhealthy:NoSchedule" in said
    assert "5 Pods stay on it, for mode Quarantine evicts nobody: ml/train-02," in said
    assert "Failed node other, for 5m" in said


@pytest.mark.rule("H5")
def test_a_stopped_row_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = storm("Evict").ledger(Ledger(breakers={"v100-16gb": NOW - 90}))
    said = flat(look(monkeypatch, ward).stdout)
    assert said.startswith("STOPPED: v100-16gb, since 2026-06-01T11:58:30Z, for 1m30s:")
    assert said.count("held back: the breaker stopped its row") == 1
    assert "new Pods may still come there left alone: ml/train-00, ml/train-01," in said
    assert "ml/train-03 and 19 more: the breaker stopped its row" in said


@pytest.mark.rule("H5", "H6")
@pytest.mark.parametrize(
    ("observed", "said"),
    [
        (["a30-24gb"], "next: taint node n1 gpuspec.preferred.jp/unhealthy:NoSchedule"),
        (["a30-24gb", "v100-32gb"], "STOPPED: nothing is done about any row, because 2 rows have"),
    ],
)
def test_a_row_that_is_only_observed_counts_where_rows_stop(
    monkeypatch: pytest.MonkeyPatch, observed: list[str], said: str
) -> None:
    """As the README says: by itself it stops only itself, and two rows stop everything."""
    rows = [{"id": row, "mode": "Observe"} for row in observed]
    ward = Ward({"mode": "Evict", "rows": rows}).node("n1", bad=LOST, record=record("n1"))
    for row in observed:
        for number in range(3):
            name = f"{row}-{number}"
            failed = record(name, since=NOW - 100, failed=NOW - 100)
            ward.node(name, row, bad=LOST, record=failed)
    text = flat(look(monkeypatch, ward).stdout)
    assert said in text
    assert text.startswith("STOPPED: ")
    assert ("next: taint node n1" in text) is (len(observed) == 1)


@pytest.mark.rule("H10")
def test_what_ends_the_removal_of_many_marks_is_told_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ward = Ward({"mode": "Evict"})
    for number in range(4):
        marked = record(f"n{number}", mark=Mark.TAINT, is_seen=True)
        ward.node(f"n{number}", bad=LOST, record=marked)
    said = flat(look(monkeypatch, ward).stdout)
    assert said.count("kubectl taint node NODE gpuspec.preferred.jp/unhealthy:NoSchedule") == 1


@pytest.mark.rule("H4")
def test_what_was_evicted_is_told_by_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = quarantined()
    gone = [("ml", 20), ("ml", 70), ("web", 599), ("web", 601)]
    evictions = tuple(Eviction(f"{name}-{age}", name, NOW - age) for name, age in gone)
    said = look(monkeypatch, ward.ledger(Ledger(evictions=evictions))).stdout
    begin = said.index("Evicted in the last 10m")
    assert said[begin:].splitlines()[:5] == [
        "Evicted in the last 10m",
        "  ml: 2 Pods, the last one 20s ago",
        "  web: 1 Pod, 9m59s ago",
        "  Which ones their Events tell:",
        "    kubectl get events -A --field-selector reason=EvictedFromFailedDevice",
    ]
    assert (
        "7 of the 10 in 10m are left; taken: 2 by namespace ml, 1 by namespace web (at most 8 by "
        "one)" in flat(said)
    )
