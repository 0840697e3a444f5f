"""The documented shape, and every value as it was."""

from __future__ import annotations

import json

from hypothesis import given

from tests.webhook.advice.formats.findings import (
    CLEAN,
    ERROR,
    PATH,
    REPORT,
    REPORTS,
    SUPPRESSED,
    report,
)
from webhook.advice.findings.finding import Finding, Place
from webhook.advice.findings.report import Report
from webhook.advice.formats.json import as_json


def test_the_shape() -> None:
    read = json.loads(as_json(REPORT))
    assert read["findings"][0] == {
        "rule": "GS101",
        "name": "misspelt-spec",
        "level": "error",
        "semantics": "G4",
        "file": "jobs/train.yaml",
        "line": 12,
        "column": 15,
        "endColumn": 37,
        "object": "Deployment/train",
        "template": "",
        "path": PATH,
        "message": ERROR.message,
        "hint": 'write "preferred.jp/gpu-any-24gb"',
        "fix": {
            "replace": {"start": 310, "end": 332},
            "with": "preferred.jp/gpu-any-24gb",
            "says": 'Write "preferred.jp/gpu-any-24gb".',
        },
        "suppressed": None,
    }
    assert [one["suppressed"] for one in read["findings"]] == [None] * 3 + ["both are wanted"]
    assert [one["fix"] for one in read["findings"][1:]] == [None] * 3
    del read["findings"]
    assert read == {
        "version": 1,
        "table": "the built-in table",
        "summary": {
            "files": 12,
            "documents": 30,
            "pods": 40,
            "errors": 1,
            "warnings": 1,
            "notes": 1,
            "suppressed": 1,
        },
    }


def test_a_clean_report() -> None:
    assert '"findings": []' in as_json(CLEAN)


def test_it_reads_well_and_hides_nothing() -> None:
    one = Finding(ERROR.rule, Place("ü\u202e.yaml"), "日本 \x1b\x7f\ud800", "", ERROR.level)
    text = as_json(report(one))
    assert r'"file": "ü\u202e.yaml"' in text
    assert r'"message": "日本 \u001b\u007f\ud800"' in text


def in_json(text: str) -> str:
    """Return a text as JSON knows it: two halves that stand side by side are one character."""
    return str(json.loads(json.dumps(text)))


@given(REPORTS)
def test_any_report_reads_back(found: Report) -> None:
    text = as_json(found)
    assert text.replace("\n", "").isprintable()
    read = json.loads(text.encode())
    assert read["table"] == in_json(found.table)
    for got, one in zip(read["findings"], found.findings, strict=True):
        assert got["message"] == in_json(one.message)
        assert got["file"] == in_json(one.place.file)
        assert got["suppressed"] == (in_json(one.suppressed) or None)
        assert (got["fix"] or {"with": None})["with"] == (
            in_json(one.fix.text) if one.fix else None
        )


def test_what_is_suppressed_is_there() -> None:
    assert json.loads(as_json(report(SUPPRESSED)))["summary"]["suppressed"] == 1
