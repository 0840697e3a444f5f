"""How findings read on a terminal."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given

from selection_spec.errors import Level
from tests.webhook.advice.formats.findings import (
    CLEAN,
    ERROR,
    FINDINGS,
    NOTE,
    REPORT,
    REPORTS,
    SUPPRESSED,
    report,
)
from webhook.advice.findings.finding import Finding, Place
from webhook.advice.findings.report import Report
from webhook.advice.formats.text import as_text, finding_lines, summary, where


def test_each_finding_with_its_line_and_what_to_do() -> None:
    assert as_text(REPORT) == (
        'jobs/train.yaml:12:15: error GS101 container "main": "preferred.jp/gpu-24gib" is\n'
        "    no GPU Selection Spec: memory is written in whole gigabytes\n"
        "  |               preferred.jp/gpu-24gib: 1\n"
        "  |               ^~~~~~~~~~~~~~~~~~~~~~\n"
        '  = help: write "preferred.jp/gpu-any-24gb"\n'
        "  = in Deployment/train, by admission's rule G4\n"
        '  = fix: Write "preferred.jp/gpu-any-24gb"; --fix applies it\n'
        "\n"
        "jobs/train.yaml:20: warning GS201 rows a30-24gb and a100-80gb differ in output\n"
        "  = in Job/b\n"
        "\n"
        "<stdin>: note GS301 a selector says what a spec says\n"
        "\n"
        "1 error, 1 warning, 1 note in 12 files, 1 suppressed "
        "(40 Pods judged by the built-in table)"
    )


def test_long_advice_is_indented_below_itself() -> None:
    one = replace(NOTE, hint="write it so that " * 8)
    assert "\n".join(finding_lines(one)) == (
        "<stdin>: note GS301 a selector says what a spec says\n"
        "  = help: write it so that write it so that write it so that write it so that\n"
        "    write it so that write it so that write it so that write it so that"
    )


def test_a_line_without_a_known_column_has_no_caret() -> None:
    one = replace(NOTE, place=Place("a.yaml", 2), source="  a: 1")
    assert list(finding_lines(one)) == [
        "a.yaml:2: note GS301 a selector says what a spec says",
        "  |   a: 1",
    ]


@pytest.mark.parametrize(
    ("findings", "line"),
    [
        ((), "nothing found in 12 files (40 Pods judged by the built-in table)"),
        (
            (SUPPRESSED, SUPPRESSED),
            "nothing found in 12 files, 2 suppressed (40 Pods judged by the built-in table)",
        ),
        ((ERROR, ERROR), "2 errors in 12 files (40 Pods judged by the built-in table)"),
        ((NOTE, ERROR), "1 error, 1 note in 12 files (40 Pods judged by the built-in table)"),
    ],
)
def test_the_last_line_sums_up(findings: tuple[Finding, ...], line: str) -> None:
    assert summary(Report(findings, 12, 30, 40, "the built-in table")) == line


def test_a_clean_report_is_one_line() -> None:
    assert as_text(CLEAN) == "nothing found in 1 file (1 Pod judged by the built-in table)"


def test_level_and_caret_are_coloured_by_the_caller() -> None:
    def colour(level: Level, text: str) -> str:
        return f"<{level}>{text}</>"

    head, line, caret, *_ = finding_lines(ERROR, colour)
    assert head.startswith("jobs/train.yaml:12:15: <error>error GS101</> container")
    assert line == "  |               preferred.jp/gpu-24gib: 1"
    assert caret == "  |               <error>^~~~~~~~~~~~~~~~~~~~~~</>"


def test_nothing_that_a_terminal_obeys_is_passed_on() -> None:
    one = Finding(
        NOTE.rule,
        Place("a\nb\u202e.yaml", 1, 4, 5),
        "x\x1b[2J\nforged.yaml:1:1: error",
        "h\ud800\nx",
        Level.NOTE,
        source="a: \x1b[2J",
    )
    assert as_text(report(one)).splitlines()[:4] == [
        r"a\nb\u202e.yaml:1:4: note GS301 x?[2J forged.yaml:1:1: error",
        r"  | a: \x1b[2J",
        "  |    ^~~~",
        "  = help: h? x",
    ]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place("a.yaml", 3, 7), "a.yaml:3:7"),
        (Place("a.yaml", 3), "a.yaml:3"),
        (Place("a.yaml", 0, 7), "a.yaml"),
        (Place("::error::a.yaml", 3), "./::error::a.yaml:3"),
        (Place(" ::error::a.yaml"), "./ ::error::a.yaml"),
    ],
)
def test_where(place: Place, text: str) -> None:
    assert where(place) == text


def test_no_line_begins_as_a_command_of_github_actions() -> None:
    words = f"{'name ' * 9}::stop-commands::x " * 9
    lines = as_text(report(replace(NOTE, message=words, hint=words))).splitlines()
    assert sum("::stop-commands::x" in line for line in lines) > 9
    assert not any(line.lstrip().startswith("::") for line in lines)


def test_nothing_of_a_manifest_is_a_command_of_github_runners() -> None:
    """They obey ``##[`` wherever in a line it stands."""
    odd = "##[error]x"
    place = replace(NOTE.place, file=f"{odd}.yaml", column=1, object=odd)
    text = as_text(report(replace(NOTE, place=place, message=odd, hint=odd, source=odd)))
    assert "##[" not in text
    assert text.count(r"#\x23[error]x") == 5


@given(REPORTS)
def test_any_report_has_a_block_for_each_finding_and_no_forged_line(found: Report) -> None:
    text = as_text(found)
    *blocks, last = text.split("\n\n")
    assert last == summary(found)
    for block, one in zip(blocks, found.told, strict=True):
        head, *further = block.split("\n")
        assert head.startswith(f"{where(one.place)}: {one.level} {one.rule.id} ")
        assert all(line.startswith(("    ", "  | ", "  = ")) for line in further)
        assert not any(line.lstrip().startswith("::") for line in (head, *further))
    assert text.replace("\n", "").replace("\t", "").isprintable()


def columns(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


@given(FINDINGS)
def test_source_and_caret_stay_within_80_columns(one: Finding) -> None:
    lines = "\n".join(finding_lines(one)).split("\n")
    for line in lines:
        if line.startswith("  | ") and "\t" not in line:
            assert sum(map(columns, line)) <= 80
