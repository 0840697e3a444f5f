"""How findings read, and what programs get."""

from __future__ import annotations

from tests.webhook.advice.doctor.world import World
from webhook.advice.doctor.findings import Finding, Level, Report, fine
from webhook.advice.doctor.report import as_json, as_text, summary

REPORTS = (
    Report("a", "all right", (fine("this"), fine("that"))),
    Report(
        "b",
        "half right",
        (
            Finding(Level.WARNING, "one thing " + "is long, " * 9 + "and ends", "mend it"),
            fine("another is right"),
            Finding(Level.UNKNOWN, "could not look: permission to list x is missing"),
        ),
    ),
    Report("c", "wrong", (Finding(Level.ERROR, "x is y", "write z " * 12),)),
)


def test_text_is_a_line_a_check_and_the_rest_below() -> None:
    assert as_text(REPORTS, lambda _, text: text) == (
        "ok    all right: this; that\n"
        "warn  half right: another is right\n"
        "      one thing is long, is long, is long, is long, is long, is long, is long,\n"
        "      is long, is long, and ends\n"
        "      -> mend it\n"
        "      ?: could not look: permission to list x is missing\n"
        "FAIL  wrong\n"
        "      x is y\n"
        "      -> write z write z write z write z write z write z write z write z write z\n"
        "         write z write z write z"
    )


def test_only_marks_are_coloured() -> None:
    assert as_text(REPORTS[2:], lambda level, text: f"<{level}>{text}").startswith(
        "<error>FAIL  wrong\n"
    )


def test_summary() -> None:
    assert summary(REPORTS) == "3 checks: 1 ok, 1 warning, 1 failed, 0 unknown"


def test_json() -> None:
    assert as_json(REPORTS[1:2], {"server": "https://x"}) == {
        "server": "https://x",
        "level": "warning",
        "checks": [
            {
                "id": "b",
                "title": "half right",
                "level": "warning",
                "findings": [
                    {
                        "level": "warning",
                        "what": "one thing " + "is long, " * 9 + "and ends",
                        "todo": "mend it",
                    },
                    {"level": "fine", "what": "another is right", "todo": ""},
                    {
                        "level": "unknown",
                        "what": "could not look: permission to list x is missing",
                        "todo": "",
                    },
                ],
            }
        ],
    }


def test_a_right_installation_reads_well_in_80_columns() -> None:
    text = as_text(World().examine(), lambda _, text: text)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert sum(line.startswith("ok ") for line in text.splitlines()) == 24
