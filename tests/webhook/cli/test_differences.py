"""Differences of long texts: right, short, and soon there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher, unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cli import differences
from webhook.cli.differences import unified

_LINES = st.lists(st.sampled_from([f"{one}\n" for one in "abcdefgh"]), max_size=20)


def _patched(before: Sequence[str], patch: Sequence[str]) -> list[str]:
    """Apply a unified difference as patch does."""
    after: list[str] = []
    at = 0
    for line in patch[2:]:
        if head := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            begin = int(head[1]) - (head[2] != "0")
            after += before[at:begin]
            at = begin
        elif line.startswith("+"):
            after.append(line[1:])
        else:
            assert before[at] == line[1:]
            after += [line[1:]] if line.startswith(" ") else []
            at += 1
    return [*after, *before[at:]]


@given(_LINES, _LINES)
def test_a_difference_makes_one_text_of_the_other(before: list[str], after: list[str]) -> None:
    patch = list(unified(before, after, "x"))

    assert _patched(before, patch) == after
    assert (patch == []) == (before == after)


def test_a_difference_looks_as_others_do() -> None:
    before = [f"{number}\n" for number in range(40)]
    after = [*before[:3], "new\n", *before[4:20], *before[22:], "end\n"]

    assert list(unified(before, after, "x")) == list(unified_diff(before, after, "x", "x"))


def test_nothing_long_is_compared_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def measured(
        junk: None, before: Sequence[str], after: Sequence[str], *, autojunk: bool
    ) -> object:
        sizes.append(max(len(before), len(after)))
        return SequenceMatcher(junk, before, after, autojunk=autojunk)

    monkeypatch.setattr(differences, "SequenceMatcher", measured)
    before = [line for number in range(500) for line in (f"{number}\n", "same\n", "gone\n", "b\n")]
    after = [line for line in before if line != "gone\n"]
    patch = list(unified(before, after, "x"))

    assert sum(line == "-gone\n" for line in patch) == 500
    assert max(sizes) < 5
