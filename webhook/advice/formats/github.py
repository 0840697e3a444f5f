"""Findings as workflow commands, which GitHub Actions shows beside the lines of a pull request."""

from __future__ import annotations

from typing import Final

from selection_spec.errors import Level
from webhook.admission.messages import one_line
from webhook.advice.findings.finding import Finding
from webhook.advice.findings.report import Report
from webhook.advice.formats.escapes import visible

_COMMANDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}

# GitHub's own: it reads these back, and nothing else.
_IN_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTIES: Final = _IN_DATA | str.maketrans({":": "%3A", ",": "%2C"})


def as_github(report: Report) -> str:
    """Return a line for each finding that is told; "" where there is none."""
    return "\n".join(map(_command, report.told))


def _command(one: Finding) -> str:
    parts = (one.message, one.hint, one.origin)
    text = "\n".join(filter(None, map(one_line, parts)))
    properties = ",".join(
        f"{name}={value.translate(_IN_PROPERTIES)}" for name, value in _properties(one).items()
    )
    return f"::{_COMMANDS[one.level]} {properties}::{text.translate(_IN_DATA)}"


def _properties(one: Finding) -> dict[str, str]:
    """Return where it is; without a line there is no column, without a column no end of one."""
    place = one.place
    properties = {"file": visible(place.file.removeprefix("./"))}
    if place.line:
        properties["line"] = str(place.line)
        if place.column:
            properties["col"] = str(place.column)
            if place.end_column > place.column:
                properties["endColumn"] = str(place.end_column)
    return {**properties, "title": f"{one.rule.id} {one.rule.name}"}
