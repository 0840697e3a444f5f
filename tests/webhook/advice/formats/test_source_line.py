"""The caret stands below what is meant, on any terminal, however long the line is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.advice.formats.findings import TEXTS
from webhook.advice.formats.source_line import Marked, marked

ROOM = 20


@pytest.mark.parametrize(
    ("source", "column", "end_column", "shown"),
    [
        ("  a: bc", 6, 8, Marked("  a: bc", "     ", "^~")),
        ("  a: bc", 6, 0, Marked("  a: bc", "     ", "^")),
        ("  a: bc", 0, 0, Marked("  a: bc", "", "")),
        ("a: b", 5, 5, Marked("a: b", "    ", "^")),
        ("a: b", 90, 99, Marked("a: b", "    ", "^")),
        ("a: b", 4, 99, Marked("a: b", "   ", "^")),
        ("", 1, 2, Marked("", "", "^")),
    ],
)
def test_a_short_line_is_whole(source: str, column: int, end_column: int, shown: Marked) -> None:
    assert marked(source, column, end_column, ROOM) == shown


@pytest.mark.parametrize(
    ("source", "column", "end_column", "shown"),
    [
        ("\ta:\tbc", 5, 7, Marked("\ta:\tbc", "\t  \t", "^~")),
        ("あ: bc", 4, 6, Marked("あ: bc", "    ", "^~")),
        ("a: あい", 4, 6, Marked("a: あい", "   ", "^~~~")),
        ("e\u0301: b", 5, 6, Marked("e\u0301: b", "   ", "^")),
        ("e\u0301: b", 1, 3, Marked("e\u0301: b", "", "^")),
        ("a\x1b: b", 5, 6, Marked("a\\x1b: b", "       ", "^")),
        ("a: \u202e", 4, 5, Marked("a: \\u202e", "   ", "^~~~~~")),
        ("a: \tb", 4, 6, Marked("a: \tb", "   ", "^~")),
    ],
    ids=[
        "tabs",
        "wide",
        "wide meant",
        "combining",
        "combining meant",
        "escape",
        "mark",
        "tab meant",
    ],
)
def test_what_is_not_one_column_wide(
    source: str, column: int, end_column: int, shown: Marked
) -> None:
    assert marked(source, column, end_column, ROOM) == shown


@pytest.mark.parametrize(
    ("column", "end_column", "shown"),
    [
        (1, 4, Marked("abcdefghijklmnopqr…", "", "^~~")),
        (15, 18, Marked("abcdefghijklmnopqr…", " " * 14, "^~~")),
        (19, 22, Marked("…mnopqrstuvwxyzABCD…", " " * 7, "^~~")),
        (19, 60, Marked("…mnopqrstuvwxyzABCD…", " " * 7, "^" + "~" * 11)),
        (50, 53, Marked("…IJKLMNOPQRSTUVWXYZ", " " * 16, "^~~")),
    ],
    ids=["start", "still in sight", "middle", "too long itself", "end"],
)
def test_a_long_line_is_cut_around_what_is_meant(
    column: int, end_column: int, shown: Marked
) -> None:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    assert marked(letters, column, end_column, ROOM) == shown


def test_wide_characters_are_cut_by_their_width() -> None:
    assert marked("あ" * 40, 20, 21, ROOM) == Marked("…" + "あ" * 9 + "…", " " * 7, "^~")


@given(
    source=st.text(st.sampled_from("abcdefgh :"), min_size=1, max_size=120),
    column=st.integers(1, 120),
    length=st.integers(0, 60),
)
def test_below_the_character_that_is_meant(source: str, column: int, length: int) -> None:
    column = min(column, len(source))
    shown = marked(source.replace(" ", "_"), column, column + length, 76)
    assert len(shown.line) <= 76
    assert len(shown.blank + shown.mark) <= 76
    meant = source.replace(" ", "_")[column - 1 : column - 1 + max(length, 1)]
    below = shown.line[len(shown.blank) :][: len(shown.mark)]
    assert meant.startswith(below)
    assert below == meant or shown.line.endswith("…")


@given(TEXTS, st.integers(0, 200), st.integers(0, 200))
def test_any_line_is_one_line_that_can_be_written(source: str, column: int, end: int) -> None:
    shown = marked(source * 9, column, end, 76)
    assert (shown.line + shown.blank).replace("\t", "").isprintable()
    assert shown.mark == ("^" + "~" * (len(shown.mark) - 1) if column else "")
