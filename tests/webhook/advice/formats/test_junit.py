"""Findings as tests: which fail, which only tell, which are skipped."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.errors import Level
from tests.webhook.advice.formats.findings import (
    CLEAN,
    ERROR,
    NOTE,
    REPORT,
    REPORTS,
    WARNING,
    report,
)
from webhook.advice.findings.finding import Place
from webhook.advice.findings.report import Report
from webhook.advice.formats.junit import as_junit


def test_a_suite_for_each_file() -> None:
    assert as_junit(REPORT) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="gpuspec validate" tests="4" failures="1" skipped="1">\n'
        '  <testsuite name="jobs/train.yaml" tests="2" failures="1" errors="0" skipped="0">\n'
        '    <testcase classname="jobs/train.yaml" name="GS101 misspelt-spec Deployment/train '
        'spec.template.spec.containers[0].resources.limits" file="jobs/train.yaml" line="12">\n'
        '      <failure type="GS101 error" message="container &quot;main&quot;: '
        "&quot;preferred.jp/gpu-24gib&quot; is no GPU Selection Spec: memory is written in whole "
        'gigabytes; write &quot;preferred.jp/gpu-any-24gb&quot;">jobs/train.yaml:12:15: error '
        'GS101 container "main": "preferred.jp/gpu-24gib" is\n'
        "    no GPU Selection Spec: memory is written in whole gigabytes\n"
        "  |               preferred.jp/gpu-24gib: 1\n"
        "  |               ^~~~~~~~~~~~~~~~~~~~~~\n"
        '  = help: write "preferred.jp/gpu-any-24gb"\n'
        "  = in Deployment/train, by admission's rule G4\n"
        '  = fix: Write "preferred.jp/gpu-any-24gb"; --fix applies it</failure>\n'
        "    </testcase>\n"
        '    <testcase classname="jobs/train.yaml" name="GS201 rows-dropped Job/b" '
        'file="jobs/train.yaml" line="20">\n'
        "      <system-out>jobs/train.yaml:20: warning GS201 rows a30-24gb and a100-80gb differ in "
        "output\n  = in Job/b</system-out>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        '  <testsuite name="&lt;stdin&gt;" tests="1" failures="0" errors="0" skipped="0">\n'
        '    <testcase classname="&lt;stdin&gt;" name="GS301 raw-selector" file="&lt;stdin&gt;">\n'
        "      <system-out>&lt;stdin&gt;: note GS301 a selector says what a spec says"
        "</system-out>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        '  <testsuite name="/srv/b c.yaml" tests="1" failures="0" errors="0" skipped="1">\n'
        '    <testcase classname="/srv/b c.yaml" name="GS201 rows-dropped" file="/srv/b c.yaml" '
        'line="3">\n'
        '      <skipped message="both are wanted" />\n'
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>"
    )


def test_a_clean_report_is_a_case_that_passed() -> None:
    assert as_junit(CLEAN) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="gpuspec validate" tests="1" failures="0" skipped="0">\n'
        '  <testsuite name="gpuspec validate" tests="1" failures="0" errors="0" skipped="0">\n'
        '    <testcase classname="gpuspec validate" name="no findings">\n'
        "      <system-out>nothing found in 1 file (1 Pod judged by the built-in table)"
        "</system-out>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>"
    )


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        (Level.ERROR, ["GS101 error"]),
        (Level.WARNING, ["GS101 error", "GS201 warning"]),
        (Level.NOTE, ["GS101 error", "GS201 warning", "GS301 note"]),
    ],
)
def test_what_fails_is_the_callers_choice(fail_on: Level, failing: list[str]) -> None:
    root = ET.fromstring(as_junit(report(ERROR, WARNING, NOTE), fail_on))  # noqa: S314 - our own
    assert [one.get("type") for one in root.iter("failure")] == failing
    assert root.get("failures") == str(len(failing))


def test_two_of_one_place_have_two_names() -> None:
    root = ET.fromstring(as_junit(report(NOTE, NOTE, NOTE)))  # noqa: S314 - our own
    assert [one.get("name") for one in root.iter("testcase")] == [
        "GS301 raw-selector",
        "GS301 raw-selector (2)",
        "GS301 raw-selector (3)",
    ]


def test_what_xml_cannot_hold() -> None:
    place = Place("a\x00\ud800]]>.yaml", 1, object="b\ufffe")
    one = replace(NOTE, place=place, message="]]>\x00\ud800\x1b</failure>", source="\x0b\udce9<")
    root = ET.fromstring(as_junit(report(one)))  # noqa: S314 - our own
    assert [case.attrib for case in root.iter("testcase")] == [
        {
            "classname": r"a\x00\ud800]]>.yaml",
            "name": "GS301 raw-selector b?",
            "file": r"a\x00\ud800]]>.yaml",
            "line": "1",
        }
    ]
    assert [out.text for out in root.iter("system-out")] == [
        "a\\x00\\ud800]]>.yaml:1: note GS301 ]]>???</failure>\n  | \\x0b\\udce9<\n  = in b?"
    ]


@given(REPORTS, st.sampled_from(Level))
def test_any_report_is_xml_with_a_case_for_each_finding(found: Report, fail_on: Level) -> None:
    root = ET.fromstring(as_junit(found, fail_on).encode())  # noqa: S314 - our own
    cases = list(root.iter("testcase"))
    assert len(cases) == max(len(found.findings), 1)
    for count, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
        there = sum(1 for _ in root.iter(tag))
        assert int(root.get(count, "")) == there
        assert sum(int(suite.get(count, "")) for suite in root) == there
