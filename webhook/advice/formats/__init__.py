"""Reports of findings as texts: for people, for programs, and for what shows them elsewhere."""

from __future__ import annotations

from enum import StrEnum

from selection_spec.errors import Level
from webhook.advice.findings.report import Report
from webhook.advice.formats.github import as_github
from webhook.advice.formats.json import as_json
from webhook.advice.formats.junit import as_junit
from webhook.advice.formats.sarif import Tool, as_sarif
from webhook.advice.formats.text import Colour, as_text, plain


class Format(StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


def render(
    report: Report,
    *,
    form: Format,
    tool: Tool,
    fail_on: Level = Level.ERROR,
    colour: Colour = plain,
) -> str:
    """Return a report in a format, without a line break at its end; "" for nothing to write.

    Every text that comes back can be written as UTF-8, whatever was in the manifests.

    Args:
        report: What was found.
        form: The format.
        tool: What SARIF says of the program.
        fail_on: The mildest level that is a failure in JUnit.
        colour: Colours the text for people.
    """
    match form:
        case Format.TEXT:
            return as_text(report, colour)
        case Format.JSON:
            return as_json(report)
        case Format.SARIF:
            return as_sarif(report, tool)
        case Format.JUNIT:
            return as_junit(report, fail_on)
        case Format.GITHUB:
            return as_github(report)
