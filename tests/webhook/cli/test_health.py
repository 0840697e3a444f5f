"""``gpuspec health``: what is not healthy, what is done about it, and what is left (H11)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from click.testing import Result

from tests.builders import GPU
from tests.webhook.advice.health.ward import LEDGER, NOW, SERVER, Ward, use_ward
from tests.webhook.cli.running import answer, run
from webhook.health.cases import Case, Evidence, Mark, Verdict
from webhook.health.ledger import Eviction, Ledger
from webhook.health.readings import Grade, Source
from webhook.health.records import Record
from webhook.health.subjects import node_subject
from webhook.kube.errors import ApiError

pytestmark = pytest.mark.rule("H11")

LOST = {"GPUIsLost": "True"}
TAINT = {"key": "gpuspec.preferred.jp/unhealthy", "effect": "NoSchedule"}
SUSPECT = {"gpuspec.preferred.jp/health": "suspect"}


def look(monkeypatch: pytest.MonkeyPatch, ward: Ward, *arguments: str) -> Result:
    use_ward(monkeypatch, ward)
    result = run("health", *arguments)
    assert not ward.writes
    if not arguments:
        assert all(len(line) <= 80 for line in result.stdout.splitlines())
    return result


def flat(text: str) -> str:
    """Undo the line breaks of paragraphs."""
    return " ".join(text.split())


def record(node: str, **changes: Any) -> Record:  # noqa: ANN401
    """What the controller wrote about a node that failed five minutes ago."""
    evidence = Evidence(
        Source.CONDITION, "GPUIsLost", Grade.FATAL, "condition GPUIsLost is True", NOW - 310
    )
    case = Case(
        node_subject(node),
        held=Verdict.FAILED,
        since=NOW - 300,
        evidence=(evidence,),
        bad=3,
        looked=NOW - 5,
        failed=NOW - 300,
        boot="boot",
    )
    return Record(f"uid-{node}", (replace(case, **changes),))


def quarantined(name: str = "n1", mode: str = "Evict") -> Ward:
    """A row of five nodes, one of which has failed and has our taint."""
    marked = record(name, mark=Mark.TAINT, is_seen=True)
    ward = Ward({"mode": mode}).node(name, bad=LOST, taints=[TAINT], record=marked)
    for number in range(2, 6):
        ward.node(f"n{number}")
    return ward.ledger(Ledger(quarantined={node_subject(name): NOW - 300}))


def test_nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    result = look(monkeypatch, Ward().node("n1").node("n2"))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"{SERVER}, v1.37.2: 2 nodes of table default",
        "mode Observe",
        "",
        "Nothing is wrong with any node or device, as far as it is told.",
        "",
        "Budget, once what is next is done",
        "  evictions: 10 of the 10 in 10m are left",
        "",
        "0 Failed, 0 Suspect, 0 Unknown; stopped: none",
    ]
    assert result.stderr == ""


def test_what_has_failed_and_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = quarantined()
    ward.pod("train-0", "n1").pod("train-1", "n1", owner=None)
    ward.pod("train-2", "n1")
    ward.objects["/api/v1/namespaces/ml/pods/train-2"]["metadata"]["deletionTimestamp"] = "now"
    evicted = Eviction("uid-train-2", "ml", NOW - 20)
    ward.ledger(Ledger(evictions=(evicted,), quarantined={node_subject("n1"): NOW - 300}))
    result = look(monkeypatch, ward)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[3:] == [
        "v100-16gb",
        "  Failed  node n1, for 5m",
        "          - condition GPUIsLost is True (Seen), for 5m10s",
        "          done: new Pods are kept away by our taint",
        "            gpuspec.preferred.jp/unhealthy:NoSchedule",
        "          next: evict ml/train-0",
        "          stays: ml/train-1: nothing would replace it: it has no owner; it may",
        "            say gpuspec.preferred.jp/on-device-failure: evict",
        "          evicted: ml/train-2: it is being deleted",
        "",
        "Evicted in the last 10m",
        "  ml: 1 Pod, 20s ago; still ending: train-2",
        "  Which ones their Events tell:",
        "    kubectl get events -A --field-selector reason=EvictedFromFailedDevice",
        "",
        "Budget, once what is next is done",
        "  evictions: 8 of the 10 in 10m are left; taken: 2 by namespace ml (at most 8 by",
        "    one)",
        "  v100-16gb: 0 of 1 node and 8 of 8 devices may still be quarantined (20% of 5",
        "    nodes and 40 devices)",
        "",
        "1 Failed, 0 Suspect, 0 Unknown; stopped: none",
    ]
    assert result.stderr == ""


@pytest.mark.rule("H6")
def test_in_observe_it_says_what_would_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward({"mode": "Observe"}).node("n1", bad=LOST, record=record("n1"))
    said = flat(look(monkeypatch, ward.pod("train-0", "n1")).stdout)
    assert "would: taint node n1 gpuspec.preferred.jp/unhealthy:NoSchedule" in said
    assert "would: evict ml/train-0" in said
    assert "done:" not in said
    assert "next:" not in said


@pytest.mark.rule("H6")
def test_in_quarantine_the_pods_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = quarantined(mode="Quarantine").pod("train-0", "n1").pod("train-1", "n1")
    said = flat(look(monkeypatch, ward).stdout)
    stay = "2 Pods stay on it, for mode Quarantine evicts nobody: ml/train-0, ml/train-1"
    assert stay in said


@pytest.mark.rule("H6")
def test_a_row_of_another_mode_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    health = {"mode": "Evict", "rows": [{"id": "a30-24gb", "mode": "Observe"}]}
    ward = Ward(health).node("a", "a30-24gb", bad=LOST).node("n", bad=LOST)
    lines = look(monkeypatch, ward).stdout.splitlines()
    assert lines[1] == "mode Evict (a30-24gb Observe)"
    assert "a30-24gb, mode Observe" in lines
    assert "v100-16gb" in lines


def test_what_will_follow_once_no_pod_can_come(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward({"mode": "Evict"}).node("n1", bad=LOST).pod("train-0", "n1")
    said = flat(look(monkeypatch, ward).stdout)
    assert "next: taint node n1 gpuspec.preferred.jp/unhealthy:NoSchedule" in said
    assert "then, once no new Pod can come: evict ml/train-0" in said


def test_what_no_controller_has_written_down_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    here = flat(look(monkeypatch, Ward().node("n1", bad=LOST)).stdout)
    assert "Failed node n1, just now" in here
    assert "seen by this command only: the controller has not written it down" in here
    written = look(monkeypatch, Ward().node("n1", bad=LOST, record=record("n1")))
    assert "seen by this command only" not in flat(written.stdout)


@pytest.mark.rule("H3")
def test_a_suspect_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    result = look(monkeypatch, Ward().node("n1", allocatable=7))
    said = flat(result.stdout)
    assert result.exit_code == 0
    assert (
        f"Suspect some {GPU} of node n1, just now: seen bad once of the 3 times that are needed"
        in said
    )
    assert f"- 7 of 8 {GPU} are allocatable, just now" in said


@pytest.mark.rule("H3")
def test_a_recovery_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    recovering = record("n1", good=2, good_since=NOW - 60, looked=NOW - 20, relapses=1)
    ward = Ward().node("n1", bad={"GPUIsLost": "False"}, record=recovering)
    result = look(monkeypatch, ward)
    assert result.exit_code == 1
    assert (
        "Failed node n1, for 5m: recovering: seen good 3 times of the 3 that are needed, and good "
        "for 1m of the 10m that it takes, after 1 relapse" in flat(result.stdout)
    )


@pytest.mark.rule("H3")
def test_what_cannot_be_told_is_unknown_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward({"mode": "Evict"}).node("n1", ready="Unknown", record=record("n1"))
    said = flat(look(monkeypatch, ward).stdout)
    assert "Unknown node n1, just now: cannot tell, was Failed" in said
    assert "cannot tell: node n1 is not Ready, so nothing that it says is new" in said
    assert "held back: data is missing or stale" in said


@pytest.mark.rule("H4")
def test_a_row_whose_share_is_spent_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = quarantined().node("n2", bad=LOST, record=record("n2")).pod("train-0", "n2")
    said = flat(look(monkeypatch, ward).stdout)
    assert "held back: the share of its row that may be quarantined is spent" in said
    assert (
        "new Pods may still come there wait for its row's budget: the share of its row that may be "
        "quarantined is spent: ml/train-0" in said
    )


@pytest.mark.rule("H3")
def test_what_was_is_not_told_as_if_it_were(monkeypatch: pytest.MonkeyPatch) -> None:
    well = {"GPUIsLost": "False"}
    ward = Ward({"mode": "Evict"}).node("n1", bad=well, record=record("n1"))
    said = flat(look(monkeypatch, ward).stdout)
    assert "- earlier: condition GPUIsLost is True, first seen 5m10s ago" in said


@pytest.mark.rule("H4")
@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"evictions": 2}, "evictions wait: the 2 evictions in 10m are spent"),
        (
            {"evictionsPerNamespace": 2},
            "evictions wait: the 2 evictions in 10m of their namespace are spent",
        ),
    ],
)
def test_evictions_that_are_spent_wait(
    monkeypatch: pytest.MonkeyPatch, budget: dict[str, int], said: str
) -> None:
    ward = quarantined().pod("train-0", "n1")
    table = ward.objects["/apis/gpuspec.preferred.jp/v1alpha1/selectiontables/default"]
    table["spec"]["health"]["budget"] = budget
    evicted = tuple(Eviction(pod, "ml", NOW - 20) for pod in ("gone", "left"))
    ward.ledger(Ledger(evictions=evicted, quarantined={node_subject("n1"): NOW - 300}))
    assert said in flat(look(monkeypatch, ward).stdout)


@pytest.mark.rule("H5")
def test_a_breaker_is_reason_enough_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward({"mode": "Evict"}).node("n1").ledger(Ledger(breakers={"v100-16gb": NOW - 100}))
    result = look(monkeypatch, ward)
    assert result.exit_code == 1
    assert flat(result.stdout).startswith(
        "STOPPED: v100-16gb, since 2026-06-01T11:58:20Z, for 1m40s: half of it or more failed "
        "within 5m, so the sensor is suspected. Look first: is what the sensor says true, and what "
        "do they have in common? If it is true, or once it is mended: gpuspec health resume "
        f"v100-16gb {SERVER}"
    )
    assert result.stdout.endswith("\n\n0 Failed, 0 Suspect, 0 Unknown; stopped: v100-16gb\n")


@pytest.mark.rule("H5")
def test_two_breakers_stop_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = {"a30-24gb": NOW, "a100-80gb": NOW}
    ward = Ward({"mode": "Evict"}).node("n1", bad=LOST).ledger(Ledger(breakers=stopped))
    said = flat(look(monkeypatch, ward).stdout)
    assert said.startswith(
        "STOPPED: nothing is done about any row, because 2 rows have stopped. a100-80gb, since "
        "2026-06-01T12:00:00Z, for 0s: half of it or more failed within 5m, so the sensor is "
        "suspected. a30-24gb, since"
    )
    assert "once it is mended: gpuspec health resume a100-80gb a30-24gb" in said
    assert (
        "held back: everything is stopped, by a100-80gb and a30-24gb; gpuspec health resume "
        "a100-80gb a30-24gb" in said
    )
    assert "new Pods may still come there" in said


@pytest.mark.rule("H10")
def test_a_mark_that_a_person_removed_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = record("n1", mark=Mark.TAINT, is_seen=True)
    ward = Ward({"mode": "Evict"}).node("n1", bad=LOST, record=marked).pod("train-0", "n1")
    said = flat(look(monkeypatch, ward).stdout)
    assert (
        "held back: a person removed our mark, and there is no new evidence since; gpuspec acts "
        "again on another signal, on this one after the node was good for long enough to recover, "
        "and after a reboot new Pods may still come there left alone: ml/train-0: a person removed "
        "our mark" in said
    )
    assert said.count("kubectl taint node") == 2  # how, and how to undo it: once for all nodes
    assert (
        "note: to have gpuspec act at once on a node whose mark a person has removed: kubectl "
        "taint node NODE gpuspec.preferred.jp/unhealthy:NoSchedule; once the node is well take "
        "that off again (kubectl taint node NODE gpuspec.preferred.jp/unhealthy-), for gpuspec "
        "does not remove what a person has placed" in said
    )


@pytest.mark.rule("H6", "H10")
def test_in_observe_nobody_is_told_how_to_have_it_act(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = record("n1", mark=Mark.TAINT, is_seen=True)
    ward = Ward({"mode": "Observe"}).node("n1", bad=LOST, record=marked)
    said = flat(look(monkeypatch, ward).stdout)
    assert "held back: a person removed our mark" in said
    assert "kubectl taint" not in said


@pytest.mark.rule("H7")
def test_a_mark_that_is_not_there_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = record("n1", mark=Mark.TAINT)
    ward = Ward({"mode": "Evict"}).node("n1", bad=LOST, record=marked)
    said = flat(look(monkeypatch, ward).stdout)
    assert "done: our taint gpuspec.preferred.jp/unhealthy:NoSchedule was placed, and is" in said


@pytest.mark.rule("H7")
def test_daemon_sets_that_would_not_come_back_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward({"mode": "Quarantine"}).node("n1", bad=LOST)
    ward.put("/apis/apps/v1/namespaces/kube-system/daemonsets/driver", daemon("driver"))
    assert (
        "these DaemonSets would not come back beside it: kube-system/driver; give them a "
        "toleration of gpuspec.preferred.jp/unhealthy, operator Exists"
        in flat(look(monkeypatch, ward).stdout)
    )


def daemon(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "kube-system"}, "spec": {"template": {}}}


@pytest.mark.rule("H8")
def test_nobody_is_evicted_where_the_holder_cannot_be_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = replace(
        record("n1").cases[0],
        subject=replace(node_subject("n1"), resource=GPU),
        evidence=(Evidence(Source.ALLOCATABLE, GPU, Grade.ERROR, "7 of 8", NOW - 300),),
    )
    ward = Ward({"mode": "Evict"}).node("n1", allocatable=7, record=Record("uid-n1", (case,)))
    said = flat(look(monkeypatch, ward.pod("train-0", "n1")).stdout)
    assert "done: new Pods are kept away by its kubelet, which withholds it" in said
    assert "nobody is evicted from it: no Pod's status tells which of them holds this" in said
    assert "evict ml/train-0" not in said


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    ("retries", "said"),
    [(6, "next: evict ml/train-0"), (0, "stays: ml/train-0: its Job train would fail for good")],
)
def test_jobs_are_looked_at_where_it_matters(
    monkeypatch: pytest.MonkeyPatch, retries: int, said: str
) -> None:
    ward = quarantined().pod("train-0", "n1", owner=("Job", "train"))
    job = {"metadata": {"name": "train", "uid": "uid-train"}, "spec": {"backoffLimit": retries}}
    ward.put("/apis/batch/v1/namespaces/ml/jobs/train", job)
    assert said in flat(look(monkeypatch, ward).stdout)


@pytest.mark.rule("H9")
def test_another_job_of_the_same_name_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = quarantined().pod("train-0", "n1", owner=("Job", "train"))
    ward.put("/apis/batch/v1/namespaces/ml/jobs/train", {"metadata": {"uid": "another"}})
    said = flat(look(monkeypatch, ward).stdout)
    assert "stays: ml/train-0: its Job train cannot be looked at yet" in said


@pytest.mark.rule("H10")
@pytest.mark.parametrize(
    ("fields", "named"),
    [({"taints": [TAINT]}, True), ({"labels": SUSPECT}, True), ({}, False)],
)
def test_marks_that_observe_leaves_behind_are_named(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], *, named: bool
) -> None:
    known = record("n1", mark=Mark.TAINT, is_seen=True)
    ward = Ward().node("n1", bad={"GPUIsLost": "False"}, record=known, **fields)
    said = flat(look(monkeypatch, ward).stdout)
    left = (
        "note: marks of ours are left on n1, which mode Observe neither keeps up nor removes; "
        "gpuspec health clear n1 removes them"
    )
    assert (left in said) is named


@pytest.mark.rule("H10")
def test_marks_of_other_modes_are_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "marks of ours are left" not in flat(look(monkeypatch, quarantined()).stdout)


@pytest.mark.rule("H2")
@pytest.mark.parametrize(("minor", "missing"), [(35, True), (36, False), (37, False)])
def test_signals_that_kubernetes_drops_are_named(
    monkeypatch: pytest.MonkeyPatch, minor: int, *, missing: bool
) -> None:
    said = flat(look(monkeypatch, Ward(minor=minor).node("n1")).stdout)
    text = (
        "note: Kubernetes v1.35.2 drops by default: ResourceSlice taints, allocatedResourcesStatus "
        "of Pods, extendedResourceClaimStatus of Pods"
    )
    assert (text in said) is missing


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "/api/v1/pods",
            "note: who holds devices, and what befell Pods, cannot be told: you may not list pods",
        ),
        (
            "/apis/apps/v1/daemonsets",
            (
                "note: which DaemonSets a taint would lock out cannot be told: you may not list "
                "daemonsets"
            ),
        ),
        (
            "/apis/resource.k8s.io/v1/resourceslices",
            (
                "note: which devices drivers offer and taint cannot be told: you may not list "
                "resourceslices"
            ),
        ),
        (
            "/apis/resource.k8s.io/v1/resourceclaims",
            "note: which devices claims hold cannot be told: you may not list resourceclaims",
        ),
        (
            "/apis/resource.k8s.io/v1/devicetaintrules",
            (
                "note: which DeviceTaintRules there are cannot be told: you may not list "
                "devicetaintrules"
            ),
        ),
    ],
)
def test_what_may_not_be_seen_is_named(
    monkeypatch: pytest.MonkeyPatch, path: str, said: str
) -> None:
    ward = Ward().node("n1")
    ward.refused.add(("list", path))
    result = look(monkeypatch, ward)
    assert result.exit_code == 0
    assert said in result.stderr.splitlines()


def test_a_ledger_that_may_not_be_seen_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().node("n1")
    ward.refused.add(("get", LEDGER))
    assert (
        "note: what is left of the budget, and what is stopped cannot be told: you may not get "
        "gpuspec-health" in look(monkeypatch, ward).stderr
    )


def test_a_ledger_that_nobody_can_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().node("n1").ledger("{")
    assert (
        "note: what is left of the budget cannot be told: field ledger of ConfigMap "
        "gpuspec-system/gpuspec-health cannot be read" in look(monkeypatch, ward).stderr
    )


def test_without_nodes_there_is_nothing_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward()
    ward.refused.add(("list", "/api/v1/nodes"))
    result = look(monkeypatch, ward)
    assert result.exit_code == 2
    assert result.stderr == (
        "the cluster refuses: GET /api/v1/nodes: 403 Forbidden: you may not list nodes; ask an "
        "admin for this permission\n"
    )


def test_the_json(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = quarantined().pod("train-0", "n1")
    evicted = (Eviction("gone", "ml", NOW - 100), Eviction("long-gone", "ml", NOW - 900))
    ward.ledger(Ledger(evictions=evicted, quarantined={node_subject("n1"): NOW - 300}))
    use_ward(monkeypatch, ward)
    found = answer(run("health", "-o", "json"), 1)
    assert (found["server"], found["kubernetes"], found["mode"]) == (SERVER, "v1.37.2", "Evict")
    assert found["at"] == "2026-06-01T12:00:00Z"
    (subject,) = found["subjects"]
    assert subject == {
        "node": "n1",
        "kind": "node",
        "device": None,
        "rows": ["v100-16gb"],
        "mode": "Evict",
        "verdict": "Failed",
        "held": "Failed",
        "since": "2026-06-01T11:55:00Z",
        "recorded": True,
        "observations": {
            "bad": 3,
            "badWanted": 3,
            "good": 0,
            "goodWanted": 3,
            "goodSince": None,
            "recoverySeconds": 300,
            "relapses": 0,
        },
        "evidence": [
            {
                "source": "NodeCondition",
                "name": "GPUIsLost",
                "grade": "Fatal",
                "said": "condition GPUIsLost is True (Seen)",
                "since": "2026-06-01T11:54:50Z",
            }
        ],
        "said": ["condition GPUIsLost is True (Seen)"],
        "mark": "taint",
        "fence": {"by": "node taint", "inPlace": True},
        "holders": [{"pod": "ml/train-0", "stays": None, "becomes": "evict", "why": None}],
        "actions": [
            {
                "do": "evict",
                "node": "n1",
                "kind": "node",
                "device": None,
                "pod": "ml/train-0",
                "effect": None,
            }
        ],
        "heldBack": None,
        "spent": None,
        "lockedOut": [],
    }
    assert found["budget"]["evictionsLeft"] == 8
    assert found["budget"]["rows"] == [
        {
            "id": "v100-16gb",
            "nodes": {
                "count": 5,
                "quarantineLimit": 1,
                "quarantinesLeft": 0,
                "quarantinesWouldBeLeft": 0,
            },
            "devices": {
                "count": 40,
                "quarantineLimit": 8,
                "quarantinesLeft": 8,
                "quarantinesWouldBeLeft": 8,
            },
        }
    ]
    assert (found["breakers"], found["stopsAll"], found["marksLeft"]) == ([], False, [])
    assert (found["taintedByHand"], found["budget"]["evictionsWouldBeLeft"]) == ([], 10)
    assert found["evicted"] == [
        {"namespace": "ml", "uid": "gone", "pod": None, "at": "2026-06-01T11:58:20Z"}
    ]


def test_the_yaml_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    use_ward(monkeypatch, quarantined())
    found = answer(run("health", "-o", "json"), 1)
    assert yaml.safe_load(run("health", "-o", "yaml").stdout) == found


@pytest.mark.rule("H8")
def test_a_holder_that_cannot_be_told_is_null_in_the_json(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = (Evidence(Source.ALLOCATABLE, GPU, Grade.ERROR, "7 of 8", NOW - 300),)
    subject = replace(node_subject("n1"), resource=GPU)
    found = record("n1", subject=subject, evidence=evidence)
    use_ward(monkeypatch, Ward().node("n1", allocatable=7, record=found))
    (told,) = answer(run("health", "-o", "json"), 1)["subjects"]
    assert (told["device"], told["holders"]) == (GPU, None)


def test_long_lists_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    states = dict.fromkeys(("GPUIsLost", "GPUMissing", "GpuBus", "GpuCount", "GpuEcc"), "True")
    marked = record("n1", mark=Mark.TAINT, is_seen=True)
    ward = Ward({"mode": "Evict"}).node("n1", bad=states, taints=[TAINT], record=marked)
    for number in range(6):
        ward.pod(f"alone-{number}", "n1", owner=None).pod(f"train-{number}", "n1")
    lines = [line.strip() for line in look(monkeypatch, ward).stdout.splitlines()]
    assert "- and 2 more" in lines
    assert "stay: 2 more Pods" in lines
    assert "next: evict ml/train-0, ml/train-1, ml/train-2, ml/train-3 and 2 more" in lines


@pytest.mark.rule("H9")
def test_pods_that_the_kubelet_rejected_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = quarantined()
    for number in range(2):
        dead = {"phase": "Failed", "reason": "UnexpectedAdmissionError"}
        ward.pod(f"dead-{number}", "n1", **dead, startTime="2026-06-01T11:58:00Z")
    said = flat(look(monkeypatch, ward).stdout)
    assert "next: remove 2 Pods that the kubelet rejected" in said


@pytest.mark.rule("H2")
def test_a_program_that_crashes_everywhere_is_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().node("n1")
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": "2026-06-01T11:59:00Z"}
    for number in range(3):
        resources = [{"resourceID": f"GPU-{number}", "health": "Healthy"}]
        status = {
            "lastState": {"terminated": ended},
            "allocatedResourcesStatus": [{"name": GPU, "resources": resources}],
        }
        ward.pod(f"p{number}", "n1", containerStatuses=[status])
    assert "note: ml/ReplicaSet/train crashed on 3 devices, so the program is to blame" in flat(
        look(monkeypatch, ward).stdout
    )


def test_a_cluster_that_is_in_trouble_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward().node("n1")

    def fail(verb: str, path: str) -> None:
        if path == "/apis/apps/v1/daemonsets":
            raise ApiError(f"GET {path}", 500, "InternalError", f"cannot {verb}")

    monkeypatch.setattr(ward, "_refuse", fail)
    result = look(monkeypatch, ward)
    assert result.exit_code == 2
    assert result.stderr == (
        "the cluster refuses: GET /apis/apps/v1/daemonsets: 500 InternalError: cannot list\n"
    )


def test_options_before_a_sub_command_are_refused() -> None:
    result = run("health", "--context", "c", "-o", "json", "explain", "n1")
    assert result.exit_code == 2
    assert "put --context, --output behind explain: gpuspec health explain …" in result.stderr
