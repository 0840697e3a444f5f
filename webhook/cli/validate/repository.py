"""What files are called in their repository, which is how a pull request finds them again."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from webhook.advice.findings.report import Report
from webhook.cli.inputs import STDIN, shown


def repository_of(folder: Path) -> Path | None:
    """Return the root of the repository that an absolute path is in, None if it is in none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


def in_repository(report: Report) -> Report:
    """Return a report with files as they are called from their repository's root.

    Wherever the command was run, a review of the repository then knows the files. Standard input,
    and what is outside of the repository, keeps its name.
    """
    root = repository_of(Path.cwd())
    if root is None:
        return report
    called = {file: _from(root, file) for file in {one.place.file for one in report.findings}}
    findings = [
        replace(one, place=replace(one.place, file=called[one.place.file]))
        for one in report.findings
    ]
    return replace(report, findings=findings)


def _from(root: Path, file: str) -> str:
    # Not resolved: a link is a file of the repository by its own name.
    path = Path(os.path.abspath(file))  # noqa: PTH100 -- Path.absolute keeps the ".."
    is_inside = file != shown(STDIN) and path.is_relative_to(root)
    return path.relative_to(root).as_posix() if is_inside else file
