"""Workflow commands, read as the runner of GitHub Actions reads them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given

from tests.webhook.advice.formats.findings import (
    CLEAN,
    ERROR,
    NOTE,
    REPORT,
    REPORTS,
    SUPPRESSED,
    report,
)
from webhook.admission.messages import one_line
from webhook.advice.findings.finding import Place
from webhook.advice.findings.report import Report
from webhook.advice.formats.escapes import visible
from webhook.advice.formats.github import as_github

COMMAND = re.compile(r"::(error|warning|notice) (.*?)::(.*)")


def data(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def value(text: str) -> str:
    return data(text.replace("%3A", ":").replace("%2C", ","))


def test_a_command_for_each_finding_that_is_told() -> None:
    assert as_github(REPORT) == (
        "::error file=jobs/train.yaml,line=12,col=15,endColumn=37,title=GS101 misspelt-spec"
        '::container "main": "preferred.jp/gpu-24gib" is no GPU Selection Spec: memory is '
        'written in whole gigabytes%0Awrite "preferred.jp/gpu-any-24gb"%0Ain Deployment/train\n'
        "::warning file=jobs/train.yaml,line=20,title=GS201 rows-dropped"
        "::rows a30-24gb and a100-80gb differ in output%0Ain Job/b\n"
        "::notice file=<stdin>,title=GS301 raw-selector::a selector says what a spec says"
    )


def test_nothing_for_a_report_without_any() -> None:
    assert not as_github(CLEAN)
    assert not as_github(report(SUPPRESSED))


@pytest.mark.parametrize(
    ("place", "properties"),
    [
        (Place("./a.yaml", 3), "file=a.yaml,line=3"),
        (Place("a,b:c%.yaml"), "file=a%2Cb%3Ac%25.yaml"),
        (Place("a.yaml", 0, 4, 5), "file=a.yaml"),
        (Place("a.yaml", 3, 4, 4), "file=a.yaml,line=3,col=4"),
        (Place("a.yaml", 3, 0, 4), "file=a.yaml,line=3"),
        (Place("a\n::b.yaml"), r"file=a\n%3A%3Ab.yaml"),
    ],
)
def test_properties(place: Place, properties: str) -> None:
    assert as_github(report(replace(NOTE, place=place))) == (
        f"::notice {properties},title=GS301 raw-selector::a selector says what a spec says"
    )


def test_a_message_ends_no_command() -> None:
    one = replace(NOTE, message="100%0A\n::error::x\r\n", hint="\u202eh\x1b\u2028::y")
    assert as_github(report(one)) == (
        "::notice file=<stdin>,title=GS301 raw-selector::100%250A ::error::x%0A?h? ::y"
    )


@given(REPORTS)
def test_any_report_is_read_back_line_by_line(found: Report) -> None:
    text = as_github(found)
    assert text.replace("\n", "").isprintable()
    for line, one in zip(text.splitlines(), found.told, strict=True):
        command = COMMAND.fullmatch(line)
        assert command is not None
        properties = dict(part.split("=", 1) for part in command[2].split(","))
        file = visible(one.place.file.removeprefix("./"))
        assert value(properties["file"]) == file
        assert value(properties["title"]) == f"{one.rule.id} {one.rule.name}"
        about = f"in {one.place.object}" if one.place.object else ""
        said = [text for text in map(one_line, (one.message, one.hint, about)) if text]
        assert data(command[3]) == "\n".join(said)


def test_a_finding_is_as_bad_as_itself_says_not_its_rule() -> None:
    assert as_github(report(replace(ERROR, level=NOTE.level))).startswith("::notice ")
