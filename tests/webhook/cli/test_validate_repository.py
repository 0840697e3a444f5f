"""Files are called for reviews as their repository calls them, wherever the command was run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.webhook.advice.findings.judged import pod
from tests.webhook.cli.running import on_table

BAD = pod("limits: {preferred.jp/gpu-A100: 1}")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a folder, and a folder beside it."""
    root = tmp_path / "repository"
    for folder in (root / ".git", root / "jobs/night", tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
    for file in (root / "top.yaml", root / "jobs/a.yaml", tmp_path / "elsewhere/b.yaml"):
        file.write_text(BAD)
    return root


def files(*arguments: str, stdin: str = "") -> dict[str, str]:
    """What each format calls the one file in which something was found."""
    github = on_table("validate", *arguments, "--format=github", stdin=stdin).stdout
    sarif = json.loads(on_table("validate", *arguments, "--format=sarif", stdin=stdin).stdout)
    (result,) = sarif["runs"][0]["results"]
    (location,) = result["locations"]
    return {
        "github": github.partition("file=")[2].partition(",")[0],
        "sarif": location["physicalLocation"]["artifactLocation"]["uri"],
    }


@pytest.mark.parametrize(
    ("where", "named", "called"),
    [
        (".", "top.yaml", "top.yaml"),
        (".", "./jobs/a.yaml", "jobs/a.yaml"),
        ("jobs", "a.yaml", "jobs/a.yaml"),
        ("jobs", ".", "jobs/a.yaml"),
        ("jobs/night", "../a.yaml", "jobs/a.yaml"),
    ],
)
def test_from_any_folder_a_file_is_known(
    repository: Path, monkeypatch: pytest.MonkeyPatch, where: str, named: str, called: str
) -> None:
    monkeypatch.chdir(repository / where)
    assert files(named) == {"github": called, "sarif": called}
    assert files(str(repository / called)) == {"github": called, "sarif": called}
    # People jump from what they read to the file, from where they are.
    seen = "a.yaml" if named == "." else named
    assert on_table("validate", named).stdout.startswith(f"{seen}:8:18: error GS101 ")


def test_what_is_in_no_repository_keeps_its_name(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    assert files("../elsewhere/b.yaml")["github"] == "../elsewhere/b.yaml"
    assert files("-", stdin=BAD)["github"] == "<stdin>"
    monkeypatch.chdir(repository.parent / "elsewhere")
    assert files("b.yaml")["github"] == "b.yaml"
    assert files("../repository/top.yaml")["github"] == "../repository/top.yaml"
