"""What the README tells its reader to type, and the files that it shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from textwrap import dedent
from typing import Any

import yaml

from tests.contract.kustomize import MANIFESTS, REPOSITORY

IN_A_CLUSTER = re.compile(r"kubectl |gpuspec (offers|doctor|health(?! simulate))|.* --cluster")

_BIN = Path(sysconfig.get_path("scripts"))

_FENCE = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_MINE = "manifests/overlays/mine"
_FILES = {
    "Pod": "pod.yaml",
    "DaemonSet": "daemonset.yaml",
    "Job": "job.yaml",
    "SelectionTable": "table.yaml",
    "Kustomization": f"{_MINE}/kustomization.yaml",
}
_PRE_SYNC = "gpuspec-validate"
_NAMED = {"claims": "claims.yaml", _PRE_SYNC: "presync.yaml"}
_HISTORY = "nodes.events"

TEXT = (REPOSITORY / "README.md").read_text()


def commands() -> list[str]:
    """Every line of every shell block, each once."""
    lines = [line for kind, body in _blocks() if kind == "sh" for line in body.splitlines()]
    return list(dict.fromkeys(line for line in lines if line))


def documents() -> list[Any]:
    """Every block of YAML, read; parts of documents among them."""
    return [yaml.safe_load(body) for kind, body in _blocks() if kind == "yaml"]


def pre_sync() -> dict[str, Any]:
    """The Job that Argo CD is to run before it applies anything."""
    (found,) = (
        one
        for one in documents()
        if isinstance(one, dict) and (one.get("metadata") or {}).get("name") == _PRE_SYNC
    )
    return dict(found)


def _blocks() -> list[tuple[str, str]]:
    """Every fenced block as its language and its text, without the indentation of a list."""
    return [(kind, dedent(body)) for kind, body in _FENCE.findall(TEXT)]


def write_files(folder: Path) -> None:
    """Write the documents that the README shows under their names there, and the manifests."""
    ours = shutil.ignore_patterns("mine")  # the checkout may have one of its user's own
    shutil.copytree(MANIFESTS, folder / "manifests", dirs_exist_ok=True, ignore=ours)
    (folder / _MINE).mkdir(exist_ok=True)
    for kind, body in _blocks():
        if kind == "json":
            (folder / _HISTORY).write_text(body)
        document = yaml.safe_load(body) if kind == "yaml" else None
        if isinstance(document, dict) and document.get("kind") in _FILES:
            (folder / _file_of(document)).write_text(body)


def _file_of(document: dict[str, Any]) -> str:
    name = str((document.get("metadata") or {}).get("name"))
    return _NAMED.get(name, _FILES[document["kind"]])


def run(command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the project's programs first on the path, as after ``make demo``."""
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=cwd,
        env=os.environ | {"PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
