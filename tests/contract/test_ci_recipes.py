"""What other repositories' CI takes from here: a hook of pre-commit, and a GitHub Action."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import PFN_TABLE
from tests.contract.kustomize import REPOSITORY
from tests.contract.readme import pre_sync

WRONG = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
    - name: main
      image: x
      resources:
        limits:
          preferred.jp/gpu-a30-32gb: 1
"""
RIGHT = WRONG.replace("32gb", "24gb")
WHY = 'container "main": preferred.jp/gpu-a30-32gb: the largest a30 has 24 GB'
ACTION: dict[str, Any] = yaml.safe_load(
    (REPOSITORY / ".github/actions/gpuspec/action.yml").read_text()
)


def git(folder: Path, *arguments: str) -> str:
    own = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *own, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This project as a repository with one commit, as it is now."""
    folder = tmp_path_factory.mktemp("gpuspec")
    files = git(REPOSITORY, "ls-files", "-co", "--exclude-standard", "-z").split("\0")
    for name in filter(None, files):
        path = REPOSITORY / name
        if path.is_file() and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(path.read_bytes())
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=all")
    return folder


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    """Somebody's repository, with a right and a wrong manifest that are to be committed."""
    (tmp_path / "wrong.yaml").write_text(WRONG)
    (tmp_path / "right.yaml").write_text(RIGHT)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    return tmp_path


def test_the_hook_of_pre_commit_tells_the_line(source: Path, manifests: Path) -> None:
    hooks = [{"id": "gpuspec-validate"}, {"id": "gpuspec-table-lint"}]
    repo = {"repo": str(source), "rev": git(source, "rev-parse", "HEAD").strip(), "hooks": hooks}
    (manifests / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [repo]}))
    git(manifests, "add", ".pre-commit-config.yaml")
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--color=never"],
        cwd=manifests,
        env=os.environ | {"PRE_COMMIT_HOME": str(manifests / ".git/pre-commit")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    flat = " ".join(done.stdout.split())
    assert f"wrong.yaml:10:11: error GS104 {WHY}" in flat
    assert "right.yaml:" not in flat
    assert re.search(r"GPU selection tables\.+\(no files to check\)Skipped", done.stdout)


def run_step(
    name: str, folder: Path, source: Path, **inputs: str
) -> subprocess.CompletedProcess[str]:
    """Run a step of the action as a runner would, with its inputs filled in."""
    (step,) = (one for one in ACTION["runs"]["steps"] if one["name"] == name)
    given = {key: one["default"] for key, one in ACTION["inputs"].items()}
    given |= {key.replace("_", "-"): value for key, value in inputs.items()}
    known: dict[str, str] = {f"inputs.{key}": value for key, value in given.items()}
    known["github.action_path"] = str(source / ".github/actions/gpuspec")

    def fill(match: re.Match[str]) -> str:
        return known[match[1]]

    filled = {key: re.sub(r"\$\{\{ (\S+) \}\}", fill, text) for key, text in step["env"].items()}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=os.environ | filled | {"RUNNER_TEMP": str(source / ".git")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def installed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    done = run_step("Install gpuspec", tmp_path_factory.mktemp("install"), source)
    assert done.returncode == 0, done.stderr
    return source


def test_the_action_annotates_the_line(installed: Path, manifests: Path) -> None:
    done = run_step("Validate manifests", manifests, installed, sarif="out.sarif")
    assert done.returncode == 1, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("::error file=wrong.yaml,line=10,col=11,")
    assert WHY in line
    assert '"startLine": 10' in (manifests / "out.sarif").read_text()


def test_the_action_passes_what_is_right(installed: Path, manifests: Path) -> None:
    done = run_step("Validate manifests", manifests, installed, paths="right.yaml\nright.yaml")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("paths", ["$(touch owned)", "`touch owned`", "; touch owned", "--help"])
def test_what_a_caller_writes_is_no_part_of_the_script(
    installed: Path, manifests: Path, paths: str
) -> None:
    done = run_step("Validate manifests", manifests, installed, paths=paths)
    assert done.returncode == 2
    assert not (manifests / "owned").exists()


def test_inputs_stand_nowhere_in_a_script() -> None:
    assert all("${{" not in step["run"] for step in ACTION["runs"]["steps"])


def test_the_presync_hook_fetches_and_judges(
    manifests: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its containers' commands in their order, with a repository and a folder that are here."""
    spec = pre_sync()["spec"]["template"]["spec"]
    (fetch,), (judge,) = spec["initContainers"], spec["containers"]
    git(manifests, "checkout", "--quiet", "-b", "main")
    (manifests / "table.yaml").write_bytes(PFN_TABLE.read_bytes())
    git(manifests, "add", "table.yaml")
    (manifests / "manifests").mkdir()
    git(manifests, "mv", "wrong.yaml", "manifests/wrong.yaml")
    git(manifests, "commit", "--quiet", "--all", "--message=app")
    folder = str(tmp_path_factory.mktemp("volume"))

    def here(argument: str) -> str:
        return argument.replace("/src/", f"{folder}/").replace(
            "https://git.example/app.git", manifests.as_uri()
        )

    subprocess.run([*map(here, fetch["command"])], check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-m", "webhook", *map(here, judge["args"])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert f"wrong.yaml:10:11: error GS104 {WHY}" in " ".join(done.stdout.split())
