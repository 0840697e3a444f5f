"""What goes from a text where entries of mappings and items of lists go, and what stays of it.

A comment behind an entry, on its last line, and comments within it are its own and go with it. All
others stay: those on lines of their own between entries, and those of the neighbours. Where they
could not, nothing goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from selection_spec.documents.changes import FORM, Change, EditError, line_end, line_start

Span = tuple[int, int]
"""Where an entry begins and what is behind it; between two of them are comments at most."""

_OWN_COMMENT = re.compile(r"[ \t]*,?[ \t]*(?:#[^\n]*)?\r?\n?")
_COMMA = re.compile(r"[ \t]*,(?=\s)")


def of_entries(text: str, spans: Sequence[Span], places: set[int]) -> Iterator[Change]:
    """Yield what goes of a block mapping.

    Args:
        text: The whole text; in all functions here.
        spans: Its entries.
        places: Which of them go.

    Raises:
        EditError: More than they would go.
    """
    left = set(places)
    if 0 in places and (before := text[line_start(text, spans[0][0]) : spans[0][0]]).strip(" "):
        if before.strip(" -"):
            raise EditError(FORM)
        # The first entry of a list's item: what comes next moves up behind the dash.
        run = next(group for group in _runs(places))
        change, covered = _up_to_what_stays(text, spans, run)
        left -= covered
        yield change
    for place in sorted(left):
        start, end = spans[place]
        begin = line_start(text, start)
        if text[begin:start].strip(" "):
            raise EditError(FORM)
        yield Change(begin, line_end(text, end), "")


def in_flow(text: str, spans: Sequence[Span], places: set[int], behind: int) -> Iterator[Change]:
    """Yield what goes of a mapping or a list between brackets.

    Args:
        text: The whole text.
        spans: Its entries or items.
        places: Which of them go.
        behind: Where the closing bracket is.

    Raises:
        EditError: More than they would go.
    """
    for run in _runs(places):
        start, end = spans[run[0]][0], spans[run[-1]][1]
        following = spans[run[-1] + 1][0] if run[-1] + 1 < len(spans) else behind
        is_first = run[0] == 0
        begin = start if is_first else spans[run[0] - 1][1]
        own = [spans[place] for place in run]
        touched = following if is_first else min(following, line_end(text, end))
        if "#" in _between(text, begin, own, touched):
            yield from _lines_in_flow(text, own)
            comma = _COMMA.match(text, begin)
            if following == behind and not is_first and comma:
                yield Change(begin, comma.end(), "")
        elif is_first and following != behind:
            yield Change(start, following, "")
        else:
            yield Change(begin, end, "")


def _runs(places: set[int]) -> Iterator[list[int]]:
    """Yield places in a row together."""
    numbered = enumerate(sorted(places))
    for _, group in groupby(numbered, key=lambda pair: pair[1] - pair[0]):
        yield [place for _, place in group]


def _up_to_what_stays(
    text: str, spans: Sequence[Span], run: Sequence[int]
) -> tuple[Change, set[int]]:
    """Return what goes behind a dash, and which entries that are; a comment moves up as well."""
    start = spans[0][0]
    for place in run:
        if place + 1 == len(spans):
            break
        begin, end = line_end(text, spans[place][1]), spans[place + 1][0]
        comment = text.find("#", begin, end)
        if comment >= 0:
            return Change(start, comment, ""), set(run[: place + 1])
        if place == run[-1]:
            return Change(start, end, ""), set(run)
    raise EditError(FORM)


def _between(text: str, begin: int, spans: Sequence[Span], end: int) -> str:
    """Return what stands around some entries, and between them."""
    edges = [begin, *(edge for span in spans for edge in span), end]
    return "".join(text[one:other] for one, other in zip(edges[::2], edges[1::2], strict=True))


def _lines_in_flow(text: str, spans: Sequence[Span]) -> Iterator[Change]:
    """Yield the lines of entries that have them to themselves; comments between those stay."""
    lines: list[Span] = []
    for start, end in spans:
        if lines and "\n" not in text[lines[-1][1] : start]:
            lines[-1] = (lines[-1][0], end)
        else:
            lines.append((start, end))
    for start, end in lines:
        begin, behind = line_start(text, start), line_end(text, end)
        if text[begin:start].strip(" \t") or not _OWN_COMMENT.fullmatch(text, end, behind):
            raise EditError(FORM)
        yield Change(begin, behind, "")
