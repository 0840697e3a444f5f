"""The commands that the README names, as far as they can be tried without doing their work."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.contract.kustomize import REPOSITORY


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=REPOSITORY,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_help_is_the_default_and_has_a_line_for_every_command() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    done = make()
    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(re.findall(r"^  make (\w+) +(\S.*)$", done.stdout, re.MULTILINE))
    assert sorted(lines) == sorted(phony.split())
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_an_old_python_is_refused_with_what_to_do_instead(tmp_path: Path) -> None:
    old = script(tmp_path / "python3.10", "exit 1")
    done = make("demo", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        f"gpuspec needs Python 3.11 or newer, and '{old}' is none: "
        "name one, for example: make PYTHON=python3.12 demo"
    )
    assert not (tmp_path / "venv").exists()


def test_a_python_without_venv_is_refused_with_what_to_install(tmp_path: Path) -> None:
    bare = script(tmp_path / "python3", 'case "$2" in *venv*) exit 1;; esac')
    done = make("setup", f"PYTHON={bare}", f"VENV={tmp_path / 'venv'}")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        f"'{bare}' cannot make a virtual environment: "
        "install its venv module (on Debian and Ubuntu: apt install python3-venv)"
    )
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("target", ["test", "check"])
def test_the_checks_run_every_tool(target: str) -> None:
    done = make("--dry-run", target)
    assert done.returncode == 0
    for tool in ("ruff format --check", "ruff check", "mypy", "lint-imports", "pytest"):
        assert f"/{tool}" in done.stdout or f"-m {tool}" in done.stdout, tool


@pytest.mark.parametrize("code", [0, 3])
def test_ci_runs_the_test_command_in_the_repository_and_ends_as_it_ends(
    tmp_path: Path, code: int
) -> None:
    script(tmp_path / "make", f'echo "$PWD: make $*"; exit {code}')
    done = subprocess.run(
        ["bash", REPOSITORY / ".ci/run"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, f"{REPOSITORY}: make test\n")
