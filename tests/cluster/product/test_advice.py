"""``table diff`` and ``offers`` on a live cluster: what they say, and what the scheduler does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.builders import PFN_TABLE, Json, PodBuilder, asking, expression, make_pod, term
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import create_pod, wait_decided
from tests.cluster.product.places import cordoned, full
from tests.cluster.product.priorities import HIGH
from tests.cluster.product.workloads import create_workload, wait_pods, workload
from tests.cluster.versions import ON_NEWEST
from tests.webhook.cli.running import TABLE, answer, run

pytestmark = [ON_NEWEST, pytest.mark.usefixtures("webhook")]


def _reserved(folder: Path) -> str:
    """The table in force with its A100s reserved."""
    table: Json = yaml.safe_load(PFN_TABLE.read_bytes())
    table["spec"]["devices"][3]["reserved"] = True
    file = folder / "reserved.json"
    file.write_text(json.dumps(table))
    return str(file)


def _diff(cluster: ControlPlane, new: str, code: int) -> Json:
    where = ("--cluster", "--kubeconfig", str(cluster.kubeconfig))
    found: Json = answer(run("table", "diff", TABLE, new, *where, "-o", "json"), code=code)
    return found


def _offers(cluster: ControlPlane, *arguments: str) -> list[Json]:
    where = ("--table", TABLE, "--kubeconfig", str(cluster.kubeconfig), "-o", "json")
    result = run("offers", *arguments, *where)
    found: list[Json] = json.loads(result.stdout)["offers"]
    return found


@pytest.mark.rule("R5", "D6", "N9")
def test_whose_pods_a_reserve_would_move(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    api = cluster.api
    zoned = make_pod("zoned").container("main", any_24gb=1).selector(gpu_model="a100-80gb")
    terms = asking(any_24gb=1).terms(
        term(expression("gpu-model", "In", "a100-80gb", "a30-24gb")),
        term(expression("kubernetes.io/hostname", "Exists")),
    )
    workloads: list[tuple[str, str, PodBuilder]] = [
        ("Deployment", "web", asking(any_24gb=1)),
        ("Deployment", "pinned", zoned),
        ("Deployment", "terms", terms),
        ("StatefulSet", "big", asking(any_80gb=4)),
        ("StatefulSet", "named", asking(a100=1)),
        ("Deployment", "high", asking(any_24gb=1).spec(priorityClassName=HIGH)),
    ]
    for kind, name, pod in workloads:
        create_workload(api, namespace, workload(kind, name, pod))
    for _, name, _ in workloads:
        wait_pods(api, namespace, name, 1)
    create_pod(api, namespace, make_pod("other").container("main").build())

    same = _diff(cluster, TABLE, 0)["pods"]
    assert same["fates"]["same"] == same["judged"] >= len(workloads)

    found = _diff(cluster, _reserved(tmp_path), 1)["pods"]
    assert found["fates"]["cannot tell"] == 0
    reserved = "a100-80gb fits but is reserved: write preferred.jp/gpu-a100-80gb"
    fates = {
        one["owner"]: (one["fate"], one["reason"].rpartition("; ")[2])
        for one in found["owners"]
        if one["namespace"] == namespace
    }
    assert fates == {
        "Deployment/web": ("otherwise", "loses a100-80gb"),
        "Deployment/terms": ("otherwise", "loses a100-80gb"),
        "Deployment/pinned": ("denied", reserved),
        "StatefulSet/big": ("denied", reserved),
    }


@pytest.mark.parametrize("priority", [None, HIGH], ids=["low", "high"])
def test_what_offers_say_is_what_the_scheduler_does(
    cluster: ControlPlane, namespace: str, priority: str | None
) -> None:
    requests = {"any": 8, "any_24gb": 6, "any_32gb": 8, "any_80gb": 4, "a30": 6, "v100_32gb": 1}
    said = ("--priority-class", priority) if priority else ()
    with cordoned(cluster.api, "v100-32gb"), full(cluster.api, "a30-24gb"):
        offers = _offers(
            cluster,
            *(f"{spec.replace('_', '-')}:{count}" for spec, count in requests.items()),
            *said,
        )
        for spec, count in requests.items():
            pod = make_pod(spec.replace("_", "-")).container("main", **{spec: count})
            if priority:
                pod.spec(priorityClassName=priority)
            create_pod(cluster.api, namespace, pod.build())
        names = [spec.replace("_", "-") for spec in requests]
        placed = wait_decided(cluster.api, namespace, names)
    starts = {one["spec"].removeprefix("gpu-"): one["start"] for one in offers}
    assert starts == {name: "yes" if node else "no" for name, node in placed.items()}
    assert set(starts.values()) == {"yes", "no"}


def test_who_may_not_see_nodes_learns_what_to_ask_for(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    token = cluster.service_account_token(namespace, "default")
    kubeconfig = cluster.write_kubeconfig(tmp_path / "kubeconfig", token)
    result = run("offers", "--table", TABLE, "--kubeconfig", str(kubeconfig))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f'nodes is forbidden: User "system:serviceaccount:{namespace}:default" cannot list '
        'resource "nodes" in API group "" at the cluster scope\n'
        "ask an admin for permission to list nodes and pods in all namespaces, and resourceclaims "
        "where devices are claimed; or for gpuspec controller, whose table status is as good for "
        "this\n"
    )
