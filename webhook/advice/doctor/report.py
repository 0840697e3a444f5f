"""``doctor`` for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from webhook.advice.doctor.findings import Finding, Level, Report, worst
from webhook.advice.words import counted, wrapped

MARKS = {Level.FINE: "ok", Level.WARNING: "warn", Level.ERROR: "FAIL", Level.UNKNOWN: "?"}

_INDENT = " " * 6
_FURTHER = " " * 8


def as_text(reports: Sequence[Report], mark: Callable[[Level, str], str]) -> str:
    """Return a line a check, and what is not fine indented below.

    Args:
        reports: What was found.
        mark: Colours a mark.
    """
    return "\n".join(line for report in reports for line in _lines(report, mark))


def summary(reports: Sequence[Report]) -> str:
    """Return how many checks came to what."""
    levels = Counter(report.level for report in reports)
    counts = (
        f"{levels[Level.FINE]} ok",
        counted(levels[Level.WARNING], "warning"),
        f"{levels[Level.ERROR]} failed",
        f"{levels[Level.UNKNOWN]} unknown",
    )
    return f"{counted(len(reports), 'check')}: {', '.join(counts)}"


def as_json(reports: Sequence[Report], about: dict[str, Any]) -> dict[str, Any]:
    """Return the reports in their documented shape, behind what they are about."""
    return {
        **about,
        "level": worst(report.level for report in reports).value,
        "checks": [
            {
                "id": report.id,
                "title": report.title,
                "level": report.level.value,
                "findings": [_finding(one) for one in report.findings],
            }
            for report in reports
        ],
    }


def _lines(report: Report, mark: Callable[[Level, str], str]) -> Iterator[str]:
    said = "; ".join(one.what for one in report.findings if one.level is Level.FINE)
    head = f"{MARKS[report.level]:<6}"
    line = wrapped(f"{report.title}: {said}" if said else report.title, head, _FURTHER)
    yield mark(report.level, head) + line.removeprefix(head)
    for one in report.findings:
        if one.level is not Level.FINE:
            own = f"{MARKS[one.level]}: " if one.level is not report.level else ""
            yield wrapped(own + one.what, _INDENT, _INDENT)
            if one.todo:
                yield wrapped(one.todo, f"{_INDENT}-> ", f"{_INDENT}   ")


def _finding(one: Finding) -> dict[str, str]:
    return {"level": one.level.value, "what": one.what, "todo": one.todo}
