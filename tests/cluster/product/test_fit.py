"""A table held against a live cluster before it is applied: lint, diff and generate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from selection_spec.table import load_table
from tests.builders import PFN_TABLE, Json, make_row
from tests.cluster.api import ApiError, path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.product.priorities import HIGH
from tests.cluster.product.tables import defined, delete_table
from tests.webhook.cli.running import TABLE, answer, run
from webhook.terms import TABLES_PATH

pytestmark = pytest.mark.usefixtures("webhook", "tables")

_PFN: Json = yaml.safe_load(PFN_TABLE.read_bytes())

Change = Callable[[Json], object]
Write = Callable[[Change], str]


@pytest.fixture(scope="module")
def tables(cluster: ControlPlane) -> Iterator[None]:
    with defined(cluster.api):
        yield


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the fleet's table with a change to its spec, and returns the file."""

    def to_file(change: Change) -> str:
        table = deepcopy(_PFN)
        change(table["spec"])
        file = tmp_path / "table.json"
        file.write_text(json.dumps(table))
        return str(file)

    return to_file


@pytest.fixture
def exporter(cluster: ControlPlane, namespace: str) -> Iterator[str]:
    """A DaemonSet that runs on the fleet's GPU nodes."""
    labels = {"app": "exporter"}
    spec = {
        "containers": [{"name": "main", "image": "exporter"}],
        "tolerations": [{"key": "gpu-model", "operator": "Exists"}],
        "nodeSelector": {"gpu-model": "a100-80gb"},
    }
    sets = path("apps/v1", "daemonsets", namespace=namespace)
    cluster.api.create(
        sets,
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "exporter"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        },
    )
    yield f"{namespace}/exporter"
    cluster.api.delete(f"{sets}/exporter")


def _where(cluster: ControlPlane) -> tuple[str, ...]:
    return ("--cluster", "--kubeconfig", str(cluster.kubeconfig))


@pytest.mark.rule("D3", "D6", "G1", "H7")
def test_lint_finds_what_does_not_fit(cluster: ControlPlane, write: Write, exporter: str) -> None:
    assert run("table", "lint", TABLE, *_where(cluster)).stdout == ""

    def change(spec: Json) -> None:
        spec["resourceDomain"] = "example.com"
        spec["priorities"] = [{"classNames": ["vip"], "policy": "SmallestFit"}]
        spec["devices"][3]["reserved"] = True
        spec["devices"][2] = make_row("h100-80gb")

    cluster.api.create(TABLES_PATH, _PFN)
    try:
        result = run("table", "lint", write(change), *_where(cluster), "-o", "json")
    finally:
        delete_table(cluster.api, "pfn")
    found = {(one["level"], one["path"], one["message"]) for one in answer(result, code=1)}
    nodes = [one for one in cluster.api.list("/api/v1/nodes") if _model(one) == "a30-24gb"]
    assert found == {
        (
            "error",
            "spec.resourceDomain",
            (
                'resourceDomain is "example.com", but "preferred.jp" in the cluster\'s table pfn, '
                "where it cannot change"
            ),
        ),
        (
            "warning",
            "spec.priorities[0].classNames",
            "the cluster has no PriorityClass vip",
        ),
        (
            "warning",
            "spec.devices",
            (
                f"{len(nodes)} nodes with GPUs match no row, such as "
                f"{nodes[0]['metadata']['name']} (6 nvidia.com/gpu; gpu-model=a30-24gb)"
            ),
        ),
        (
            "warning",
            "spec.devices[2]",
            "h100-80gb: label gpu-model=h100-80gb matches no node",
        ),
        (
            "warning",
            "spec.devices[3]",
            (
                f"a100-80gb: reserved waits for DaemonSet {exporter}, whose Pods would not come "
                "back to its nodes"
            ),
        ),
    }


def _model(node: Json) -> str | None:
    model: str | None = node["metadata"]["labels"].get("gpu-model")
    return model


@pytest.mark.rule("N2", "N5")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda spec: spec["devices"][2].update(nodes={"matchLabels": {"gpu-model": "a30"}}),
            "their labels are not those of a30-24gb",
        ),
        (
            lambda spec: spec["devices"][2].pop("tolerations"),
            "taint gpu-model=a30-24gb:NoSchedule is not tolerated",
        ),
    ],
    ids=["a label that no node has", "no tolerations"],
)
def test_diff_sees_specs_lose_their_nodes_though_no_pod_runs(
    cluster: ControlPlane, write: Write, change: Change, why: str
) -> None:
    result = run("table", "diff", TABLE, write(change), *_where(cluster))
    assert result.exit_code == 1
    nodes = [one for one in cluster.api.list("/api/v1/nodes") if _model(one) == "a30-24gb"]
    assert f"  error: gpu-a30\n    loses its {len(nodes)} nodes: {why}\n" in result.stdout


def test_the_first_table_of_a_cluster_breaks_nothing(cluster: ControlPlane) -> None:
    result = run("table", "diff", "cluster:default", TABLE, *_where(cluster))
    assert (result.exit_code, "error:" in result.stdout) == (0, False)
    assert "  65 rows match none → 4 rows match " in result.stdout


@pytest.mark.rule("D3")
def test_generate_says_which_classes_there_are(cluster: ControlPlane) -> None:
    result = run("table", "generate", *_where(cluster))
    assert f"  # finish: the cluster has no PriorityClass gpuspec-high; it has {HIGH}" in (
        result.stdout
    )
    assert load_table(result.stdout).rows


def test_a_name_that_lint_refuses_is_refused_by_the_api_server(cluster: ControlPlane) -> None:
    table = {**_PFN, "metadata": {"name": "Default"}}
    lint = run("table", "lint", "-", stdin=json.dumps(table))
    assert (lint.exit_code, "metadata.name" in lint.stdout) == (1, True)
    with pytest.raises(ApiError, match=r"metadata\.name"):
        cluster.api.create(TABLES_PATH, table)
