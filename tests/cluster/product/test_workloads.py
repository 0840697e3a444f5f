"""Whoever applies a workload is told at once what will become of its Pods (R4, R8)."""

from __future__ import annotations

from collections.abc import Iterator
from subprocess import CompletedProcess

import pytest
import yaml

from tests.builders import Json
from tests.cluster.api import path
from tests.cluster.configuration import custom_workloads_configuration
from tests.cluster.control_plane import ControlPlane
from tests.cluster.product import tables
from tests.cluster.product.installation import Installation

LABEL = "gpuspec.preferred.jp/workloads"
WRONG, RIGHT = "preferred.jp/gpu-a30-32gb", "preferred.jp/gpu-a30-24gb"
WHY = 'container "main": preferred.jp/gpu-a30-32gb: the largest a30 has 24 GB'
TOLD = f"Warning: its Pods will be refused: {WHY}"


@pytest.fixture(scope="module", autouse=True)
def reviewed(cluster: ControlPlane, webhook: Installation) -> Iterator[None]:
    """A time in which workloads are looked at as shipped."""
    service = webhook.service
    with (
        tables.defined(cluster.api),
        tables.validated(cluster.api, service, custom_workloads_configuration),
    ):
        yield


@pytest.fixture
def pytorch_jobs(cluster: ControlPlane) -> Iterator[None]:
    """A time in which the cluster knows PyTorchJobs, of whatever content."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}},
    }
    names = {"plural": "pytorchjobs", "singular": "pytorchjob", "kind": "PyTorchJob"}
    spec = {"group": "kubeflow.org", "scope": "Namespaced", "names": names, "versions": [version]}
    definitions = path("apiextensions.k8s.io/v1", "customresourcedefinitions")
    cluster.api.create(
        definitions, {"metadata": {"name": "pytorchjobs.kubeflow.org"}, "spec": spec}
    )
    at = f"{definitions}/pytorchjobs.kubeflow.org"
    cluster.api.wait_for(at, _is_established, what="PyTorchJobs")
    yield
    cluster.api.delete(at)


def _is_established(definition: Json) -> bool:
    conditions = definition.get("status", {}).get("conditions") or []
    return any((one["type"], one["status"]) == ("Established", "True") for one in conditions)


def template(key: str = WRONG, **metadata: object) -> Json:
    container = {"name": "main", "image": "x", "resources": {"limits": {key: "1"}}}
    return {
        "metadata": {"labels": {"app": "train"}, **metadata},
        "spec": {"containers": [container]},
    }


def workload(kind: str, key: str = WRONG, **spec: object) -> Json:
    """A workload of this kind whose Pods ask by a key."""
    group = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1"
    selector = {"selector": {"matchLabels": {"app": "train"}}}
    pods = template(key)
    if group == "batch/v1":
        selector = {}
        pods["spec"]["restartPolicy"] = "Never"
    body: Json = {**selector, "template": pods, **spec}
    if kind == "CronJob":
        body = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": body}}
    elif kind == "StatefulSet":
        body["serviceName"] = "train"
    elif kind == "Job":
        body["suspend"] = True
    if kind in ("Deployment", "StatefulSet", "ReplicaSet"):
        body.setdefault("replicas", 0)
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "train"}, "spec": body}


def apply(cluster: ControlPlane, namespace: str, body: Json) -> CompletedProcess[str]:
    return cluster.kubectl.run("apply", "-n", namespace, "-f", "-", stdin=yaml.safe_dump(body))


def choose(cluster: ControlPlane, namespace: str, choice: str) -> None:
    """Label a namespace; the API server sees it within moments."""
    at = path("v1", "namespaces", namespace)
    cluster.api.patch(at, {"metadata": {"labels": {LABEL: choice}}})


@pytest.mark.rule("R8")
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet", "Job", "CronJob"])
def test_the_terminal_tells_it_where_a_workload_is_applied(
    cluster: ControlPlane, namespace: str, kind: str
) -> None:
    done = apply(cluster, namespace, workload(kind))
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(TOLD), done.stderr
    assert len(done.stderr.splitlines()) == 1

    again = apply(cluster, namespace, workload(kind))
    assert (again.returncode, again.stderr) == (0, "")
    assert "unchanged" in again.stdout


@pytest.mark.rule("R8")
@pytest.mark.usefixtures("pytorch_jobs")
def test_a_custom_kinds_pods_are_found_where_they_stand(
    cluster: ControlPlane, namespace: str
) -> None:
    body: Json = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "fit"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template()}}},
    }
    done = apply(cluster, namespace, body)
    assert (done.returncode, done.stderr.startswith(TOLD)) == (0, True), done.stderr
    choose(cluster, namespace, "deny")
    body["metadata"]["name"] = "fit-2"
    done = apply(cluster, namespace, body)
    assert (done.returncode, WHY in done.stderr) == (1, True), done.stderr


@pytest.mark.rule("N8")
def test_a_daemon_set_is_told_of_too(cluster: ControlPlane, namespace: str) -> None:
    done = apply(cluster, namespace, workload("DaemonSet", RIGHT))
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: its Pods will be refused: ")
    assert "DaemonSet" in done.stderr


@pytest.mark.rule("R8")
def test_nothing_is_told_of_what_is_fine_or_was_not_touched(
    cluster: ControlPlane, namespace: str
) -> None:
    assert apply(cluster, namespace, workload("Deployment", RIGHT)).stderr == ""
    wrong = workload("Deployment", replicas=1)
    assert apply(cluster, namespace, wrong).stderr.startswith(TOLD)
    # Whoever scales it, or labels it, was told already.
    assert apply(cluster, namespace, workload("Deployment", replicas=2)).stderr == ""
    labelled = workload("Deployment", replicas=2)
    labelled["metadata"]["labels"] = {"team": "a"}
    assert apply(cluster, namespace, labelled).stderr == ""


@pytest.mark.rule("R4")
def test_a_namespace_that_wants_it_refuses_what_could_never_run(
    cluster: ControlPlane, namespace: str
) -> None:
    choose(cluster, namespace, "deny")
    done = apply(cluster, namespace, workload("Deployment", replicas=1))
    assert done.returncode == 1
    assert 'admission webhook "deny.gpuspec.preferred.jp" denied the request' in done.stderr
    assert WHY in done.stderr
    # Else it would be created stopped, and then started.
    assert WHY in apply(cluster, namespace, workload("Deployment", replicas=0)).stderr
    assert apply(cluster, namespace, workload("Deployment", RIGHT)).returncode == 0


@pytest.mark.rule("R4")
def test_there_nobody_is_kept_from_stopping_what_was_wrong_before(
    cluster: ControlPlane, namespace: str
) -> None:
    apply(cluster, namespace, workload("Deployment", replicas=1))
    choose(cluster, namespace, "deny")
    stopped = apply(cluster, namespace, workload("Deployment", replicas=0))
    assert (stopped.returncode, stopped.stderr) == (0, "")
    started = apply(cluster, namespace, workload("Deployment", replicas=1))
    assert (started.returncode, WHY in started.stderr) == (1, True)


def test_a_namespace_that_wants_silence_has_it(cluster: ControlPlane, namespace: str) -> None:
    choose(cluster, namespace, "off")
    done = apply(cluster, namespace, workload("Deployment"))
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_controller_made_is_its_owners_business(
    cluster: ControlPlane, namespace: str
) -> None:
    """Even where workloads are refused, no ReplicaSet of a Deployment is: it was let in before."""
    apply(cluster, namespace, workload("Deployment"))
    choose(cluster, namespace, "deny")
    owned = workload("ReplicaSet")
    owner = cluster.api.get(path("apps/v1", "deployments", "train", namespace=namespace))
    owned["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": "train",
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
    ]
    done = apply(cluster, namespace, owned)
    assert (done.returncode, done.stderr) == (0, "")


def test_while_the_service_is_down_workloads_are_applied_as_ever(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    choose(cluster, namespace, "deny")
    webhook.service.process.crash()
    try:
        done = apply(cluster, namespace, workload("Deployment"))
    finally:
        webhook.service.start()
    assert (done.returncode, done.stderr) == (0, "")
