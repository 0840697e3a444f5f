"""The examples of the help texts hold: every one is run, with the built-in table."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from selection_spec import data
from tests.builders import PFN_TABLE, Json, asking
from tests.webhook.cli.clusters import use_cluster
from tests.webhook.cli.running import run
from webhook.cli import main

_DEFAULT_TABLE = Path(data.__file__).parent / "default-table.yaml"

# They look at a whole installation; their own tests have one.
_ELSEWHERE = {"doctor", "health"}

# What the programs before a "|" would print.
_STDIN = {
    "helm template charts/train": "job.yaml",
    "kubectl get nodes -o json": "nodes.json",
    "kubectl get pod p -o yaml": "pod.yaml",
    "kubectl get selectiontable default -o yaml": "table.yaml",
    "kustomize build .": "job.yaml",
}


def _epilogs(command: click.Command) -> Iterator[str]:
    yield command.epilog or ""
    if isinstance(command, click.Group):
        for name in sorted({*command.list_commands(click.Context(command))} - _ELSEWHERE):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from _epilogs(below)


def _examples() -> list[str]:
    """Return the lines that show a command, without the comments beside them."""
    lines = [line.strip() for epilog in _epilogs(main) for line in epilog.splitlines()]
    lines = [line.removeprefix("Start with: ").partition("   ")[0] for line in lines]
    return [line for line in lines if any(is_ours(part) for part in line.split(" | "))]


def is_ours(part: str) -> bool:
    return part.startswith("gpuspec ")


def _node(product: str) -> Json:
    return {
        "kind": "Node",
        "metadata": {"name": product.lower(), "labels": {"nvidia.com/gpu.product": product}},
        "spec": {},
        "status": {
            "capacity": {"nvidia.com/gpu": "8"},
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


_NODES = [_node("NVIDIA-A100-SXM4-40GB"), _node("NVIDIA-A100-SXM4-80GB")]


def _workload(version: str, kind: str, template: Json) -> Json:
    metadata = {"name": "train"}
    spec = {"template": template}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that examples name, and a cluster that has no table of its own."""
    pod = asking(any_24gb=1).build()
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod["spec"]}
    files = {
        "pod.yaml": pod,
        "job.yaml": _workload("batch/v1", "Job", template),
        "jobs/fit.yaml": _workload("batch/v1", "Job", template),
        "manifests/train.yaml": _workload("batch/v1", "Job", template),
        "daemonset.yaml": _workload("apps/v1", "DaemonSet", template),
        "nodes.json": {"kind": "NodeList", "items": _NODES},
        "pods.json": {"kind": "PodList", "items": []},
    }
    for name, document in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(document))
    for name in ("table.yaml", "old.yaml", "new.yaml"):
        (tmp_path / name).write_text(_DEFAULT_TABLE.read_text(encoding="utf-8"))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/pfn.yaml").write_text(PFN_TABLE.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    use_cluster(monkeypatch, nodes=_NODES)
    return tmp_path


def _arguments(command: str) -> list[str]:
    """Return a command's arguments as a shell would pass them."""
    words = shlex.split(command.partition(" > ")[0])[1:]
    return [
        found
        for word in words
        for found in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
    ]


def test_there_are_examples() -> None:
    assert "gpuspec explain any-24gb" in _examples()
    assert len(_examples()) >= 10


@pytest.mark.parametrize("example", _examples())
def test_an_example_holds(example: str, folder: Path) -> None:
    before, ours = "", example
    if not is_ours(example):
        before, _, ours = example.partition(" | ")
    stdin = (folder / _STDIN[before]).read_text() if before else None
    arguments = _arguments(ours.partition(" | ")[0])
    result = run(*arguments, stdin=stdin)
    # In the folder is a DaemonSet that asks by a spec.
    finds = arguments[:2] == ["validate", "."]
    assert result.exit_code == (1 if finds else 0), result.output
    if arguments[0] == "explain":
        assert "allowed: " in result.stdout
    if arguments[0] == "mutate":
        assert "preferred.jp/gpu-" not in json.dumps(list(yaml.safe_load_all(result.stdout)))
