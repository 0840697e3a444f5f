"""The harness itself: what it starts is a real Kubernetes, and nothing of it stays behind."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.cluster.api import Api, ApiError, path, wait_until
from tests.cluster.binaries import FOLDER_VARIABLE, PROGRAMS, Binaries, find_binaries
from tests.cluster.build import STAGES
from tests.cluster.components import Options
from tests.cluster.control_plane import ControlPlane
from tests.cluster.credentials import ADMIN_TOKEN
from tests.cluster.fleet import GPU, MODEL_LABEL, load_fixture, model_taint
from tests.cluster.nodes import NODES, is_usable
from tests.cluster.pods import create_pod, events_about, pod, wait_decided, wait_running
from tests.cluster.processes import ProcessError
from tests.cluster.versions import ON_NEWEST

ROOT = Path(__file__).parents[2]

DEFAULT_NAMESPACE = path("v1", "namespaces", "default")

HOLD_A_CONTROL_PLANE = """
import sys, time
from pathlib import Path
from tests.cluster.control_plane import ControlPlane
control_plane = ControlPlane.start(sys.argv[1], workdir=Path(sys.argv[2]))
print("up", flush=True)
time.sleep(600)
"""


def test_the_version_is_the_one_asked_for(cluster: ControlPlane) -> None:
    version = cluster.api.get("/version")
    assert version["gitVersion"].startswith(f"v{cluster.version}.")
    assert f"{version['major']}.{version['minor']}" == cluster.version


def test_the_fleet_is_ready_and_as_large_as_published(cluster: ControlPlane) -> None:
    nodes = cluster.api.list(NODES)
    totals = load_fixture()["totals"]
    assert all(is_usable(node) for node in nodes)
    allocatable = [node["status"]["allocatable"] for node in nodes]
    assert len(nodes) == totals["nodes"]
    assert sum(int(a.get(GPU, 0)) for a in allocatable) == totals["gpus"]
    assert sum(int(a.get("preferred.jp/mncore", 0)) for a in allocatable) == totals["mncore"]
    assert sum(GPU in a for a in allocatable) == totals["gpuNodes"]
    assert sum(int(node["status"]["capacity"]["cpu"]) for node in nodes) == totals["cpuCores"]


def test_a_pod_that_tolerates_a_model_runs_on_its_nodes(
    cluster: ControlPlane, namespace: str
) -> None:
    create_pod(
        cluster.api,
        namespace,
        pod("train", limits={GPU: "1"}, tolerations=[model_taint("a30-24gb")]),
    )
    running = wait_running(cluster.api, namespace, "train")
    node = cluster.api.get(path("v1", "nodes", running["spec"]["nodeName"]))
    assert node["metadata"]["labels"][MODEL_LABEL] == "a30-24gb"


def test_a_pod_for_more_gpus_than_a_node_has_pends(cluster: ControlPlane, namespace: str) -> None:
    tolerate_all = [{"operator": "Exists"}]
    create_pod(cluster.api, namespace, pod("big", limits={GPU: "9"}, tolerations=tolerate_all))
    assert wait_decided(cluster.api, namespace, ["big"]) == {"big": None}
    events = wait_until(
        lambda: events_about(cluster.api, namespace, "big"), timeout=10, what="an event"
    )
    assert events[0]["reason"] == "FailedScheduling"
    assert f"Insufficient {GPU}" in events[0]["message"]


def test_a_service_gets_a_loopback_address(cluster: ControlPlane, namespace: str) -> None:
    service = {"metadata": {"name": "webhook"}, "spec": {"ports": [{"port": 443}]}}
    created = cluster.api.create(path("v1", "services", namespace=namespace), service)
    assert created["spec"]["clusterIP"].startswith("127.7.0.")


def test_rbac_holds_for_service_accounts(cluster: ControlPlane, namespace: str) -> None:
    token = cluster.service_account_token(namespace, "default")
    with cluster.api.as_user(token) as user, pytest.raises(ApiError) as refused:
        user.list(NODES)
    assert refused.value.code == 403
    assert f"system:serviceaccount:{namespace}:default" in refused.value.message


def test_pod_security_refuses_what_a_namespace_forbids(
    cluster: ControlPlane, namespace: str
) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.api.patch(path("v1", "namespaces", namespace), {"metadata": {"labels": labels}})
    with pytest.raises(ApiError, match="violates PodSecurity"):
        create_pod(cluster.api, namespace, pod("careless"))


def test_kubectl_talks_to_it(cluster: ControlPlane, namespace: str) -> None:
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(pod("typed")))
    assert cluster.kubectl("get", "pod", "typed", "-n", namespace, "-o", "name") == "pod/typed\n"
    assert "NotFound" in cluster.kubectl.run("get", "pod", "nobody", "-n", namespace).stderr


@ON_NEWEST
def test_an_api_server_can_crash_freeze_and_come_back(kubernetes: str, tmp_path: Path) -> None:
    with ControlPlane.start(kubernetes, workdir=tmp_path) as control_plane:
        process = control_plane.processes["kube-apiserver"]
        with impatient(control_plane) as api:
            assert api.find(DEFAULT_NAMESPACE)
            process.crash()
            assert not process.running
            with pytest.raises(httpx.TransportError):
                api.find(DEFAULT_NAMESPACE)
            control_plane.restart("kube-apiserver")
            assert api.find(DEFAULT_NAMESPACE)
            process.freeze()
            with pytest.raises(httpx.TimeoutException):
                api.find(DEFAULT_NAMESPACE)
            process.thaw()
            assert api.find(DEFAULT_NAMESPACE)
    assert processes_naming(tmp_path) == {}


def impatient(control_plane: ControlPlane) -> Api:
    return Api(control_plane.server, token=ADMIN_TOKEN, ca_file=control_plane.ca_file, timeout=4)


@ON_NEWEST
def test_options_reach_the_programs(kubernetes: str) -> None:
    options = Options(
        service_cidr="127.9.0.0/24",
        feature_gates={"TaintTolerationComparisonOperators": True},
        extra_flags={"kube-apiserver": ["--max-requests-inflight=77"]},
    )
    with ControlPlane.start(kubernetes, options=options) as control_plane:
        service = control_plane.api.get(path("v1", "services", "kubernetes", namespace="default"))
        assert service["spec"]["clusterIP"] == "127.9.0.1"
        metrics = control_plane.kubectl("get", "--raw", "/metrics")
        gate = 'kubernetes_feature_enabled{name="TaintTolerationComparisonOperators",stage="ALPHA"}'
        assert f"{gate} 1" in metrics
        commands = processes_naming(control_plane.workdir).values()
        assert any("--max-requests-inflight=77" in command for command in commands)
    assert not control_plane.workdir.exists()


@ON_NEWEST
def test_a_failed_start_shows_the_program_and_its_log(kubernetes: str, tmp_path: Path) -> None:
    options = Options(extra_flags={"kube-scheduler": ["--no-such-flag"]})
    with pytest.raises(ProcessError) as failed:
        ControlPlane.start(kubernetes, options=options, workdir=tmp_path)
    assert "kube-scheduler ended with exit code 1" in str(failed.value)
    assert "unknown flag: --no-such-flag" in str(failed.value)
    assert processes_naming(tmp_path) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@ON_NEWEST
def test_programs_of_a_named_folder_run_and_die_with_their_parent(
    kubernetes: str, tmp_path: Path
) -> None:
    """The parent gets SIGKILL: it has no chance to end anything itself."""
    folder, workdir = tmp_path / "named", tmp_path / "work"
    workdir.mkdir()
    copy_binaries(find_binaries(kubernetes), folder)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_A_CONTROL_PLANE, kubernetes, str(workdir)],
        cwd=ROOT,
        env=os.environ | {FOLDER_VARIABLE: str(folder)},
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        programs = [c for c in processes_naming(workdir).values() if c[0].startswith(str(folder))]
        assert sorted(Path(command[0]).name for command in programs) == sorted(PROGRAMS)
        parent.kill()
        wait_until(
            lambda: not processes_naming(workdir), timeout=10, what="all programs to be gone"
        )


def copy_binaries(binaries: Binaries, folder: Path) -> None:
    folder.mkdir()
    for name, program in binaries.programs.items():
        (folder / name).symlink_to(program)
    (folder / STAGES).symlink_to(binaries.stages)


def processes_naming(folder: Path) -> dict[int, list[str]]:
    """Process ids to command lines, of those whose command line has this folder in it."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it may end while we look
            command = entry.read_bytes()
            if os.fsencode(folder) in command:
                found[int(entry.parent.name)] = os.fsdecode(command).split("\0")
    return found
