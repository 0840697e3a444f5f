"""Findings as JUnit's XML, which most CI systems show as tests."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Final
from xml.etree import ElementTree as ET

from selection_spec.errors import Level
from webhook.admission.messages import one_line
from webhook.advice.findings.finding import Finding
from webhook.advice.findings.report import Report
from webhook.advice.formats.escapes import visible
from webhook.advice.formats.text import finding_lines, summary

_NAME: Final = "gpuspec validate"
_WORST_FIRST: Final = (Level.ERROR, Level.WARNING, Level.NOTE)


def as_junit(report: Report, fail_on: Level = Level.ERROR) -> str:
    """Return a suite for each file that has findings, and a case for each of them.

    A finding of the level ``fail_on`` or worse is a failure, another one a case that has passed
    with the finding as its output, a suppressed one a case that was skipped. A report without any
    finding is one case that has passed.
    """
    root = ET.Element("testsuites", name=_NAME)
    failing = frozenset(_WORST_FIRST[: _WORST_FIRST.index(fail_on) + 1])
    for file, findings in groupby(report.findings, lambda one: one.place.file):
        _suite(root, file, list(findings), failing)
    if not report.findings:
        case = _case(_counting(root, _NAME, tests=1), _NAME, "no findings")
        ET.SubElement(case, "system-out").text = summary(report)
    for count in ("tests", "failures", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'


def _suite(root: ET.Element, file: str, findings: list[Finding], failing: frozenset[Level]) -> None:
    skipped = sum(bool(one.suppressed) for one in findings)
    failures = sum(one.level in failing and not one.suppressed for one in findings)
    suite = _counting(root, visible(file), len(findings), failures, skipped)
    seen: Counter[str] = Counter()
    for one in findings:
        name = _name(one)
        seen[name] += 1
        case = _case(suite, visible(file), f"{name} ({seen[name]})" if seen[name] > 1 else name)
        case.set("file", visible(file))
        if one.place.line:
            case.set("line", str(one.place.line))
        _outcome(case, one, failing)


def _outcome(case: ET.Element, one: Finding, failing: frozenset[Level]) -> None:
    text = "\n".join(finding_lines(one))
    if one.suppressed:
        ET.SubElement(case, "skipped", message=one_line(one.suppressed))
    elif one.level in failing:
        said = one_line(one.text)
        ET.SubElement(case, "failure", type=f"{one.rule.id} {one.level}", message=said).text = text
    else:
        ET.SubElement(case, "system-out").text = text


def _name(one: Finding) -> str:
    """Return a name without the line, so that a case stays the same when lines shift."""
    parts = (one.rule.id, one.rule.name, one.place.object, one.place.path)
    return one_line(" ".join(parts))


def _case(suite: ET.Element, of: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=of, name=name)


def _counting(
    root: ET.Element, name: str, tests: int, failures: int = 0, skipped: int = 0
) -> ET.Element:
    return ET.SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(tests),
        failures=str(failures),
        errors="0",
        skipped=str(skipped),
    )
