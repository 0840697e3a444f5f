"""``gpuspec health explain``: one node with all its signals, or one Pod with its devices."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import Result

from tests.builders import DRIVER, GPU
from tests.webhook.advice.health.ward import NOW, SERVER, Ward, use_ward
from tests.webhook.cli.running import answer, run
from tests.webhook.cli.test_health import LOST, SUSPECT, TAINT, daemon, flat, quarantined, record
from webhook.health.cases import Verdict
from webhook.health.ledger import Ledger

pytestmark = pytest.mark.rule("H11")


def explain(monkeypatch: pytest.MonkeyPatch, ward: Ward, *arguments: str) -> Result:
    use_ward(monkeypatch, ward)
    monkeypatch.setattr("webhook.kube.contexts.namespace_of", lambda *_: "ml")
    result = run("health", "explain", *arguments)
    assert not ward.writes
    if "-o" not in arguments:
        assert all(len(line) <= 80 for line in result.stdout.splitlines())
    return result


def test_a_node_with_nothing_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    result = explain(monkeypatch, Ward({"mode": "Evict"}).node("n1"), "n1")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[:9] == [
        f"node n1 of {SERVER}, v1.37.2",
        "row: v100-16gb; mode Evict; Ready",
        "",
        "Nothing speaks against this node or its devices.",
        "",
        "Marks of ours: none",
        "Pods with devices: none",
        "",
        "Signals",
    ]
    assert lines[9] == f"  good    8 of 8 {GPU} are allocatable"


@pytest.mark.rule("H2")
def test_every_signal_of_a_node_is_shown_with_its_polarity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = {
        "conditions": [
            {
                "type": "Mine",
                "badStatus": "False",
                "severity": "Warning",
                "reasonRegex": "^Se",
                "minDuration": "1h",
            }
        ]
    }
    states = {**LOST, "KernelReady": "True", "Mine": "False", "Theirs": "True"}
    labels = {"dgxc.nvidia.com/nvsentinel-state": "quarantined"}
    taints = [
        {"key": "amd-gpu-unhealthy", "effect": "NoSchedule"},
        {"key": "team", "value": "a", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
    ]
    ward = Ward(table).node("n1", bad=states, labels=labels, taints=taints, allocatable=7)
    said = flat(explain(monkeypatch, ward, "n1").stdout)
    for line in (
        "fatal condition GPUIsLost is True (Seen), for 10m; Fatal when True",
        "fatal taint amd-gpu-unhealthy:NoSchedule",
        f"error 7 of 8 {GPU} are allocatable",
        "warning label dgxc.nvidia.com/nvsentinel-state=quarantined",
        "unknown condition Mine is False (Seen), for 10m; Warning when False with a reason like",
        "like ^Se for 1h",
        "good condition KernelReady is True (Seen), for 10m; Error when False for 1m",
        "- condition Theirs is True (Seen), for 10m; nobody listens to it",
        "- taint team=a:NoSchedule; nobody listens to it",
    ):
        assert line in said
    assert "unschedulable" not in said
    absent = answer(explain(monkeypatch, ward, "n1", "-o", "json"))["notThere"]
    assert said.endswith(
        f"- listened to and not there: {len(absent)} conditions: AMDGPUProblem, AMDGPUUnhealthy, "
        f"AcceleratedHardwareReady and {len(absent) - 3} more; -o json names all"
    )
    assert not {"GPUIsLost", "KernelReady", "Mine", "Theirs"} & {*absent}


@pytest.mark.rule("H2")
def test_what_drivers_and_kubelets_say_of_devices_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ward = Ward().node("n1")
    taint = {"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"}
    ward.put("/apis/resource.k8s.io/v1/resourceslices/s", slice_of("n1", {"gpu-0": [taint]}))
    status = {
        "name": GPU,
        "resources": [{"resourceID": "GPU-1", "health": "Unhealthy"}],
    }
    ward.pod("train-0", "n1", containerStatuses=[{"allocatedResourcesStatus": [status]}])
    said = flat(explain(monkeypatch, ward, "n1").stdout)
    assert f"fatal {DRIVER}/pool/gpu-0: its driver's taint gpu.nvidia.com/xid=79:NoSchedule" in said
    assert f"error {GPU}/GPU-1: Pod ml/train-0 is told that it is Unhealthy" in said


def claim_of(pod: str, device: str) -> dict[str, Any]:
    """The claim that was made for a Pod, with one device."""
    result = {"driver": DRIVER, "pool": "pool", "device": device}
    owner = {"kind": "Pod", "name": pod, "controller": True}
    return {
        "metadata": {"name": "c", "namespace": "ml", "ownerReferences": [owner]},
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"}],
        },
    }


def slice_of(node: str, devices: dict[str, list[Any]]) -> dict[str, Any]:
    return {
        "metadata": {"name": "s"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": name, "taints": taints} for name, taints in devices.items()],
        },
    }


def test_a_failed_node_says_what_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = quarantined().pod("train-0", "n1")
    ward.objects["/api/v1/nodes/n1"]["metadata"]["labels"] |= SUSPECT
    lines = explain(monkeypatch, ward, "n1").stdout.splitlines()
    begin = lines.index("Failed    node n1, for 5m")
    assert lines[begin : begin + 7] == [
        "Failed    node n1, for 5m",
        "          - condition GPUIsLost is True (Seen), for 5m10s",
        "          failed at once, by a fatal signal; to recover it has to be seen good 3",
        "            times over 5m",
        "          done: new Pods are kept away by our taint",
        "            gpuspec.preferred.jp/unhealthy:NoSchedule",
        "          next: evict ml/train-0",
    ]
    assert flat("\n".join(lines[begin + 7 : lines.index("Signals")])) == (
        "Marks of ours: taint gpuspec.preferred.jp/unhealthy:NoSchedule, label "
        "gpuspec.preferred.jp/health=suspect "
        "Pods with devices: ml/train-0"
    )


@pytest.mark.rule("H3")
def test_a_recovered_node_says_what_a_relapse_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    well = record("n1", held=Verdict.HEALTHY, recovered=NOW - 60, since=NOW - 60, evidence=())
    ward = Ward().node("n1", record=well)
    said = flat(explain(monkeypatch, ward, "n1").stdout)
    assert "Healthy node n1, for 1m" in said
    assert "recovered 1m ago; if it turns bad again, recovering will take 10m" in said


@pytest.mark.rule("H3")
def test_a_node_that_is_not_ready_tells_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    said = flat(explain(monkeypatch, Ward().node("n1", ready="False"), "n1").stdout)
    assert "not Ready, so nothing that it says is new: all is Unknown" in said


def test_a_node_of_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    said = explain(monkeypatch, Ward().node("cpu", "none"), "cpu").stdout
    assert "row: of no row; mode Observe; Ready" in said


def test_the_json_of_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    found = answer(explain(monkeypatch, quarantined().pod("train-0", "n1"), "n1", "-o", "json"))
    assert (found["node"], found["rows"], found["nodeMode"]) == ("n1", ["v100-16gb"], "Evict")
    assert found["signals"][0] == {
        "node": "n1",
        "kind": "node",
        "device": None,
        "source": "NodeCondition",
        "name": "GPUIsLost",
        "grade": "Fatal",
        "said": "condition GPUIsLost is True (Seen)",
        "rule": "Fatal when True",
    }
    (subject,) = found["subjects"]
    assert subject["failed"] == "2026-06-01T11:55:00Z"
    assert subject["recovered"] is None
    assert found["marks"] == ["taint gpuspec.preferred.jp/unhealthy:NoSchedule"]
    assert found["pods"] == ["ml/train-0"]
    assert "KernelDeadlock" in found["notThere"]


@pytest.mark.rule("H8", "H9")
@pytest.mark.parametrize("arguments", [("ml/train-0",), ("train-0",), ("-n", "ml", "train-0")])
def test_a_pod_on_a_good_device(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    ward = Ward({"mode": "Evict"}).node("n1").pod("train-0", "n1")
    assert explain(monkeypatch, ward, *arguments).stdout.splitlines() == [
        f"Pod ml/train-0 of {SERVER}, v1.37.2",
        "on node n1, row: v100-16gb, mode Evict; of ReplicaSet/train",
        "gpuspec.preferred.jp/on-device-failure: none",
        "",
        "Devices",
        f"  Healthy: 1 {GPU} of its node; its status does not say which",
        "  Healthy: node n1",
        "",
        "If one of these failed,",
        "  it would be evicted as soon as new Pods are kept away from there, if a budget",
        "  is left and its PodDisruptionBudgets let it go",
        "  But were it a device alone and not the whole node, it would stay: its status",
        "  does not say which devices of the device plugin it holds.",
    ]


@pytest.mark.rule("H8")
def test_a_pod_that_holds_a_failed_device_by_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = Ward({"mode": "Quarantine"}).node("n1").pod("train-0", "n1")
    taint = {"key": "gpu.nvidia.com/xid", "effect": "NoSchedule"}
    ward.put("/apis/resource.k8s.io/v1/resourceslices/s", slice_of("n1", {"gpu-0": [taint]}))
    claim = claim_of("train-0", "gpu-0")
    ward.put("/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/c", claim)
    ward.objects["/api/v1/namespaces/ml/pods/train-0"]["status"]["extendedResourceClaimStatus"] = {
        "requestMappings": [{"resourceName": GPU}]
    }
    lines = explain(monkeypatch, ward, "ml/train-0").stdout.splitlines()
    assert lines[4:] == [
        "Devices",
        f"  Failed: device {DRIVER}/pool/gpu-0 of node n1, just now; its driver's",
        "    taint gpu.nvidia.com/xid:NoSchedule",
        "  Healthy: node n1",
        "",
        "1 of these has failed, so",
        "  it stays, for mode Quarantine evicts nobody; mode Evict would evict it",
    ]


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"annotations": {"gpuspec.preferred.jp/on-device-failure": "ignore"}},
            "it would stay: it says gpuspec.preferred.jp/on-device-failure: ignore",
        ),
        (
            {"annotations": {"gpuspec.preferred.jp/on-device-failure": "after=30m"}},
            "it would stay: it asks to wait for 30m",
        ),
        ({"owner": ("DaemonSet", "d")}, "it would stay: of a DaemonSet"),
        ({"owner": None}, "it would stay: nothing would replace it: it has no owner"),
        ({"owner": ("Job", "j")}, "it would stay: its Job j would fail for good"),
    ],
)
def test_a_pod_that_would_stay_says_why(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], said: str
) -> None:
    ward = Ward({"mode": "Evict"}).node("n1").pod("train-0", "n1", **fields)
    job = {"metadata": {"name": "j", "uid": "uid-j"}, "spec": {"backoffLimit": 0}}
    ward.put("/apis/batch/v1/namespaces/ml/jobs/j", job)
    assert said in flat(explain(monkeypatch, ward, "ml/train-0").stdout)


@pytest.mark.rule("H9")
def test_the_time_that_a_pod_asks_for_is_counted_from_the_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wants = {"gpuspec.preferred.jp/on-device-failure": "after=4m"}
    ward = quarantined().pod("train-0", "n1", annotations=wants)
    assert "it is evicted now, if its PodDisruptionBudgets let it go" in flat(
        explain(monkeypatch, ward, "ml/train-0").stdout
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spec": {"containers": []}}, "on no node yet, so it holds no device"),
        (
            {"status": {"phase": "Succeeded"}},
            "has ended on node n1, so it holds no device any more",
        ),
        ({"spec": {"nodeName": "n1", "containers": []}}, "on node n1, row: v100-16gb"),
    ],
)
def test_a_pod_without_devices(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], said: str
) -> None:
    ward = Ward().node("n1").pod("train-0", "n1")
    ward.objects["/api/v1/namespaces/ml/pods/train-0"] |= change
    result = explain(monkeypatch, ward, "ml/train-0")
    assert said in result.stdout
    assert "A failing device would not concern it." in result.stdout


def test_a_pod_that_leaves_already(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = quarantined().pod("train-0", "n1")
    pod = ward.objects["/api/v1/namespaces/ml/pods/train-0"]
    pod["metadata"]["deletionTimestamp"] = "2026-06-01T11:59:00Z"
    said = explain(monkeypatch, ward, "ml/train-0").stdout
    assert "it is being deleted already" in said


def test_the_json_of_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = quarantined().pod("train-0", "n1", owner=None)
    found = answer(explain(monkeypatch, ward, "ml/train-0", "-o", "json"))
    assert found["pod"] == "ml/train-0"
    assert found["resources"] == {GPU: 1}
    assert found["devices"] == [
        {"node": "n1", "kind": "plugin", "device": GPU, "verdict": "Healthy"},
        {"node": "n1", "kind": "node", "device": None, "verdict": "Failed"},
    ]
    assert found["evictable"] is False
    assert found["why"].startswith("nothing would replace it: it has no owner")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("n9",), "there is no node n9, and no Pod ml/n9 to be seen"),
        (("team/x",), "there is no Pod team/x to be seen"),
        (("-n", "team", "n1"), "there is no Pod team/n1 to be seen"),
        (("-n", "team", "ml/x"), "ml/x and -n team name two namespaces"),
        (("ml/",), "'ml/' is no node and no Pod; a Pod is NAMESPACE/NAME"),
        (("a/b/c",), "'a/b/c' is no node and no Pod; a Pod is NAMESPACE/NAME"),
    ],
)
def test_what_is_not_there(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    result = explain(monkeypatch, Ward().node("n1"), *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_node_in_the_way_of_a_daemon_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """All DaemonSets are named here, where a list of many subjects names a few."""
    ward = Ward({"mode": "Evict"}).node("n1", bad=LOST)
    for number in range(6):
        name = f"d{number}"
        ward.put(f"/apis/apps/v1/namespaces/kube-system/daemonsets/{name}", daemon(name))
    said = flat(explain(monkeypatch, ward, "n1").stdout)
    assert "kube-system/d4, kube-system/d5; give them a toleration" in said
    assert TAINT["key"] in said


@pytest.mark.rule("H5")
def test_a_pod_on_a_row_that_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    ward = quarantined().pod("train-0", "n1").ledger(Ledger(breakers={"v100-16gb": NOW}))
    said = flat(explain(monkeypatch, ward, "ml/train-0").stdout)
    assert "held back: the breaker stopped its row; gpuspec health resume v100-16gb" in said
