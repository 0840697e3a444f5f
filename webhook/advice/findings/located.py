"""Where in a text things stand that were found in its documents."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from selection_spec.documents import Document, ScalarSpans, Within, field_path
from webhook.advice.findings.finding import Finding, Fix, Place
from webhook.advice.findings.spot import Spot

# A key or a plain value as it is written, with its quotes.
_TOKEN: Final = re.compile(
    r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s,{}\[\]]+?(?=:?(?:\s|$)|[,}\]])"""
)


@dataclass(slots=True)
class Text:
    """A text that was read.

    Attributes:
        file: What it is called.
        lines: Its lines, without their ends.
        may_merge: Whether a mapping in it may take over the keys of another.
        before: How many lines of the file come before it.
        characters: How many characters of the file come before it.
        is_utf8: Whether it can be changed in place: no other encoding is.
    """

    file: str
    text: str
    before: int = 0
    characters: int = 0
    is_utf8: bool = field(default=True, kw_only=True)
    lines: Sequence[str] = field(init=False)
    may_merge: bool = field(init=False)
    _starts: list[int] = field(init=False)
    _scalars: ScalarSpans | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.lines = self.text.split("\n")
        self.may_merge = "<<" in self.text
        self._starts = []
        at = 0
        for line in self.lines:
            self._starts.append(at)
            at += len(line) + 1

    def line(self, number: int) -> str:
        """Return a line by its number in the text; "" where there is none."""
        return self.lines[number - 1].removesuffix("\r") if 0 < number <= len(self.lines) else ""

    def within(self, line: int, column: int) -> Within:
        """Return what the character at a place of the text belongs to."""
        if self._scalars is None:
            # Few texts are ever asked that, and all of their tokens have to be read for it.
            self._scalars = ScalarSpans.of(self.text)
        return self._scalars.at(self._starts[line - 1] + column - 1)

    def place(self, line: int, column: int, path: str = "", owner: str = "") -> Place:
        """Return a place of the text as one of the file, with the end of what stands there."""
        end = self.end(line, column)
        number = line + self.before if line else 0
        return Place(self.file, number, column, end, path, owner)

    def end(self, line: int, column: int) -> int:
        """Return the column behind the key or value that begins at a place; 0 if there is none."""
        match = _TOKEN.match(self.line(line), column - 1) if line and column else None
        return match.end() + 1 if match else 0

    def moved(self, place: Place) -> Place:
        """Return a place of the text as one of the file."""
        return replace(place, line=place.line + self.before) if place.line else place

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset into the text."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Return how many characters of the file come before a place of the text."""
        return self.characters + self._starts[line - 1] + column - 1


def located(spot: Spot, document: Document, text: Text) -> Finding:
    """Return a spot as a finding in a text."""
    find = document.key_position if spot.is_key else document.position
    line, column = find(spot.path)
    place = text.place(line, column, field_path(spot.path), spot.owner)
    return Finding(
        spot.rule,
        place,
        spot.message,
        spot.hint,
        spot.level or spot.rule.level,
        spot.semantics,
        text.line(line),
        _fix(spot, document, text),
    )


def _fix(spot: Spot, document: Document, text: Text) -> Fix | None:
    """Return the change of a key, where it stands there as it is called."""
    path = spot.renamed or spot.path
    if not spot.rename or not text.is_utf8 or text.may_merge:
        # What is merged elsewhere may have to stay what it is there.
        return None
    line, column = document.key_position(path)
    end = text.end(line, column)
    written = text.line(line)[column - 1 : end - 1] if end else ""
    old = str(path[-1])
    if written.strip("'\"") != old:
        return None
    quote = written[0] if written[0] in "'\"" else ""
    start = text.offset(line, column)
    said = f"write {spot.rename} instead of {old}" if spot.renamed else f"write {spot.rename}"
    new = f"{quote}{spot.rename}{quote}"
    return Fix(start, start + len(written), written, new, said)
