"""Unified differences between long texts of which most stays the same, in the time to read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher

_CONTEXT = 3


def unified(before: Sequence[str], after: Sequence[str], name: str) -> Iterator[str]:
    """Yield a unified difference, as ``difflib`` writes it, of lines that have their ends.

    ``difflib`` compares every line with all that are like it, which takes minutes where thousands
    of objects are alike. Lines that each text has once are where these cannot be confused.
    """
    groups = _Anchored(before, after).get_grouped_opcodes(_CONTEXT)
    for number, group in enumerate(groups):
        if number == 0:
            yield f"--- {name}\n"
            yield f"+++ {name}\n"
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, start, end, other_start, other_end in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[start:end])
                continue
            yield from (f"-{line}" for line in before[start:end])
            yield from (f"+{line}" for line in after[other_start:other_end])


def _range(start: int, end: int) -> str:
    """Return lines as a head of a difference says them: numbers begin with 1, a single has none."""
    if end - start == 1:
        return f"{start + 1}"
    return f"{start + 1 if end > start else start},{end - start}"


class _Anchored(SequenceMatcher[str]):
    """Finds what stays between one line that stays and the next."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__(None, before, after, autojunk=False)
        self._blocks = [*_merged(_blocks(before, after)), Match(len(before), len(after), 0)]

    def get_matching_blocks(self) -> list[Match]:
        return self._blocks


def _blocks(before: Sequence[str], after: Sequence[str]) -> Iterator[Match]:
    at, other_at = 0, 0
    for place, other in (*_anchors(before, after), (len(before), len(after))):
        part = SequenceMatcher(None, before[at:place], after[other_at:other], autojunk=False)
        for one in part.get_matching_blocks():
            yield Match(at + one.a, other_at + one.b, one.size)
        if place < len(before):
            yield Match(place, other, 1)
        at, other_at = place + 1, other + 1


def _anchors(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where lines are that each text has once, in an order that both have."""
    counts = (Counter(before), Counter(after))
    places = {line: place for place, line in enumerate(after)}
    last = -1
    for place, line in enumerate(before):
        if all(count[line] == 1 for count in counts) and places[line] > last:
            last = places[line]
            yield place, last


def _merged(blocks: Iterator[Match]) -> Iterator[Match]:
    """Yield blocks, those that follow upon one another as one."""
    held = Match(0, 0, 0)
    for one in blocks:
        if (held.a + held.size, held.b + held.size) == (one.a, one.b):
            held = Match(held.a, held.b, held.size + one.size)
        elif one.size:
            if held.size:
                yield held
            held = one
    if held.size:
        yield held
