"""``gpuspec health simulate``: a history, and what would have been done about it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from tests.builders import DRIVER, PFN_TABLE
from tests.webhook.advice.health.ward import Ward, node, pod, use_ward
from tests.webhook.cli.running import answer, run

Json = dict[str, Any]

LOST: Json = {"bad": {"GPUIsLost": "True"}, "since": "2026-06-01T12:00:00Z"}
HISTORY = Path(__file__).parent.parent / "advice/health/history.json"


def event(kind: str, content: Json, at: str = "") -> str:
    """An event as kubectl prints it."""
    return json.dumps({"type": kind, "object": content, **({"at": at} if at else {})}, indent=4)


def simulate(text: str, *arguments: str, table: Path = PFN_TABLE) -> Result:
    options = ("--events", "-", "--table", str(table), *arguments)
    result = run("health", "simulate", *options, stdin=text)
    if "-o" not in arguments:
        assert all(len(line) <= 80 for line in result.stdout.splitlines())
    return result


def row_of_five() -> list[str]:
    return [event("ADDED", node(f"n{number}")) for number in range(1, 6)]


def ends(names: Iterable[str]) -> list[str]:
    """Nodes that are taken away, after which nothing is left to be judged."""
    return [event("DELETED", node(name), "2026-06-01T12:01:00Z") for name in names]


@pytest.mark.rule("H3", "H4", "H7", "H8", "H9")
def test_a_history_in_evict() -> None:
    """Two nodes of five fail; only one may be quarantined at a time, so the other one waits."""
    result = simulate(HISTORY.read_text(), "--mode", "Evict")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "12 events from 2026-06-01T11:50:00Z on, mode Evict",
        "",
        "+10m       node n1 is Suspect: condition KernelDeadlock is True (Seen)",
        "+10m20s    node n1 is Failed: condition KernelDeadlock is True (Seen)",
        "+10m20s    taint node n1 gpuspec.preferred.jp/unhealthy:NoSchedule",
        "+10m20s    node n1: 1 Pod would stay: ml/p2 (nothing would replace it: it has no",
        "           owner; it may say gpuspec.preferred.jp/on-device-failure: evict)",
        "+10m23s    evict Pod ml/p1",
        "+11m       node n2 is Failed: condition GPUIsLost is True (Seen)",
        "+11m       node n2: the share of its row that may be quarantined is spent",
        "+20m       node n1 is Healthy again",
        "+20m       take our taint off node n1",
        "+20m1s     taint node n2 gpuspec.preferred.jp/unhealthy:NoSchedule",
        "+20m2s     evict Pod ml/p3",
        "+21m       node n2 begins afresh: it is no longer there, or its node was",
        "           rebooted",
        "",
        "Subjects: 2 Failed, 1 Suspect, 0 Unknown; 1 recovered",
        "Done: 2 evict, 2 taint, 1 untaint",
        "Most in quarantine at once: 1",
        "Stopped by breakers: none",
    ]


@pytest.mark.rule("H6")
def test_a_history_in_quarantine_evicts_nobody() -> None:
    result = simulate(HISTORY.read_text(), "--mode", "Quarantine")
    assert "evict" not in result.stdout
    assert "Done: 2 taint, 1 untaint" in result.stdout


@pytest.mark.rule("H6")
def test_a_history_in_observe_says_what_would_be_done() -> None:
    lines = simulate(HISTORY.read_text()).stdout.splitlines()
    assert lines[0].endswith("mode Observe")
    assert "+10m20s    would taint node n1 gpuspec.preferred.jp/unhealthy:NoSchedule" in lines
    assert "+10m20s    would evict Pod ml/p1" in lines
    assert lines[-4:] == [
        "Done: none",
        "Would be done: 2 evict, 2 taint",
        "Most in quarantine at once: 1",
        "Stopped by breakers: none",
    ]


def test_a_quiet_history() -> None:
    result = simulate("\n".join(row_of_five()))
    assert result.stdout.splitlines()[2] == (
        "Nothing would have happened: no node or device was ever not healthy."
    )


@pytest.mark.rule("H5")
def test_a_sensor_that_lies_stops_its_row() -> None:
    events = row_of_five()
    events += [event("MODIFIED", node(f"n{number}", **LOST)) for number in range(1, 5)]
    events += ends(f"n{number}" for number in range(1, 5))
    lines = simulate("\n".join(events), "--mode", "Evict").stdout.splitlines()
    assert "+10m       row v100-16gb stops: too much of it failed within 5 minutes" in lines
    assert "+10m       node n1: the breaker stopped its row" in lines
    assert lines[-3:] == [
        "Done: none",
        "Most in quarantine at once: 0",
        "Stopped by breakers: v100-16gb",
    ]


@pytest.mark.rule("H5")
def test_two_rows_stop_everything() -> None:
    rows = {"a": "a30-24gb", "v": "v100-16gb"}
    names = [(f"{letter}{number}", row) for letter, row in rows.items() for number in range(3)]
    events = [event("ADDED", node(name, row)) for name, row in names]
    events += [event("MODIFIED", node(name, row, **LOST)) for name, row in names]
    events += ends(name for name, _ in names)
    stdout = simulate("\n".join(events), "--mode", "Evict").stdout
    assert "+10m       everything stops: several rows have" in stdout
    assert "Stopped by breakers: a30-24gb, v100-16gb" in stdout


def test_the_table_tells_mode_and_settings(tmp_path: Path) -> None:
    table = yaml.safe_load(PFN_TABLE.read_bytes())
    table["spec"]["health"] = {
        "mode": "Quarantine",
        "rows": [{"id": "a30-24gb", "mode": "Observe"}],
        "observations": {"bad": 1},
    }
    file = tmp_path / "table.yaml"
    file.write_text(yaml.safe_dump(table))
    result = simulate(HISTORY.read_text(), table=file)
    lines = result.stdout.splitlines()
    assert lines[0].endswith("mode Quarantine (a30-24gb Observe)")
    assert lines[2] == "+10m       node n1 is Failed: condition KernelDeadlock is True (Seen)"
    other = simulate(HISTORY.read_text(), "--mode", "Evict", table=file)
    assert other.stdout.splitlines()[0].endswith("mode Evict")


@pytest.mark.rule("H7")
@pytest.mark.parametrize(
    ("arguments", "done"),
    [
        (
            (),
            [
                f"place a DeviceTaintRule on {DRIVER}/pool/gpu-0, effect None",
                f"place a DeviceTaintRule on {DRIVER}/pool/gpu-0, effect NoSchedule",
            ],
        ),
        (("--no-device-rules",), ["taint node n1 gpuspec.preferred.jp/unhealthy:NoSchedule"]),
    ],
)
def test_devices_of_drivers(arguments: tuple[str, ...], done: list[str]) -> None:
    devices = {
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": DRIVER,
            "nodeName": "n1",
            "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
        },
    }
    claim = {
        "kind": "ResourceClaim",
        "metadata": {
            "name": "c",
            "namespace": "ml",
            "ownerReferences": [{"kind": "Pod", "name": "p1", "controller": True}],
        },
        "status": {
            "allocation": {
                "devices": {"results": [{"driver": DRIVER, "pool": "pool", "device": "gpu-0"}]}
            },
            "reservedFor": [{"resource": "pods", "name": "p1", "uid": "uid-p1"}],
        },
    }
    status = {"name": "claim:x", "resources": [{"resourceID": f"{DRIVER}/pool/gpu-0"}]}
    status["resources"][0]["health"] = "Unhealthy"  # type: ignore[index]
    holder = pod("p1", "n1")
    sick = pod("p1", "n1", containerStatuses=[{"allocatedResourcesStatus": [status]}])
    text = "\n".join(
        [
            *row_of_five(),
            *(event("ADDED", one) for one in (devices, claim, holder)),
            event("MODIFIED", sick, "2026-06-01T12:00:00Z"),
        ]
    )
    found = answer(simulate(text, "--mode", "Evict", "-o", "json", *arguments))
    acts = [one["text"] for one in found["timeline"] if one["what"] == "done"]
    assert acts[: len(done) + 1] == [*done, "evict Pod ml/p1"]


@pytest.mark.rule("H7")
def test_daemon_sets_that_a_taint_locks_out_are_named() -> None:
    daemon = {
        "kind": "DaemonSet",
        "metadata": {"name": "driver", "namespace": "kube-system"},
        "spec": {"template": {}},
    }
    text = HISTORY.read_text() + event("ADDED", daemon, "2026-06-01T11:51:00Z")
    stdout = simulate(text, "--mode", "Evict").stdout
    assert "these DaemonSets do not tolerate it: kube-system/driver" in " ".join(stdout.split())


@pytest.mark.rule("H9")
@pytest.mark.parametrize(("retries", "evicted"), [(0, 0), (6, 1)])
def test_jobs_of_the_history_count(retries: int, evicted: int) -> None:
    job = {
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "ml", "uid": "uid-j"},
        "spec": {"backoffLimit": retries},
    }
    text = "\n".join(
        [
            *row_of_five(),
            event("ADDED", job),
            event("ADDED", pod("p", "n1", owner=("Job", "j"))),
            event("MODIFIED", node("n1", **LOST)),
        ]
    )
    found = answer(simulate(text, "--mode", "Evict", "-o", "json"))
    assert found["summary"]["done"].get("evict", 0) == evicted


def test_what_is_deleted_is_gone() -> None:
    events = [*row_of_five(), event("MODIFIED", node("n1", **LOST))]
    events.append(event("DELETED", node("n1", **LOST), "2026-06-01T12:01:00Z"))
    stdout = simulate("\n".join(events)).stdout
    assert "+11m       node n1 begins afresh: it is no longer there, or its node was" in stdout
    assert "+1h" not in stdout


def test_the_json() -> None:
    found = answer(simulate(HISTORY.read_text(), "--mode", "Evict", "-o", "json"))
    assert (found["events"], found["from"]) == (12, "2026-06-01T11:50:00Z")
    assert (found["mode"], found["rowModes"]) == ("Evict", {})
    assert found["timeline"][0] == {
        "at": "2026-06-01T12:00:00Z",
        "what": "verdict",
        "of": "Suspect",
        "node": "n1",
        "device": None,
        "text": "node n1 is Suspect: condition KernelDeadlock is True (Seen)",
    }
    assert found["summary"] == {
        "verdicts": {"Failed": 2, "Suspect": 1, "Unknown": 0, "Healthy": 1},
        "done": {"taint": 2, "evict": 2, "untaint": 1},
        "would": {},
        "mostQuarantined": 1,
        "breakers": [],
    }
    assert found["to"] == "2026-06-01T12:11:00Z"  # nothing was unhealthy from then on


def test_the_yaml_says_the_same() -> None:
    found = answer(simulate(HISTORY.read_text(), "-o", "json"))
    assert yaml.safe_load(simulate(HISTORY.read_text(), "-o", "yaml").stdout) == found


def test_a_history_of_yaml_says_the_same() -> None:
    decoder, text, documents = json.JSONDecoder(), HISTORY.read_text(), []
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        documents.append(document)
        text = text.lstrip()[end:]
    written = simulate(yaml.safe_dump_all(documents, explicit_start=True))
    assert written.stdout == simulate(HISTORY.read_text()).stdout


def test_histories_of_several_kinds_are_one(tmp_path: Path) -> None:
    """kubectl watches one kind at a time, so there is a file for each."""
    nodes, pods = tmp_path / "nodes", tmp_path / "pods"
    nodes.write_text("\n".join([*row_of_five(), event("MODIFIED", node("n1", **LOST))]))
    pods.write_text(event("ADDED", pod("p1", "n1"), "2026-06-01T11:55:00Z"))
    files = ("--events", str(nodes), "--events", str(pods), "--table", str(PFN_TABLE))
    result = run("health", "simulate", *files, "--mode", "Evict")
    assert "evict Pod ml/p1" in result.stdout


HINT = "record it with: kubectl get nodes -o json -w --output-watch-events"
KINDS = "Node, Pod, ResourceSlice, ResourceClaim, DeviceTaintRule, Job, DaemonSet"


def test_all_that_cannot_be_read_is_said_at_once() -> None:
    text = """\
{"type": "CHANGED", "object": {"kind": "Node", "metadata": {"name": "n"}}}
{"type": "ADDED",
 "object": {"kind": "Secret", "metadata": {}}}
{"type": "ADDED"
{"kind": "Node"}
{"type": "ADDED", "at": "noon", "object": {"kind": "Pod", "metadata": {"name": "p"}}}
{"type": "ADDED", "object": []}
[1]
"""
    result = simulate(text)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"<stdin>:1:1: type: 'CHANGED' is none of ADDED, MODIFIED, DELETED; {HINT}",
        f"<stdin>:2:1: object.kind: 'Secret' is none of {KINDS}; {HINT}",
        f"<stdin>:2:1: object.metadata.name: is missing; {HINT}",
        (
            "<stdin>:5:1: is no JSON: Expecting ',' delimiter; its document begins at line 4; "
            f"{HINT}"
        ),
        (
            "<stdin>:5:1: is a Node, not an event about one; add --output-watch-events to the "
            "kubectl that records"
        ),
        (
            "<stdin>:6:1: at: 'noon' is no time; write one such as 2026-06-01T12:00:00Z, or leave "
            "it out"
        ),
        f"<stdin>:7:1: object: is no object; {HINT}",
        f"<stdin>:8:1: is no event: it is no mapping; {HINT}",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", f"<stdin>:1:1: the history has no events; {HINT}\n"),
        ("type: ADDED\n---\n- 1\n", f"<stdin>:1:1: object: is no object; {HINT}\n"),
        ("a: [\n", "<stdin>:2:1: did not find expected node content"),
        ('{"a":' * 100_000, "is nested too deeply"),
    ],
)
def test_what_is_no_history(text: str, said: str) -> None:
    result = simulate(text)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = run("health", "simulate", "--events", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert result.stderr == f"{tmp_path}/none: No such file or directory\n"


def test_standard_input_is_read_once() -> None:
    result = run("health", "simulate", "--events", "-", "--events", "-")
    assert result.exit_code == 2
    assert "standard input can be read only once" in result.stderr


def test_a_history_without_pods_says_that_it_shows_no_evictions() -> None:
    text = "\n".join([*row_of_five(), event("MODIFIED", node("n1", **LOST))])
    result = simulate(text, "--mode", "Evict")
    assert result.exit_code == 0
    assert result.stderr.endswith(
        "note: there are no Pods in this history, so no eviction can be shown; record them the "
        "same way and name both files: --events nodes.events --events pods.events\n"
    )


@pytest.mark.rule("H8", "H9")
def test_a_node_that_a_person_broke_loses_the_pods_that_came_before(tmp_path: Path) -> None:
    """The patch carries no time: its node tells of an hour ago, and the Pod came since."""
    since = "2026-06-01T11:00:00Z"
    lost = node("n1", bad={"GPUIsLost": "True"}, since=since)
    nodes = [event("ADDED", node(f"n{number}", since=since)) for number in range(1, 6)]
    young = pod("young", "n1")
    young["metadata"]["creationTimestamp"] = "2026-06-01T12:00:00Z"
    (tmp_path / "nodes").write_text("\n".join([*nodes, event("MODIFIED", lost)]))
    (tmp_path / "pods").write_text(event("ADDED", young))
    files = [part for name in ("nodes", "pods") for part in ("--events", str(tmp_path / name))]
    result = run("health", "simulate", *files, "--table", str(PFN_TABLE), "--mode", "Evict")
    assert "evict Pod ml/young" in result.stdout
    assert result.stderr == (
        "note: 1 change does not tell when (the first: Node n1): as if it came with what follows "
        "in its file, or at the end; keep the managedFields of what was recorded, write at: "
        "2026-06-01T12:00:00Z beside its type, or, where a person sets a condition, give that a "
        "lastTransitionTime\n"
    )


@pytest.mark.rule("H9")
def test_a_job_loses_no_more_pods_than_it_has_retries() -> None:
    job = {
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "ml", "uid": "uid-j"},
        "spec": {"backoffLimit": 1},
    }
    pods = [event("ADDED", pod(f"p{number}", "n1", owner=("Job", "j"))) for number in range(4)]
    sick = event("MODIFIED", node("n1", **LOST))
    text = "\n".join([*row_of_five(), event("ADDED", job), *pods, sick])
    found = answer(simulate(text, "--mode", "Evict", "-o", "json"))
    assert found["summary"]["done"]["evict"] == 1


def test_a_clusters_own_table(monkeypatch: pytest.MonkeyPatch) -> None:
    use_ward(monkeypatch, Ward({"mode": "Quarantine"}))
    options = ("--events", "-", "--table", "cluster:default")
    result = run("health", "simulate", *options, stdin=HISTORY.read_text())
    assert result.stdout.splitlines()[0].endswith("mode Quarantine")
