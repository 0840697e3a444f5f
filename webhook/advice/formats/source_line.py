"""A line of a manifest with a caret below it, within the columns of a terminal."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from webhook.advice.formats.escapes import visible

_ELLIPSIS: Final = "…"
_TAB_WIDTH: Final = 8
_LONG: Final = 4
_WIDE: Final = frozenset({"W", "F"})
_ON_THE_ONE_BEFORE: Final = frozenset({"Mn", "Me"})


@dataclass(frozen=True, slots=True)
class Marked:
    """A line as it is shown.

    Attributes:
        line: What is shown of it.
        blank: What stands below it in front of the mark; its tabs are those of the line, so both
            come out equally wide on any terminal.
        mark: ``^~~~`` below what is meant; "" where no column is known.
    """

    line: str
    blank: str
    mark: str


def marked(source: str, column: int, end_column: int, room: int) -> Marked:
    """Return a line with its mark.

    Args:
        source: The line without its end.
        column: The first character that is meant, from 1; 0 where none is known.
        end_column: The one behind the last; at most ``column`` where that is not known.
        room: How many columns of a terminal there are; what is further away is cut.
    """
    cut = max(0, column - 1 - room) if len(source) > _LONG * room else 0
    if len(source) > _LONG * room:
        # What is far away is not even measured: a manifest in JSON may be one line of megabytes.
        head = _ELLIPSIS if cut else source[:1]
        source = head + source[cut + 1 : cut + _LONG * room - 1] + _ELLIPSIS
        column, end_column = max(column - cut, 0), max(end_column - cut, 0)
    shown = [one if one == "\t" else visible(one) for one in source]
    widths = [_width(one) for one in shown]
    start = min(max(column - 1, 0), len(shown))
    end = min(max(end_column - 1, start + 1), len(shown))
    first, last = _window(widths, start, end, room)
    before, behind = _ELLIPSIS[:first], _ELLIPSIS[: len(shown) - last]
    line = before + "".join(shown[first:last]) + behind
    if not column:
        return Marked(line.rstrip(), "", "")
    blank = " " * len(before) + "".join(
        "\t" if one == "\t" else " " * width
        for one, width in zip(shown[first:start], widths[first:start], strict=True)
    )
    length = sum(1 if shown[at] == "\t" else widths[at] for at in range(start, min(end, last)))
    return Marked(line.rstrip(), blank, "^" + "~" * (length - 1))


def _window(widths: list[int], start: int, end: int, room: int) -> tuple[int, int]:
    """Return which characters are shown: all of them, or those around what is meant."""
    if sum(widths) <= room:
        return 0, len(widths)
    room -= 2 * len(_ELLIPSIS)
    first = 0 if sum(widths[:end]) <= room else _back(widths, start, room // 3)
    last = first
    while last < len(widths) and widths[last] <= room:
        room -= widths[last]
        last += 1
    return (_back(widths, first, room) if last == len(widths) else first), last


def _back(widths: list[int], at: int, room: int) -> int:
    """Return the first character from which on those before another one take no more room."""
    while at and widths[at - 1] <= room:
        at -= 1
        room -= widths[at]
    return at


def _width(shown: str) -> int:
    return sum(map(_columns, shown))


def _columns(character: str) -> int:
    """Return how many columns of a terminal a character takes; a tab at most this many."""
    if character == "\t":
        return _TAB_WIDTH
    if unicodedata.category(character) in _ON_THE_ONE_BEFORE:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
