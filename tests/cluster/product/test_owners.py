"""Pods that controllers make: those of Deployments, StatefulSets, Jobs, and DaemonSets."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from selection_spec.table import load_table
from tests.answers import denied
from tests.builders import PodBuilder, asking, make_pod
from tests.cluster.api import path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import node_of
from tests.cluster.product.installation import WEBHOOK, Installation
from tests.cluster.product.places import model_of, nodes_of
from tests.cluster.product.workloads import (
    conditions,
    create_workload,
    wait_event,
    wait_pods,
    workload,
    workload_path,
)
from tests.cluster.versions import ON_NEWEST
from webhook.snapshot import Snapshot
from webhook.terms import MAX_MESSAGE_BYTES, SPEC_LABEL

pytestmark = [ON_NEWEST, pytest.mark.usefixtures("webhook")]

ROOT = Path(__file__).parents[3]
DENIED = f'admission webhook "{WEBHOOK}" denied the request: '
EVENT = f"Error creating: {DENIED}"


@dataclass(frozen=True)
class Case:
    """A workload and the models that its Pods may be on."""

    name: str
    kind: str
    pod: PodBuilder
    models: set[str]
    spec: dict[str, object]
    pods: int


PARALLEL: dict[str, object] = {"serviceName": "x", "podManagementPolicy": "Parallel"}
FOUR_AT_ONCE: dict[str, object] = {"parallelism": 4, "completions": 4}
CASES = (
    Case(
        "deployment",
        "Deployment",
        asking(any_24gb=1),
        {"v100-32gb", "a30-24gb", "a100-80gb"},
        {"replicas": 6},
        6,
    ),
    Case(
        "deployment-high",
        "Deployment",
        asking(any_24gb=1).high(),
        {"a30-24gb"},
        {"replicas": 6},
        6,
    ),
    Case(
        "statefulset",
        "StatefulSet",
        asking(any_32gb=4),
        {"v100-32gb", "a100-80gb"},
        {"replicas": 4, **PARALLEL},
        4,
    ),
    Case(
        "statefulset-high",
        "StatefulSet",
        asking(v100=8).high(),
        {"v100-16gb"},
        {"replicas": 2, **PARALLEL},
        2,
    ),
    # the Pods of a Job are not spread, so they are all on the cheapest
    Case("job", "Job", asking(any_24gb=1), {"v100-32gb"}, FOUR_AT_ONCE, 4),
    Case("job-high", "Job", asking(any_24gb=1).high(), {"a30-24gb"}, FOUR_AT_ONCE, 4),
)


@pytest.mark.rule("D4", "D5", "N1", "R5")
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_pods_of_a_workload_run_on_allowed_rows(
    cluster: ControlPlane, namespace: str, case: Case
) -> None:
    body = workload(case.kind, "train", case.pod, **case.spec)
    create_workload(cluster.api, namespace, body)
    pods = wait_pods(cluster.api, namespace, "train", case.pods)
    assert {model_of(node_of(pod) or "") for pod in pods} <= case.models
    assert all(SPEC_LABEL in pod["metadata"]["labels"] for pod in pods)


@pytest.mark.rule("G5", "R4")
def test_who_made_a_deployment_reads_the_reason_in_its_events_and_in_its_status(
    cluster: ControlPlane, namespace: str
) -> None:
    text = (
        'container "main": preferred.jp/gpu-h100: no device is called h100; nearest: a100, v100, '
        "a30; or write preferred.jp/gpu-any; all: any, a100, a30, v100"
    )
    create_workload(
        cluster.api, namespace, workload("Deployment", "train", asking(h100=1), replicas=2)
    )
    replica_set = wait_replica_set(cluster, namespace)
    assert wait_event(cluster.api, namespace, replica_set, "FailedCreate") == EVENT + text
    stored = cluster.api.wait_for(
        workload_path("Deployment", namespace, "train"),
        lambda found: "ReplicaFailure" in conditions(found),
    )
    assert conditions(stored)["ReplicaFailure"] == DENIED + text


@pytest.mark.rule("R4")
def test_the_longest_message_arrives_whole(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    pod = make_pod()
    for number in range(20):
        pod.container(f"worker-{number}", any_24g=1)
    text = denied(pod, Snapshot(load_table(webhook.service.table)))
    assert "\n" in text
    assert len(text.encode()) > MAX_MESSAGE_BYTES * 0.8
    create_workload(cluster.api, namespace, workload("Deployment", "train", pod, replicas=1))
    replica_set = wait_replica_set(cluster, namespace)
    assert wait_event(cluster.api, namespace, replica_set, "FailedCreate") == EVENT + text


@pytest.mark.rule("N8")
def test_a_daemon_set_is_told_to_be_translated_and_then_runs_on_the_allowed_rows(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    table = webhook.service.table_file
    written = json.dumps(workload("DaemonSet", "warm-up", asking(a100=1)))
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=written)
    assert wait_event(cluster.api, namespace, "warm-up", "FailedCreate") == (
        f'{EVENT}this Pod belongs to DaemonSet "warm-up", which picks its nodes before admission, '
        "so it would pend for ever; put selectors, tolerations and resource into its template: "
        '"gpuspec mutate --cluster -f FILE" writes them'
    )
    translated = subprocess.run(
        [sys.executable, "-m", "webhook", "mutate", "-f", "-", "--table", table],
        cwd=ROOT,
        input=written,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=translated)
    nodes = nodes_of("a100-80gb")
    pods = wait_pods(cluster.api, namespace, "warm-up", len(nodes))
    assert sorted(node_of(pod) or "" for pod in pods) == nodes


def wait_replica_set(cluster: ControlPlane, namespace: str) -> str:
    """The name of the namespace's only ReplicaSet."""
    at = path("apps/v1", "replicasets", namespace=namespace)
    (found,) = cluster.api.wait_for(at, lambda listed: len(listed["items"]) == 1)["items"]
    name: str = found["metadata"]["name"]
    return name
