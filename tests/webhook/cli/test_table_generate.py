"""``gpuspec table generate``: from saved objects or a cluster to a table that works."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from selection_spec.table import load_table
from tests.builders import Json
from tests.cluster.fleet import fake_node
from tests.webhook.cli.running import answer, run
from tests.webhook.inventory.fleets import (
    gke_cluster,
    gpu_node,
    numbered,
    ready_fleet,
    split_cluster,
    unknown_cluster,
)
from webhook.kube import cluster as kube
from webhook.kube.errors import ApiError
from webhook.terms import CLASSES_PATH, PRIORITY_CLASSES_PATH, SLICES_PATH

Lists = dict[str, list[Json]]


def saved(tmp_path: Path, nodes: list[Json], name: str = "nodes.json") -> str:
    file = tmp_path / name
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    return str(file)


def big_slice(node: str) -> Json:
    device = {
        "name": "gpu-0",
        "attributes": {"productName": {"string": "NVIDIA A100-SXM4-80GB"}},
        "capacity": {"memory": {"value": "80Gi"}},
    }
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "devices": [device]}
    return {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}


def test_the_table_of_saved_nodes_works(tmp_path: Path) -> None:
    made = run("table", "generate", "--nodes", saved(tmp_path, ready_fleet()))
    table = tmp_path / "table.yaml"
    table.write_text(made.stdout)

    assert (made.exit_code, made.stderr) == (0, "4 rows for 212 GPU nodes, 0 to finish\n")
    explained = answer(run("explain", "any-24gb", "--table", str(table), "-o", "json"))
    assert explained["candidates"] == ["a30-24gb", "v100-32gb", "a100-80gb"]
    linted = run("table", "lint", str(table))
    assert (linted.exit_code, linted.stdout) == (0, "")


@pytest.mark.parametrize(
    "cluster",
    [gke_cluster, split_cluster, unknown_cluster],
    ids=["GKE", "sliced and shared", "unknown cards"],
)
def test_it_passes_lint(tmp_path: Path, cluster: Callable[[], list[Json]]) -> None:
    made = run("table", "generate", "--nodes", saved(tmp_path, cluster()))

    assert made.exit_code == 0
    linted = run("table", "lint", "-", stdin=made.stdout)
    assert (linted.exit_code, linted.stdout) == (0, "")


def test_what_a_person_has_to_finish_is_counted(tmp_path: Path) -> None:
    made = run("table", "generate", "--nodes", saved(tmp_path, unknown_cluster()))

    assert made.stderr == "5 rows for 5 GPU nodes, 5 to finish\n"
    assert '# 5 rows have something to finish by hand: look for "finish:".' in made.stdout


def test_nodes_come_from_standard_input_and_slices_from_a_file(tmp_path: Path) -> None:
    nodes = numbered([gpu_node({"accelerator": "big"})])
    slices = saved(tmp_path, [big_slice("gpu-0")], "slices.json")
    made = run(
        "table",
        "generate",
        "--nodes",
        "-",
        "--slices",
        slices,
        stdin=json.dumps({"items": nodes}),
    )

    assert [row.id for row in load_table(made.stdout).rows] == ["a100-80gb"]


def test_no_gpus_are_no_table(tmp_path: Path) -> None:
    made = run("table", "generate", "--nodes", saved(tmp_path, [fake_node("cpu")]))

    assert (made.exit_code, made.stdout) == (1, "")
    assert made.stderr == (
        "none of 1 nodes offers a GPU (amd.com/gpu, gpu.intel.com/i915, gpu.intel.com/xe, "
        "nvidia.com/gpu)\n"
    )


def test_a_label_that_no_table_may_hold_is_named(tmp_path: Path) -> None:
    """No API server has it; a file may."""
    made = run("table", "generate", "--nodes", saved(tmp_path, [gpu_node({"gpu": "a b"})]))

    assert made.exit_code == 0
    assert made.stderr.startswith("warning: <stdout>:")
    assert 'label value "a b" is no label value' in made.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "give either --cluster or --nodes FILE"),
        (["--cluster", "--nodes", "x"], "give either --cluster or --nodes FILE"),
        (
            ["--cluster", "--slices", "x"],
            "--slices goes with --nodes; --cluster reads them itself",
        ),
        (
            ["--nodes", "-", "--slices", "-"],
            "standard input can be read only once",
        ),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_wrong_usage(arguments: list[str], reason: str) -> None:
    found = run("table", "generate", *arguments)

    assert found.exit_code == 2
    assert reason in found.stderr


def test_a_file_that_holds_something_else() -> None:
    found = run("table", "generate", "--nodes", "-", stdin='{"kind": "Pod"}')

    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == (
        "<stdin>: item 0 is of kind Pod, not Node; save them with: kubectl get nodes -o json\n"
    )


class _Cluster:
    """Answers lists as an API server does."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists

    def items(self, path: str) -> Iterator[Json]:
        if path not in self._lists:
            kind = path.rpartition("/")[2]
            raise ApiError(f"GET {path}", 403, "Forbidden", f"{kind} is forbidden")
        return iter(self._lists[path])


def connected(monkeypatch: pytest.MonkeyPatch, lists: Lists) -> None:
    monkeypatch.setattr(kube, "connect", lambda *_: _Cluster(lists))


def test_a_cluster_is_asked_for_nodes_and_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = numbered([gpu_node({"accelerator": "big"})])
    slices = [big_slice("gpu-0")]
    path = "/apis/resource.k8s.io/v1/resourceslices"
    connected(monkeypatch, {"/api/v1/nodes": nodes, path: slices})
    made = run("table", "generate", "--cluster")

    assert made.exit_code == 0
    assert [row.id for row in load_table(made.stdout).rows] == ["a100-80gb"]


def test_device_classes_are_asked_where_there_are_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = numbered([gpu_node({"accelerator": "big"}, 0)])
    own = {"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}
    lists = {
        "/api/v1/nodes": nodes,
        SLICES_PATH: [big_slice("gpu-0")],
        CLASSES_PATH: [{"metadata": {"name": "mine"}, "spec": {"selectors": [own]}}],
        PRIORITY_CLASSES_PATH: [{"metadata": {"name": "gpuspec-high"}}],
    }
    connected(monkeypatch, lists)
    made = run("table", "generate", "--cluster")

    assert (made.exit_code, made.stderr) == (0, "1 row for 1 GPU nodes, 0 to finish\n")
    (row,) = load_table(made.stdout).rows
    assert row.pool == "ResourceClaim"
    assert row.claim is not None
    assert row.claim.device_class == "mine"
    linted = run("table", "lint", "-", stdin=made.stdout)
    assert (linted.exit_code, "error" in linted.stdout) == (0, False)


def test_devices_that_two_rows_recognise_are_said(tmp_path: Path) -> None:
    """Their nodes have labels of two makers: one kind of card, and two rows."""
    nodes = numbered([gke_cluster()[0], gpu_node({"nvidia.com/gpu.product": "NVIDIA-L4"})])
    slices = [big_slice(f"gpu-{number}") for number in range(2)]
    for one in slices:
        one["spec"]["devices"][0]["attributes"]["productName"]["string"] = "NVIDIA L4"
    arguments = ("--nodes", saved(tmp_path, nodes), "--slices", saved(tmp_path, slices, "s.json"))
    made = run("table", "generate", *arguments)

    assert made.exit_code == 0
    assert "warning: the claims of l4-2-24gb and l4-24gb recognise the same devices" in made.stderr


@pytest.mark.rule("D3")
@pytest.mark.parametrize(
    ("classes", "comment", "unfinished"),
    [
        (["gpuspec-high", "batch"], "", 0),
        (
            ["system-node-critical", "prod-high", "batch"],
            (
                "  # finish: the cluster has no PriorityClass gpuspec-high; it has batch,\n"
                "  # prod-high\n"
            ),
            1,
        ),
        (
            ["system-node-critical"],
            (
                "  # finish: the cluster has no PriorityClass gpuspec-high; it has none of its\n"
                "  # own\n"
            ),
            1,
        ),
    ],
    ids=["there", "others", "none"],
)
def test_priority_classes_are_looked_for(
    monkeypatch: pytest.MonkeyPatch, classes: list[str], comment: str, unfinished: int
) -> None:
    lists = {
        "/api/v1/nodes": numbered([gpu_node({"card": "l4"})]),
        "/apis/resource.k8s.io/v1/resourceslices": [],
        PRIORITY_CLASSES_PATH: [{"metadata": {"name": name}} for name in classes],
    }
    connected(monkeypatch, lists)
    made = run("table", "generate", "--cluster")

    assert made.stderr == f"1 row for 1 GPU nodes, {unfinished} to finish\n"
    assert (
        "  # others may use any that fit. See which classes the cluster has and wants.\n"
        f"{comment}"
        "  priorities:\n"
        "    - {classNames: [gpuspec-high], policy: SmallestFit}\n"
    ) in made.stdout
    said = '# The priorities have something to finish by hand: look for "finish:".\n'
    assert (said in made.stdout) is bool(unfinished)
    assert len(load_table(made.stdout).rows) == 1


def test_rows_and_priorities_are_to_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {
        "/api/v1/nodes": unknown_cluster(),
        "/apis/resource.k8s.io/v1/resourceslices": [],
        PRIORITY_CLASSES_PATH: [],
    }
    connected(monkeypatch, lists)
    made = run("table", "generate", "--cluster")

    assert made.stderr == "5 rows for 5 GPU nodes, 6 to finish\n"
    assert (
        '# 5 rows and the priorities have something to finish by hand: look for\n# "finish:".\n'
    ) in made.stdout


def test_who_may_not_see_priority_classes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = numbered([gpu_node({"card": "l4"})])
    lists = {"/api/v1/nodes": nodes, "/apis/resource.k8s.io/v1/resourceslices": []}
    connected(monkeypatch, lists)
    made = run("table", "generate", "--cluster")

    assert made.exit_code == 0
    assert made.stderr == (
        "note: which PriorityClasses there are cannot be told: priorityclasses is forbidden\n"
        "1 row for 1 GPU nodes, 0 to finish\n"
    )


def test_a_cluster_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    connected(monkeypatch, {})
    made = run("table", "generate", "--cluster")

    assert (made.exit_code, made.stdout) == (2, "")
    assert made.stderr == (
        "the cluster refuses: GET /api/v1/nodes: 403 Forbidden: nodes is forbidden; "
        "ask an admin for this permission\n"
    )
