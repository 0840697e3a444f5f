"""What Pods tell of devices, and which of them may be moved (semantics H2 f, g; H9)."""

from __future__ import annotations

import threading

import pytest

from tests.builders import PodBuilder
from tests.cluster.api import ApiError, Json, path
from tests.cluster.health.ward import Ward, uids
from tests.cluster.pods import create_pod, events_about, node_of, wait_running
from tests.cluster.product.workloads import create_workload, wait_pods, workload
from tests.cluster.versions import ON_NEWEST
from webhook.terms import ON_FAILURE_ANNOTATION

pytestmark = ON_NEWEST

_NODE = "mn2b-a100-000"
_SPEC = {"preferred.jp/gpu-a100": "1"}


@pytest.mark.rule("H2", "H9")
def test_a_node_that_rejects_pods_over_and_over_is_left_and_the_dead_dont_pile_up(
    ward: Ward,
) -> None:
    ward.begin("Evict")
    over = threading.Event()

    def kubelet() -> None:
        """Reject whatever comes to the node."""
        at = path("v1", "pods", namespace=ward.namespace)
        while not over.wait(0.1):
            for one in ward.api.list(at):
                if node_of(one) == _NODE and one["status"].get("phase") != "Failed":
                    try:
                        ward.reject(one)
                    except ApiError:
                        continue  # it was removed meanwhile

    broken = threading.Thread(target=kubelet)
    broken.start()
    try:
        with ward.only(_NODE):
            pod = PodBuilder("web").container("main", _SPEC)
            create_workload(
                ward.api, ward.namespace, workload("Deployment", "web", pod, replicas=2)
            )
            ward.wait(lambda: ward.taints(_NODE), "the taint")
        ward.wait(lambda: ward.replaced("web", [], 2), "the Pods to run elsewhere")
        ward.wait(lambda: len(ward.pods("web")) == 2, "the dead Pods to be gone")
    finally:
        over.set()
        broken.join()
    assert _NODE not in {node_of(one) for one in ward.pods("web")}


@pytest.mark.rule("H2")
def test_one_programs_crashes_on_many_devices_are_only_noted(ward: Ward) -> None:
    ward.begin("Evict")
    pods = ward.deployment("buggy", "gpu-a100", 10)
    for number, one in enumerate(pods):
        ward.resource_health(one, {f"GPU-{number}": "Healthy"})
    for one in ward.pods("buggy"):
        ward.crash(one)
    if not ward.is_old():  # before, nothing tells which device of a plugin it was
        ward.wait(lambda: "so the program is to blame" in ward.told(), "the note")
    ward.stays(lambda: uids(ward.pods("buggy")) == uids(pods), seconds=4)
    assert ward.actions() == 0


@pytest.mark.rule("H9")
def test_a_budget_that_allows_nothing_holds_until_it_is_freed(ward: Ward) -> None:
    ward.begin("Evict")
    with ward.only(_NODE):
        pods = ward.deployment("web", "gpu-a100", 2)
    budgets = path("policy/v1", "poddisruptionbudgets", namespace=ward.namespace)
    body = {
        "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    }
    ward.api.create(budgets, body)
    ward.api.wait_for(f"{budgets}/web", lambda one: one["status"].get("currentHealthy") == 2)
    ward.condition(_NODE, "GPUIsLost", "True")
    name = pods[0]["metadata"]["name"]
    ward.wait(
        lambda: (
            "EvictionRefused" in {e["reason"] for e in events_about(ward.api, ward.namespace, name)}
        ),
        "the refusal to be told",
    )
    ward.stays(lambda: uids(ward.pods("web")) == uids(pods), seconds=4)
    ward.api.delete(f"{budgets}/web")
    ward.wait(lambda: ward.replaced("web", pods, 2), "the Pods to run elsewhere")


@pytest.mark.rule("H9")
def test_who_would_not_be_replaced_or_says_so_stays(ward: Ward) -> None:
    ward.begin("Evict")
    with ward.only(_NODE):
        stays = [_bare(ward, "bare", None), _bare(ward, "ignores", "ignore")]
        goes = [_bare(ward, "goes", "evict")]
        doomed = _job(ward, "doomed", backoffLimit=0)
    other = _elsewhere(ward)
    ward.condition(_NODE, "GPUIsLost", "True")
    ward.wait(lambda: not _there(ward, goes), "the Pod that opted in to be gone")
    ward.stays(lambda: _there(ward, stays) and _there(ward, [doomed]), seconds=4)
    assert _there(ward, [other])
    told = {one["reason"] for one in events_about(ward.api, ward.namespace, "bare")}
    assert "KeptOnFailedDevice" in told
    job = ward.api.get(path("batch/v1", "jobs", "doomed", namespace=ward.namespace))
    assert job["status"]["active"] == 1


@pytest.mark.rule("H9")
def test_a_job_that_does_not_count_disruptions_goes_on_without_retries(ward: Ward) -> None:
    ward.begin("Evict")
    disrupted = {"type": "DisruptionTarget", "status": "True"}
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [disrupted]}]}
    with ward.only(_NODE):
        pod = _job(ward, "trains", backoffLimit=0, podFailurePolicy=policy)
    ward.condition(_NODE, "GPUIsLost", "True")
    ward.wait(lambda: not _there(ward, [pod]), "the eviction")
    ward.end(pod)  # such a Job waits until the kubelet says that the Pod has failed
    ward.wait(lambda: _runs_elsewhere(ward, "trains", pod), "the Job's next Pod")
    job = ward.api.get(path("batch/v1", "jobs", "trains", namespace=ward.namespace))
    assert not job["status"].get("failed")
    for one in ward.api.list(path("v1", "pods", namespace=ward.namespace)):
        ward.end(one)


@pytest.mark.rule("H9")
def test_a_job_with_retries_goes_on_elsewhere(ward: Ward) -> None:
    ward.begin("Evict")
    with ward.only(_NODE):
        pod = _job(ward, "retries", backoffLimit=3)
    ward.condition(_NODE, "GPUIsLost", "True")
    ward.wait(lambda: _runs_elsewhere(ward, "retries", pod), "the Job's next Pod")


def _runs_elsewhere(ward: Ward, job: str, pod: Json) -> bool:
    found = ward.api.list(
        path("v1", "pods", namespace=ward.namespace),
        labelSelector=f"batch.kubernetes.io/job-name={job}",
    )
    running = [one for one in found if one["status"].get("phase") == "Running"]
    return bool(running) and not uids([pod]) & uids(running)


def _bare(ward: Ward, name: str, on_failure: str | None) -> Json:
    pod = PodBuilder(name).container("main", _SPEC).build()
    if on_failure is not None:
        pod["metadata"]["annotations"] = {ON_FAILURE_ANNOTATION: on_failure}
    create_pod(ward.api, ward.namespace, pod)
    return wait_running(ward.api, ward.namespace, name)


def _job(ward: Ward, name: str, **spec: object) -> Json:
    pod = PodBuilder(name).container("main", _SPEC)
    body = workload("Job", name, pod, **spec)
    body["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    create_workload(ward.api, ward.namespace, body)
    (found,) = wait_pods(ward.api, ward.namespace, name, 1)
    return found


def _elsewhere(ward: Ward) -> Json:
    """Return a Pod without GPUs on the node."""
    pod = PodBuilder("plain").container("main").build()
    pod["spec"] |= {"nodeName": _NODE, "tolerations": [{"operator": "Exists"}]}
    create_pod(ward.api, ward.namespace, pod)
    return wait_running(ward.api, ward.namespace, "plain")


def _there(ward: Ward, pods: list[Json]) -> bool:
    there = ward.api.list(path("v1", "pods", namespace=ward.namespace))
    left = [one for one in there if "deletionTimestamp" not in one["metadata"]]
    return uids(pods) <= uids(left)
