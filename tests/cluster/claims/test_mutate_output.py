"""What ``gpuspec mutate`` prints is applied as it is, without anything of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import DOMAIN, Json, expression, make_pod, term
from tests.cluster.api import Api, path, wait_until
from tests.cluster.claims.fleet import DRA, fleets_table
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import MODEL_LABEL, fleet
from tests.cluster.pods import node_of
from tests.cluster.product.places import model_of
from tests.cluster.versions import ON_NEWEST
from tests.webhook.cli.running import run

pytestmark = [ON_NEWEST, pytest.mark.usefixtures("driver"), pytest.mark.rule("C1", "C2", "N8")]

OPEN_TO_ANY_24GB = {"v100-32gb", "a30-24gb", "a100-80gb"}


def template(**labels: str) -> Json:
    """A Pod template that asks for a GPU of 24 GB."""
    pod = make_pod().container("main", any_24gb="1").build()
    return {"metadata": {"labels": labels}, "spec": pod["spec"]}


def workload(kind: str, spec: Json, version: str = "apps/v1") -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": kind.lower()}, "spec": spec}


def deployment(replicas: int) -> Json:
    selector = {"matchLabels": {"app": "deployment"}}
    own = template(app="deployment")
    return workload("Deployment", {"replicas": replicas, "selector": selector, "template": own})


def cron_job() -> Json:
    own = template()
    own["spec"]["restartPolicy"] = "Never"
    job = {"spec": {"template": own}}
    return workload("CronJob", {"schedule": "0 0 1 1 *", "jobTemplate": job}, "batch/v1")


def listed(namespace: str) -> Json:
    """Two Pods in a List, one of which says its namespace."""
    said = make_pod("said").container("main", a30="2").metadata(namespace=namespace)
    unsaid = make_pod("unsaid").container("main", any_80gb="4")
    return {"apiVersion": "v1", "kind": "List", "items": [said.build(), unsaid.build()]}


def daemon_set(hosts: list[str]) -> Json:
    """One that is content with these nodes."""
    own = template(app="daemonset")
    terms = [term(expression("kubernetes.io/hostname", "In", *hosts))]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    own["spec"]["affinity"] = {"nodeAffinity": required}
    selector = {"matchLabels": {"app": "daemonset"}}
    return workload("DaemonSet", {"selector": selector, "template": own})


def one_of_each_model() -> dict[str, str]:
    """A node of every model of the fleet by its model, "" for one without GPUs."""
    found: dict[str, str] = {}
    for node in fleet():
        found.setdefault(node["metadata"]["labels"].get(MODEL_LABEL, ""), node["metadata"]["name"])
    return found


def mutated(folder: Path, output: str, *documents: Json) -> str:
    table = folder / "table.json"
    table.write_text(json.dumps(fleets_table()))
    text = "\n---\n".join(map(json.dumps, documents))
    arguments = ("--table", str(table), "--priority", "0", "-o", output)
    result = run("mutate", "-f", "-", *arguments, stdin=text)
    assert result.exit_code == 0, result.output
    return result.stdout


def bound(api: Api, namespace: str, count: int, app: str = "") -> dict[str, str]:
    """So many Pods and their nodes, once all are bound; each has a claim that is allocated.

    But for Pods of Jobs that are done by now: they gave theirs back.
    """

    def all_bound() -> dict[str, str] | None:
        query = {"labelSelector": f"app={app}"} if app else {}
        pods = api.list(path("v1", "pods", namespace=namespace), **query)
        nodes = {one["metadata"]["name"]: node_of(one) for one in pods}
        held = {name: node for name, node in nodes.items() if node is not None}
        return held if len(held) == len(pods) == count else None

    found = wait_until(all_bound, timeout=60, what=f"{count} Pods to be bound")
    claims = api.list(path(DRA, "resourceclaims", namespace=namespace))
    pods = api.list(path("v1", "pods", namespace=namespace))
    done = {one["metadata"]["name"] for one in pods if one["status"]["phase"] == "Succeeded"}
    held = [one for one in claims if one["metadata"]["ownerReferences"][0]["name"] not in done]
    assert all("allocation" in claim.get("status", {}) for claim in held)
    return found


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_everything_that_holds_pods(
    cluster: ControlPlane, namespace: str, tmp_path: Path, output: str
) -> None:
    text = mutated(tmp_path, output, deployment(3), cron_job(), listed(namespace))
    assert f"{DOMAIN}/gpu" not in text
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=text)
    cluster.kubectl("create", "job", "now", "-n", namespace, "--from", "cronjob/cronjob")

    nodes = bound(cluster.api, namespace, 6)

    assert (model_of(nodes["said"]), model_of(nodes["unsaid"])) == ("a30-24gb", "a100-80gb")
    assert {model_of(node) for node in nodes.values()} <= OPEN_TO_ANY_24GB
    templates = cluster.api.list(path(DRA, "resourceclaimtemplates", namespace=namespace))
    assert all(
        "kubectl.kubernetes.io/last-applied-configuration" in one["metadata"]["annotations"]
        for one in templates
    )
    # Applied again, templates stay: nobody may change one.
    again = cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=text).splitlines()
    lines = [line for line in again if line.startswith("resourceclaimtemplate.")]
    assert [line.rpartition(" ")[2] for line in lines] == ["unchanged"] * 3


def test_a_daemon_set_has_pods_where_devices_are_and_nowhere_else(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    nodes = one_of_each_model()
    text = mutated(tmp_path, "yaml", daemon_set(list(nodes.values())))
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=text)
    wanted = {node for model, node in nodes.items() if model in OPEN_TO_ANY_24GB}

    found = bound(cluster.api, namespace, len(wanted), "daemonset")

    assert set(found.values()) == wanted
    at = path("apps/v1", "daemonsets", "daemonset", namespace=namespace)
    # Pods are there before the status says so.
    status = cluster.api.wait_for(at, lambda one: one["status"]["currentNumberScheduled"])
    assert status["status"]["desiredNumberScheduled"] == len(wanted)
