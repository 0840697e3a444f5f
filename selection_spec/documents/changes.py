"""Changes of a text, each between two offsets, and why one cannot be made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from selection_spec.documents.nodes import Path

SHARED = "an anchor (&) or an alias (*) shares it with another place"
FORM = "it is written in a form that is not edited"


class EditError(Exception):
    """A value cannot be changed where it stands; says why, in words about ``it``.

    Attributes:
        failures: Where a whole document was to change: why, by the path of each value that cannot.
    """

    def __init__(self, why: str, failures: Mapping[Path, str] | None = None) -> None:
        super().__init__(why)
        self.failures = dict(failures or {})


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """What is between two offsets of a text is replaced."""

    start: int
    end: int
    text: str


def changed(text: str, changes: Iterable[Change]) -> str:
    """Return a text with changes applied; of those at one place the first comes first.

    Raises:
        EditError: Two of them overlap.
    """
    ordered = sorted(changes, key=lambda change: (change.start, change.end))
    if any(one.end > other.start for one, other in pairwise(ordered)):
        raise EditError("two changes meet in one place")
    parts: list[str] = []
    at = 0
    for change in ordered:
        parts += [text[at : change.start], change.text]
        at = change.end
    return "".join([*parts, text[at:]])


def line_start(text: str, at: int) -> int:
    """Return where the line of an offset begins."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Return where the next line begins; a block of text ends at the beginning of one."""
    if at and text[at - 1] == "\n":
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1
