"""A text's documents by themselves: edits of one are tried in its own text, not in all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from selection_spec.documents import Change, Document, EditError, Survey, changed, survey_manifests
from webhook.advice.convert.attempts import Attempt, Edits, attempted

UNSURE = "the text cannot be changed there without changing more"

# Of thousands of Pods in one document that cannot be changed for a reason that only shows when the
# text is read again, some are left out that could be.
_MOST_TRIES = 40


def read_as(text: str, changes: Iterable[Change], values: Sequence[object]) -> str | None:
    """Return a text with changes; None where its documents would not have the values wanted."""
    try:
        new = changed(text, changes)
    except EditError:
        return None
    again = survey_manifests(new)
    found = [document.value for document in again.documents]
    return new if not again.problems and _canonical(found) == _canonical(values) else None


@dataclass(frozen=True, slots=True)
class Piece:
    """One document and its text.

    Attributes:
        document: The document.
        start: Where its text begins in the whole one.
        text: Its text, with whatever is before the next document.
    """

    document: Document
    start: int
    text: str

    def proven(self, edits: Edits) -> Attempt:
        """Return as many of the document's edits as are right when its text is read again."""
        return _Proof(self, edits).found

    def holds(self, attempt: Attempt) -> bool:
        """Tell whether the text, with what is attempted, means what is wanted."""
        changes = [
            replace(one, start=one.start - self.start, end=one.end - self.start)
            for one in attempt.changes
        ]
        return read_as(self.text, changes, [attempt.value]) is not None


def pieces(survey: Survey) -> list[Piece]:
    """Return the documents of a text, each with its own."""
    starts = list(_starts(survey))
    ends = [end for _, end in pairwise([*starts, len(survey.text)])]
    return [
        Piece(document, start, survey.text[start:end])
        for document, start, end in zip(survey.documents, starts, ends, strict=True)
    ]


def _starts(survey: Survey) -> Iterator[int]:
    lines = [0, *(match.end() for match in re.finditer("\n", survey.text))]
    for document in survey.documents:
        line, column = document.position(())
        begin = lines[line - 1]
        # The first line's indentation is that of the others; JSON may go on behind an object.
        is_indented = not survey.text[begin : begin + column - 1].strip(" ")
        yield begin if is_indented else begin + column - 1


class _Proof:
    """Looks for the edits that do no harm: all, or those of one half and of the other."""

    def __init__(self, piece: Piece, edits: Edits) -> None:
        self._piece = piece
        self._tries = _MOST_TRIES
        self._failed = dict(attempted(piece.document, edits).failed)
        self.found = attempted(piece.document, {})
        self._made: Edits = {}
        self._add({number: some for number, some in edits.items() if number not in self._failed})
        self.found = replace(self.found, failed=self._failed)

    def _add(self, edits: Edits) -> None:
        """Add as many of some edits as can be to those that were found to be right."""
        if not edits or self._holds({**self._made, **edits}):
            return
        if len(edits) == 1 or not self._tries:
            self._failed |= dict.fromkeys(edits, UNSURE)
            return
        numbers = list(edits)
        half = len(numbers) // 2
        for some in (numbers[:half], numbers[half:]):
            self._add({number: edits[number] for number in some})

    def _holds(self, edits: Edits) -> bool:
        if not self._tries:
            return False
        self._tries -= 1
        attempt = attempted(self._piece.document, edits)
        if attempt.failed or not self._piece.holds(attempt):
            return False
        self._made, self.found = edits, attempt
        return True


def _canonical(values: Sequence[object]) -> str:
    return json.dumps(values, sort_keys=True)
