"""Findings as SARIF 2.1.0, which code scanning reads, GitHub's among others."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from webhook.admission.messages import one_line
from webhook.advice.findings.finding import Finding, Fix, Place
from webhook.advice.findings.report import Report
from webhook.advice.findings.rule import Rule
from webhook.advice.formats.escapes import json_text

Json = dict[str, Any]

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_VERSION: Final = "2.1.0"
_NAME: Final = "gpuspec"
_STDIN: Final = "<stdin>"
_ROOT: Final = "%SRCROOT%"

# GitHub refuses descriptions that are longer.
_MOST_OF_A_DESCRIPTION: Final = 1024

_OF_FINDING: Final = "gpuspecFinding/v1"
# The one that GitHub goes by. Its upload action makes it from the file for results that have a
# line, and complains of each that has another one already.
_OF_LINE: Final = "primaryLocationLineHash"

# Python keeps bytes of file names that are no UTF-8 as U+DC80 to U+DCFF; no byte has the others.
_OF_NO_BYTE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")


@dataclass(frozen=True, slots=True)
class Tool:
    """What SARIF says of the program.

    Attributes:
        version: Its version.
        rules: All rules that it applied, so that what is listed differs only between versions.
        information_uri: Where more is said of it; "" for nowhere.
        help_uri: Where a rule is explained, with ``{id}`` in the place of its id; "" for nowhere.
    """

    version: str
    rules: Sequence[Rule] = ()
    information_uri: str = ""
    help_uri: str = ""


def as_sarif(report: Report, tool: Tool) -> str:
    """Return a log of one run, without what is suppressed.

    SARIF could mark that as such, but GitHub's code scanning shows it like anything else.
    """
    listed = {one.id: one for one in (*(found.rule for found in report.told), *tool.rules)}
    ids = sorted(listed)
    driver: Json = {"name": _NAME, "version": tool.version}
    if tool.information_uri:
        driver["informationUri"] = tool.information_uri
    driver["rules"] = [_rule(listed[one], tool) for one in ids]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": _results(report.told, ids),
    }
    return json_text({"$schema": SCHEMA, "version": _VERSION, "runs": [run]})


def _rule(rule: Rule, tool: Tool) -> Json:
    result: Json = {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": _short(rule.title)},
        "fullDescription": {"text": _short(f"{rule.title} {rule.why}")},
        "help": {"text": rule.page, "markdown": rule.page},
        "defaultConfiguration": {"level": rule.level.value},
    }
    if tool.help_uri:
        result["helpUri"] = tool.help_uri.replace("{id}", rule.id)
    return result


def _short(text: str) -> str:
    most = _MOST_OF_A_DESCRIPTION
    return text if len(text) <= most else text[: most - 1] + "…"


def _results(findings: Iterable[Finding], ids: Sequence[str]) -> list[Json]:
    index = {id_: at for at, id_ in enumerate(ids)}
    seen: Counter[str] = Counter()
    results = []
    for one in findings:
        digest = _digest(one)
        seen[digest] += 1
        results.append(_result(one, index[one.rule.id], f"{digest}:{seen[digest]}"))
    return results


def _result(one: Finding, rule: int, fingerprint: str) -> Json:
    result: Json = {
        "ruleId": one.rule.id,
        "ruleIndex": rule,
        "level": one.level.value,
        "message": {"text": one_line(one.text)},
        "locations": [_location(one)],
        "partialFingerprints": {_OF_FINDING: fingerprint},
    }
    if not one.place.line:
        result["partialFingerprints"][_OF_LINE] = fingerprint
    if one.fix:
        result["fixes"] = [_fix(one.fix, one.place)]
    return result


def _digest(one: Finding) -> str:
    """Return what a finding is known by, wherever its line has moved to."""
    place = one.place
    parts = (one.rule.id, place.file, place.object, place.path, one.message)
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]


def _location(one: Finding) -> Json:
    place = one.place
    physical: Json = {"artifactLocation": _artifact(place.file)}
    if place.line:
        physical["region"] = _region(place)
    location: Json = {"physicalLocation": physical}
    if name := one_line(f"{place.object} {place.path}"):
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    if template := one_line(one.template):
        location["message"] = {"text": f"rendered from {template}"}
    return location


def _region(place: Place) -> Json:
    region = {"startLine": place.line, "endLine": place.line}
    if place.column:
        region["startColumn"] = place.column
        if place.end_column > place.column:
            region["endColumn"] = place.end_column
    return region


def _artifact(file: str) -> Json:
    """Return a file as a URI; a relative one is meant from the root of the repository."""
    if file == _STDIN:
        return {"uri": "stdin"}
    uri = quote(_OF_NO_BYTE.sub("\ufffd", file).encode(errors="surrogateescape"))
    if file.startswith("/"):
        return {"uri": f"file://{uri}"}
    return {"uri": uri.removeprefix("./"), "uriBaseId": _ROOT}


def _fix(fix: Fix, place: Place) -> Json:
    replacement = {
        "deletedRegion": {"charOffset": fix.start, "charLength": fix.end - fix.start},
        "insertedContent": {"text": fix.text},
    }
    change = {"artifactLocation": _artifact(place.file), "replacements": [replacement]}
    return {"description": {"text": one_line(fix.said)}, "artifactChanges": [change]}
