"""The roles grant what the processes ask for on a real API server, all of it and nothing more."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator

import pytest
import yaml

from tests.builders import PodBuilder
from tests.cluster.api import Api, Json, path, wait_until
from tests.cluster.claims.devices import SLICES
from tests.cluster.claims.fleet import DRA, slices_with
from tests.cluster.claims.templates import (
    CLASS,
    claim_pod,
    create,
    spec_of,
    told,
    wait_templates,
)
from tests.cluster.components import Options
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import MODEL_LABEL, small_fleet
from tests.cluster.pods import events_about, pod
from tests.cluster.processes import Process
from tests.cluster.product.installation import EXAMPLE_TABLE
from tests.cluster.product.rights import AUDIT_POLICY, Right, granted, requests
from tests.cluster.product.shipped import NAMESPACE, SECRETS, Shipped
from tests.cluster.product.workloads import create_workload, pods_of, wait_pods, workload
from tests.webhook.cli.running import answer, run
from webhook.placement.templates import template_name
from webhook.terms import ALLOW_DELETE_ANNOTATION, RESERVED_TAINT, TABLES_PATH, UNHEALTHY_TAINT
from webhook.terms import TEMPLATES_MADE as NUDGED

NODES = 13
TABLE = f"{TABLES_PATH}/default"
LEASE = path("coordination.k8s.io/v1", "leases", "gpuspec-controller", namespace=NAMESPACE)
RESERVED = "a100-80gb"
FOR_EVERYBODY = ("/version", "/api")
"""How the paths begin that Kubernetes lets everybody read: what it is, and which kinds it has."""
SECONDS = 90.0


@pytest.fixture(scope="module")
def shipped(kubernetes: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shipped]:
    """An installation whose API server writes down what it was asked."""
    workdir = tmp_path_factory.mktemp(f"rights-{kubernetes}-")
    (workdir / "audit-policy.yaml").write_text(json.dumps(AUDIT_POLICY))
    flags = (
        f"--audit-policy-file={workdir / 'audit-policy.yaml'}",
        f"--audit-log-path={workdir / 'audit.log'}",
    )
    options = Options(extra_flags={"kube-apiserver": flags}, jobs_run_on=True)
    nodes = small_fleet(NODES)
    with ControlPlane.start(kubernetes, options=options, nodes=nodes, workdir=workdir) as plane:
        yield Shipped(plane, tmp_path_factory.mktemp("shipped-"))


def test_the_roles_grant_what_is_used_and_all_that_they_grant_is_used(shipped: Shipped) -> None:
    api = shipped.plane.api
    shipped.apply("--server-side")
    with shipped.running("--template-grace-seconds=1") as processes:
        reserve_and_take_back(api)
        a_template_comes_and_goes(shipped.plane)
        a_device_and_a_node_die(shipped.plane)
        tampered_with_is_healed(api, "gpuspec-webhook-tls")
        deleted_is_healed(api)
        tampered_with_is_healed(api, "gpuspec-ca")  # last: a new authority is waited for
        another_takes_over(api, processes)
        shipped.wait_translated()

    asked = requests(shipped.plane.workdir / "audit.log")
    assert {one.asked.account for one in asked} == {"gpuspec-webhook", "gpuspec-controller"}
    assert [one.asked for one in asked if one.forbidden] == []
    rights = granted(shipped.documents())
    own = [one.asked for one in asked if not one.asked.resource.startswith(FOR_EVERYBODY)]
    assert_covered(own, rights)
    unused = {one for one in rights if not any(one.covers(each.asked) for each in asked)}
    assert {(one.verb, one.resource) for one in unused} == not_used(shipped.plane.version)


def test_everybody_may_ask_what_the_cluster_would_answer(shipped: Shipped) -> None:
    """After the test above: what it applied is still there."""
    plane = shipped.plane
    kubeconfig = plane.write_kubeconfig(
        plane.workdir / "anybody", plane.service_account_token("default", "default")
    )
    where = ("--cluster", f"--kubeconfig={kubeconfig}")
    result = run("explain", "any", "--priority-class=system-node-critical", *where, "-o", "json")
    assert result.stderr == (
        "note: table default has no rule for priority class system-node-critical\n"
    )
    assert answer(result)["candidates"]
    denied = run("explain", "any", "--priority-class=nope", *where)
    assert (denied.exit_code, denied.stderr) == (1, "")


def assert_covered(asked: list[Right], rights: set[Right]) -> None:
    """By their own roles: what everybody may read (`gpuspec-view`) must not be needed."""
    assert {one for one in asked if not any(right.covers(one) for right in rights)} == set()


def reserve_and_take_back(api: Api) -> None:
    """A table, one that reserves, a Pod that waits for what is reserved, and none any more."""
    api.create(TABLES_PATH, table(reserved=False))
    api.wait_for(TABLE, lambda found: "renewTime" in found.get("status", {}), timeout=SECONDS)
    gate = [{"name": "example.com/wait"}]
    waiting = pod("waiting", limits={"preferred.jp/gpu-any-40gb": "1"}, schedulingGates=gate)
    pods = path("v1", "pods", namespace="default")
    wait_until(
        lambda: RESERVED in json.dumps(api.create(pods, waiting, dryRun="All")["metadata"]),
        timeout=SECONDS,
        what="the table to decide",
    )
    api.create(pods, waiting)
    api.patch(TABLE, table(reserved=True))
    wait_until(lambda: tainted(api) == its_nodes(api), timeout=SECONDS, what="the taints")
    wait_until(
        lambda: events_about(api, "default", "waiting"), timeout=SECONDS, what="the Pod's Event"
    )
    api.patch(TABLE, {"metadata": {"annotations": {ALLOW_DELETE_ANNOTATION: "true"}}})
    api.delete(TABLE)
    wait_until(lambda: not tainted(api), timeout=SECONDS, what="the taints to go")


def a_template_comes_and_goes(plane: ControlPlane) -> None:
    """A Pod whose DeviceClass no table knows, then one does, and then the Pod is gone."""
    api, spec = plane.api, spec_of()
    create(api, "default", claim_pod("claims", spec))
    wait_until(lambda: told(api, "default"), timeout=SECONDS, what="the Pod's Event")
    # Only a Pod that Kubernetes makes no claim for is nudged.
    manager = plane.processes["kube-controller-manager"]
    manager.freeze()
    document = table(reserved=False)
    document["spec"]["devices"][0]["claim"] = {"deviceClassName": CLASS, "driver": CLASS}
    api.create(TABLES_PATH, document)
    wait_templates(api, "default", [template_name(spec)])
    at = path("v1", "pods", "claims", namespace="default")
    if plane.version == "1.35":
        api.wait_for(at, lambda found: NUDGED in json.dumps(found["status"]), timeout=SECONDS)
    manager.thaw()
    api.delete(at, gracePeriodSeconds="0")
    wait_templates(api, "default", [])
    api.patch(TABLE, {"metadata": {"annotations": {ALLOW_DELETE_ANNOTATION: "true"}}})
    api.delete(TABLE)


def not_used(version: str) -> set[tuple[str, str]]:
    """What the controller may do for the sake of other versions of Kubernetes."""
    verbs = ("get", "list", "watch", "create", "patch", "delete")
    nudge = {("patch", "pods/status")} if version != "1.35" else set()
    rules = {(verb, "devicetaintrules") for verb in verbs} if version != "1.37" else set()
    return nudge | rules


def a_device_and_a_node_die(plane: ControlPlane) -> None:
    """A driver taints a device and takes that back; a node fails under a Job's Pod."""
    api = plane.api
    document = table(reserved=False)
    document["spec"]["health"] = {"mode": "Evict", "recovery": {"after": "1s"}}
    document["spec"]["health"]["observations"] = {"every": "1s", "good": 1}
    api.create(TABLES_PATH, document)
    node = min(its_nodes(api))
    if plane.version == "1.37":
        (published,) = slices_with(node, {RESERVED: 1})
        device = published["spec"]["devices"][0]
        device["taints"] = [{"key": "example.com/dead", "effect": "NoSchedule"}]
        api.create(SLICES, published)
        rules = path(DRA, "devicetaintrules")
        wait_until(
            lambda: "NoSchedule" in json.dumps([one["spec"] for one in api.list(rules)]),
            timeout=SECONDS,
            what="the rule",
        )
        published = api.get(f"{SLICES}/{published['metadata']['name']}")
        published["spec"]["devices"][0].pop("taints")
        published["spec"]["pool"]["generation"] += 1
        api.replace(f"{SLICES}/{published['metadata']['name']}", published)
        wait_until(lambda: not api.list(rules), timeout=SECONDS, what="the rule to go")
        api.delete(f"{SLICES}/{published['metadata']['name']}")
    job = workload(
        "Job", "job", PodBuilder("job").container("main", {f"preferred.jp/gpu-{RESERVED}": "1"})
    )
    create_workload(api, "default", job)
    (before,) = wait_pods(api, "default", "job", 1)
    at = path("v1", "nodes", before["spec"]["nodeName"])
    lost = {"type": "GPUIsLost", "status": "True", "reason": "Test"}
    api.patch(f"{at}/status", {"status": {"conditions": [lost]}}, kind="strategic")
    wait_until(
        lambda: (
            before["metadata"]["uid"]
            not in {one["metadata"]["uid"] for one in pods_of(api, "default", "job")}
        ),
        timeout=SECONDS,
        what="the eviction",
    )
    api.patch(
        f"{at}/status",
        {"status": {"conditions": [lost | {"status": "False"}]}},
        kind="strategic",
    )
    wait_until(
        lambda: UNHEALTHY_TAINT not in json.dumps(api.get(at)["spec"]),
        timeout=SECONDS,
        what="the taint to go",
    )
    api.delete(path("batch/v1", "jobs", "job", namespace="default"), propagationPolicy="Background")
    api.patch(TABLE, {"metadata": {"annotations": {ALLOW_DELETE_ANNOTATION: "true"}}})
    api.delete(TABLE)


def table(*, reserved: bool) -> Json:
    document: Json = yaml.safe_load(EXAMPLE_TABLE.read_text())
    document["metadata"]["name"] = "default"
    for row in document["spec"]["devices"]:
        row["reserved"] = reserved and f"{row['name']}-{row['vram']}" == RESERVED
    return document


def its_nodes(api: Api) -> set[str]:
    selector = f"{MODEL_LABEL}={RESERVED}"
    found = {
        one["metadata"]["name"] for one in api.list(path("v1", "nodes"), labelSelector=selector)
    }
    assert found
    return found


def tainted(api: Api) -> set[str]:
    return {
        node["metadata"]["name"]
        for node in api.list(path("v1", "nodes"))
        if any(taint["key"] == RESERVED_TAINT for taint in node["spec"].get("taints", ()))
    }


def tampered_with_is_healed(api: Api, name: str) -> None:
    nonsense = b64encode(b"nonsense").decode()
    api.patch(SECRETS[name], {"data": {"tls.crt": nonsense}})
    api.wait_for(SECRETS[name], lambda found: found["data"]["tls.crt"] != nonsense, timeout=SECONDS)


def deleted_is_healed(api: Api) -> None:
    at = SECRETS["gpuspec-webhook-tls"]
    former = api.get(at)["metadata"]["uid"]
    api.delete(at)
    api.wait_for(at, lambda found: found["metadata"]["uid"] != former, timeout=SECONDS)


def another_takes_over(api: Api, processes: tuple[Process, ...]) -> None:
    leader = api.get(LEASE)["spec"]["holderIdentity"]
    (leading,) = (one for one in processes if one.name == leader)
    leading.crash()
    api.wait_for(
        LEASE, lambda found: found["spec"]["holderIdentity"] not in ("", leader), timeout=SECONDS
    )
