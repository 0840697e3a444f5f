"""Workloads that want more devices at once than there are (GS205)."""

from __future__ import annotations

import pytest

from tests.builders import Json, make_row, make_table
from webhook.admission.translate import Context, translate
from webhook.advice.findings.fleet import at_once, beyond, sizes_of
from webhook.advice.findings.views import View, views
from webhook.inventory.facts import node_facts
from webhook.snapshot import Snapshot

TABLE = make_table(make_row("a30-24gb"), make_row("a100-80gb"))
KEY = "preferred.jp/gpu-any"


def pods(count: int = 2, key: str = KEY) -> Json:
    container = {"name": "main", "image": "x", "resources": {"limits": {key: count}}}
    return {"spec": {"containers": [container]}}


def workload(kind: str, spec: Json, api: str = "apps/v1") -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "train"}, "spec": spec}


def node(name: str, row: str, devices: int) -> Json:
    amounts = {"nvidia.com/gpu": str(devices)}
    return {
        "metadata": {"name": name, "labels": {"gpu-model": row}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def only(document: Json) -> View:
    (found,) = views(document)
    return found


NODES = [node_facts(node("a", "a30-24gb", 4)), node_facts(node("b", "a100-80gb", 8))]


def test_a_rows_size_is_what_its_nodes_have() -> None:
    assert sizes_of(TABLE, NODES) == {"a30-24gb": 4, "a100-80gb": 8}


@pytest.mark.parametrize(
    ("document", "count", "path"),
    [
        (workload("Deployment", {"replicas": 7, "template": pods()}), 7, ("spec", "replicas")),
        (workload("Deployment", {"template": pods()}), 1, ("spec", "template", "spec")),
        (
            workload("Job", {"parallelism": 9, "completions": 4, "template": pods()}, "batch/v1"),
            4,
            ("spec", "parallelism"),
        ),
        (
            workload(
                "JobSet",
                {
                    "replicatedJobs": [
                        {
                            "replicas": 3,
                            "template": {"spec": {"parallelism": 2, "template": pods()}},
                        }
                    ]
                },
                "jobset.x-k8s.io/v1alpha2",
            ),
            6,
            ("spec", "replicatedJobs", 0, "template", "spec", "parallelism"),
        ),
        (
            workload(
                "PyTorchJob",
                {"pytorchReplicaSpecs": {"Worker": {"replicas": 5, "template": pods()}}},
                "kubeflow.org/v1",
            ),
            5,
            ("spec", "pytorchReplicaSpecs", "Worker", "replicas"),
        ),
    ],
    ids=["Deployment", "no number", "Job", "JobSet", "PyTorchJob"],
)
def test_how_many_run_at_once(document: Json, count: int, path: tuple[str | int, ...]) -> None:
    assert at_once(only(document)) == (count, path)


@pytest.mark.parametrize(("replicas", "is_told"), [(6, False), (7, True)])
def test_more_than_all_nodes_have_is_told(replicas: int, *, is_told: bool) -> None:
    view = only(workload("Deployment", {"replicas": replicas, "template": pods()}))
    outcome = translate(view.pod, Context(is_template=True), Snapshot(TABLE))
    found = list(beyond(view, outcome, sizes_of(TABLE, NODES)))
    said = (
        "7 Pods with 2 each ask for 14 devices at once, and all nodes of a100-80gb, a30-24gb have "
        "12"
    )
    assert [one.message for one in found] == ([said] if is_told else [])


def test_what_is_denied_or_not_known_is_not_counted() -> None:
    wrong = only(
        workload("Deployment", {"replicas": 99, "template": pods(key="preferred.jp/gpu-x")})
    )
    outcome = translate(wrong.pod, Context(is_template=True), Snapshot(TABLE))
    assert list(beyond(wrong, outcome, sizes_of(TABLE, NODES))) == []
    right = only(workload("Deployment", {"replicas": 99, "template": pods()}))
    outcome = translate(right.pod, Context(is_template=True), Snapshot(TABLE))
    assert list(beyond(right, outcome, {"a30-24gb": 4})) == []
