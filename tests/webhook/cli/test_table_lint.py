"""``gpuspec table lint``: whole lines, the documented JSON, exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from selection_spec import data
from tests.builders import PFN_TABLE, Json, claim_row
from tests.webhook.cli.running import TABLE, answer, run
from webhook.kube.errors import ApiError
from webhook.terms import PRIORITY_CLASSES_PATH, TABLES_PATH

BUILT_IN = str(Path(data.__file__).parent / "default-table.yaml")


def example(old: str, new: str) -> str:
    """The example table with one change."""
    text = PFN_TABLE.read_text()
    assert old in text
    return text.replace(old, new, 1)


BAD = example("vram: 24gb\n      perNode: 6", "vram: 24\n      pernode: 6")
DOUBTFUL = example("cost: 2", "cost: 0")


def test_the_shipped_tables_are_fine() -> None:
    result = run("table", "lint", TABLE, BUILT_IN, "--fail-on", "warning")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "2 tables: 0 errors, 0 warnings\n"


@pytest.mark.rule("C7")
def test_a_note_fails_nobody(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    rule = '"priorities": [{"classNames": ["high"], "policy": "SmallestFit"}]'
    row = json.dumps(claim_row("a30-24gb"))
    file.write_text(
        '{"apiVersion": "gpuspec.preferred.jp/v1alpha1", "kind": "SelectionTable",\n'
        f'"metadata": {{"name": "x"}}, "spec": {{{rule}, "devices": [{row}]}}}}'
    )
    result = run("table", "lint", str(file), "--fail-on", "warning")
    assert (result.exit_code, result.stderr) == (0, "1 table: 0 errors, 0 warnings, 1 note\n")
    assert result.stdout == (
        f"{file}:2:87: note: spec.priorities[0].policy: Kubernetes does not preempt Pods for "
        "devices of claims; count on priority to steer there, not to make room\n"
    )


@pytest.mark.rule("G3")
def test_errors_have_file_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(BAD)
    result = run("table", "lint", str(file))
    assert result.exit_code == 1
    assert result.stdout == (
        f"{file}:35:7: error: spec.devices[2].perNode: perNode is missing\n"
        f"{file}:36:13: error: spec.devices[2].vram: vram 24 is no nominal memory; write 24gb\n"
        f"{file}:37:7: error: spec.devices[2].pernode: unknown key pernode; "
        "did you mean perNode?\n"
    )
    assert result.stderr == "1 table: 3 errors, 0 warnings\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [\n", "2:1: error: did not find expected node content while parsing a flow node"),
        ("", "1:1: error: the text holds no document"),
    ],
    ids=["no yaml", "empty"],
)
def test_a_text_that_is_no_table_at_all_is_a_finding_too(text: str, line: str) -> None:
    result = run("table", "lint", "-", stdin=text)
    assert (result.exit_code, result.stdout) == (1, f"<stdin>:{line}\n")


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1)])
def test_warnings_fail_on_demand(fail_on: str, code: int) -> None:
    result = run("table", "lint", "-", "--fail-on", fail_on, stdin=DOUBTFUL)
    assert result.exit_code == code
    assert result.stdout == (
        "<stdin>:22:13: warning: spec.devices[0].cost: v100-16gb costs more than v100-32gb; "
        "Pods that may use both will prefer the larger\n"
    )
    assert result.stderr == "1 table: 0 errors, 1 warning\n"


def test_json() -> None:
    result = run("table", "lint", "-", "-o", "json", stdin=DOUBTFUL)
    assert result.stderr == ""
    assert answer(result) == [
        {
            "file": "<stdin>",
            "line": 22,
            "column": 13,
            "level": "warning",
            "path": "spec.devices[0].cost",
            "message": "v100-16gb costs more than v100-32gb",
            "hint": "Pods that may use both will prefer the larger",
            "rule": "N6",
        }
    ]
    assert answer(run("table", "lint", TABLE, "-o", "json")) == []


def test_what_kubectl_prints_can_be_read() -> None:
    stored = yaml.safe_load(PFN_TABLE.read_text())
    stored["metadata"] |= {"uid": "1", "generation": 2, "managedFields": [{"manager": "x"}]}
    stored["status"] = {"digest": "x", "rows": [{"id": "a30-24gb"}]}
    for text in (json.dumps(stored, indent=2), yaml.safe_dump(stored)):
        assert run("table", "lint", "-", stdin=text).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "Error: give a FILE, or --cluster\n"),
        (("-", "-"), "Error: standard input can be read only once\n"),
        (("nowhere.yaml",), "nowhere.yaml: No such file or directory\n"),
    ],
    ids=["no file", "twice", "missing"],
)
def test_wrong_usage(arguments: tuple[str, ...], reason: str) -> None:
    result = run("table", "lint", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(reason)


def node(name: str, model: str, *taints: str) -> Json:
    return {
        "metadata": {"name": name, "labels": {"gpu-model": model}},
        "spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]},
        "status": {
            "capacity": {"nvidia.com/gpu": "8"},
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


_DAEMON_SETS = "/apis/apps/v1/daemonsets"


def daemon_set(name: str) -> Json:
    spec = {"template": {"spec": {"tolerations": [{"operator": "Exists", "key": "gpu-model"}]}}}
    return {"metadata": {"namespace": "gpu-operator", "name": name}, "spec": spec}


class FakeCluster:
    """Has one SelectionTable, or none, a few nodes, DaemonSets and PriorityClasses."""

    def __init__(self, table: Json | None, refused: str = "", *nodes: Json) -> None:
        self._table = table
        self._refused = refused
        self._lists: dict[str, list[Json]] = {
            "/api/v1/nodes": [
                node("n1", "v100-16gb", "gpu-model"),
                node("n2", "a30-24g"),
                *nodes,
            ],
            _DAEMON_SETS: [daemon_set("dcgm"), daemon_set("plugin")],
            PRIORITY_CLASSES_PATH: [
                {"metadata": {"name": name}} for name in ("prod", "batch", "system-node-critical")
            ],
            TABLES_PATH: [] if table is None else [table],
        }

    def get(self, path: str) -> Json:
        if self._table is None:
            raise ApiError(f"GET {path}", 404, "NotFound", "not found")
        assert path == f"{TABLES_PATH}/default"
        return self._table

    def items(self, path: str) -> Iterator[Json]:
        if self._refused in {path, "all but nodes"} and path != "/api/v1/nodes":
            kind = path.rpartition("/")[2]
            raise ApiError(f"GET {path}", 403, "Forbidden", f"{kind} is forbidden")
        yield from self._lists[path]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401 - a function
    def use(table: Json | None, refused: str = "", *nodes: Json) -> None:
        monkeypatch.setattr(
            "webhook.kube.cluster.connect",
            lambda _kubeconfig, _context: FakeCluster(table, refused, *nodes),
        )

    return use


def test_a_file_is_held_against_the_nodes_of_a_cluster(cluster: Any) -> None:  # noqa: ANN401
    cluster(None)
    result = run("table", "lint", TABLE, "--cluster")
    assert result.exit_code == 1
    assert [line.removeprefix(f"{TABLE}:") for line in result.stdout.splitlines()] == [
        (
            "14:20: warning: spec.priorities[0].classNames: the cluster has no PriorityClass high; "
            "it has batch, prod"
        ),
        (
            "18:3: warning: spec.devices: 1 node with GPUs matches no row: n2 (8 nvidia.com/gpu; "
            "gpu-model=a30-24g); add a row for them, or mend the one that should match them"
        ),
        (
            "19:7: error: spec.devices[0]: v100-16gb: 1 node carries taint gpu-model:NoSchedule "
            "that this row does not tolerate"
        ),
        (
            "19:7: warning: spec.devices[0]: v100-16gb: tolerates "
            "gpu-model=v100-16gb:NoSchedule, a taint that none of its nodes has"
        ),
        ("27:7: warning: spec.devices[1]: v100-32gb: label gpu-model=v100-32gb matches no node"),
        (
            "35:7: error: spec.devices[2]: a30-24gb: label gpu-model=a30-24gb matches no node; "
            "near: gpu-model=a30-24g on 1 node"
        ),
        ("43:7: warning: spec.devices[3]: a100-80gb: label gpu-model=a100-80gb matches no node"),
    ]
    assert result.stderr == "1 table: 2 errors, 5 warnings\n"


@pytest.mark.rule("H7")
def test_what_a_reserve_waits_for_is_foretold(cluster: Any) -> None:  # noqa: ANN401
    cluster(None)
    text = example("perNode: 8", "perNode: 8\n      reserved: true")
    result = run("table", "lint", "-", "--cluster", stdin=text)
    assert (
        "<stdin>:19:7: warning: spec.devices[0]: v100-16gb: reserved waits for DaemonSets "
        "gpu-operator/dcgm, gpu-operator/plugin, whose Pods would not come back to its nodes; "
        "give each the toleration key gpuspec.preferred.jp/reserved, operator Exists, effect "
        "NoSchedule\n"
    ) in result.stdout


@pytest.mark.rule("G1")
def test_the_domain_of_the_table_there_cannot_change(cluster: Any) -> None:  # noqa: ANN401
    stored = {"metadata": {"name": "pfn"}, "spec": {}}
    cluster(stored)
    text = example("spec:\n", "spec:\n  resourceDomain: example.com\n").replace(
        "  resourceDomain: preferred.jp\n", ""
    )
    said = (
        'spec.resourceDomain: resourceDomain is "example.com", but "preferred.jp" in the '
        "cluster's table pfn, where it cannot change; write preferred.jp\n"
    )
    for name, found in (("pfn", True), ("candidate", False)):
        named = text.replace("name: pfn", f"name: {name}")
        result = run("table", "lint", "-", "--cluster", stdin=named)
        assert (f"error: {said}" in result.stdout) is found


@pytest.mark.rule("G3")
def test_vram_is_held_against_what_drivers_say(cluster: Any) -> None:  # noqa: ANN401
    half = node("n3", "a100-80gb")
    half["metadata"]["labels"]["nvidia.com/gpu.memory"] = "40960"
    cluster(None, "", half)
    result = run("table", "lint", TABLE, "--cluster")
    assert (
        f"{TABLE}:43:7: warning: spec.devices[3]: a100-80gb: vram is 80gb, 1 node says 40960 MiB: "
        "40gb\n"
    ) in result.stdout


def test_what_may_not_be_read_is_left_out_and_said(cluster: Any) -> None:  # noqa: ANN401
    cluster(None, refused="all but nodes")
    result = run("table", "lint", TABLE, "--cluster")
    assert result.exit_code == 1
    assert "PriorityClass" not in result.stdout
    assert result.stderr == (
        "note: what a reserve waits for cannot be told: daemonsets is forbidden\n"
        "note: whether the table's classes exist cannot be told: priorityclasses is forbidden\n"
        "note: whether resourceDomain stays as it is cannot be told: selectiontables is "
        "forbidden\n"
        "1 table: 2 errors, 4 warnings\n"
    )


def test_nodes_are_no_matter_for_a_table_with_errors(cluster: Any) -> None:  # noqa: ANN401
    cluster(None)
    assert len(run("table", "lint", "-", "--cluster", stdin=BAD).stdout.splitlines()) == 3


def test_without_a_file_the_table_in_use_is_looked_at(cluster: Any) -> None:  # noqa: ANN401
    stored = yaml.safe_load(PFN_TABLE.read_text())
    stored["metadata"] = {"name": "default", "uid": "1"}
    cluster(stored)
    result = run("table", "lint", "--cluster")
    assert result.exit_code == 1
    assert (
        "SelectionTable default: error: spec.devices[2]: a30-24gb: label gpu-model=a30-24gb "
        "matches no node; near: gpu-model=a30-24g on 1 node\n"
    ) in result.stdout
    cluster(None)
    assert "built-in table: warning: spec.devices[0]: " in run("table", "lint", "--cluster").stdout
