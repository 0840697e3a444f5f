"""Findings for programs: everything, nothing shortened, in a shape that stays."""

from __future__ import annotations

from typing import Any, Final

from selection_spec.errors import Level
from webhook.advice.findings.finding import Finding, Fix
from webhook.advice.findings.report import Report
from webhook.advice.formats.escapes import json_text

VERSION: Final = 1
"""Of the shape; what is only added does not raise it."""

Json = dict[str, Any]


def as_json(report: Report) -> str:
    """Return a report in its documented shape.

    - ``version``: 1; ``table``: what Pods were judged by.
    - ``summary``: ``files``, ``documents`` and ``pods`` that were read; ``errors``, ``warnings``
      and ``notes`` that are told; ``suppressed`` ones, which the three leave out.
    - ``findings``: in the order of files and lines, suppressed ones among them. ``line``,
      ``column`` and ``endColumn`` count characters from 1 and are 0 where none is known;
      ``semantics``, ``object``, ``template`` (of Helm, by its own comment), ``path`` and ``hint``
      are "" where there is none. ``fix`` has
      offsets in characters of the file, ``end`` behind the last one. ``fix`` and ``suppressed``
      are null where there is none.
    """
    counts = report.counts()
    return json_text(
        {
            "version": VERSION,
            "table": report.table,
            "summary": {
                "files": report.files,
                "documents": report.documents,
                "pods": report.pods,
                "errors": counts[Level.ERROR],
                "warnings": counts[Level.WARNING],
                "notes": counts[Level.NOTE],
                "suppressed": len(report.findings) - len(report.told),
            },
            "findings": [_finding(one) for one in report.findings],
        }
    )


def _finding(one: Finding) -> Json:
    place = one.place
    return {
        "rule": one.rule.id,
        "name": one.rule.name,
        "level": one.level.value,
        "semantics": one.semantics,
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "endColumn": place.end_column,
        "object": place.object,
        "template": one.template,
        "path": place.path,
        "message": one.message,
        "hint": one.hint,
        "fix": _fix(one.fix) if one.fix else None,
        "suppressed": one.suppressed or None,
    }


def _fix(fix: Fix) -> Json:
    return {
        "replace": {"start": fix.start, "end": fix.end},
        "with": fix.text,
        "says": fix.said,
    }
