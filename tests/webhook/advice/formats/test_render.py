"""One door to all formats."""

from __future__ import annotations

from selection_spec.errors import Level
from tests.webhook.advice.formats.findings import REPORT
from webhook.advice.formats import Format, render
from webhook.advice.formats.github import as_github
from webhook.advice.formats.json import as_json
from webhook.advice.formats.junit import as_junit
from webhook.advice.formats.sarif import Tool, as_sarif
from webhook.advice.formats.text import as_text

TOOL = Tool("1")


def test_each_format_by_its_name() -> None:
    assert {form.value: render(REPORT, form=form, tool=TOOL) for form in Format} == {
        "text": as_text(REPORT),
        "json": as_json(REPORT),
        "sarif": as_sarif(REPORT, TOOL),
        "junit": as_junit(REPORT),
        "github": as_github(REPORT),
    }


def test_what_the_caller_decides() -> None:
    junit = render(REPORT, form=Format.JUNIT, tool=TOOL, fail_on=Level.WARNING)
    assert junit == as_junit(REPORT, Level.WARNING)
    text = render(REPORT, form=Format.TEXT, tool=TOOL, colour=lambda _, text: text.upper())
    assert "ERROR GS101" in text
