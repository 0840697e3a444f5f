"""Texts with edited Pods: each edit where its Pod stands, and read again before it is believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selection_spec.documents import Survey
from webhook.advice.convert.attempts import Attempt, Edits, attempted
from webhook.advice.convert.pieces import UNSURE, pieces, read_as
from webhook.jsonpatch import Edit


@dataclass(frozen=True, slots=True)
class Wanted:
    """Edits of one Pod, as edits of the document that has it.

    Attributes:
        document: The document's place among those of the text.
        edits: What is to change.
    """

    document: int
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text after its edits.

    Attributes:
        text: The text.
        failed: By place among the wanted edits, why they were not made.
        values: The documents' values now.
    """

    text: str
    failed: dict[int, str]
    values: tuple[object, ...]


def rewritten(survey: Survey, wanted: Sequence[Wanted]) -> Rewritten:
    """Make as many edits of a text as can be made where their Pods stand.

    The text that comes of it is read again; where its values are not those wanted, each document is
    made and read by itself, and the edits that fail are left out.
    """
    edits: dict[int, dict[int, Sequence[Edit]]] = {}
    for number, one in enumerate(wanted):
        edits.setdefault(one.document, {})[number] = one.edits
    attempts = {at: attempted(survey.documents[at], some) for at, some in edits.items()}
    return (
        _rewritten(survey, attempts)
        or _rewritten(survey, _proven(survey, edits))
        or _as_it_was(survey, len(wanted))
    )


def _rewritten(survey: Survey, attempts: Mapping[int, Attempt]) -> Rewritten | None:
    """Return what comes of attempts at documents; None where it would not mean what is wanted."""
    values = [document.value for document in survey.documents]
    for at, attempt in attempts.items():
        values[at] = attempt.value
    changes = [change for attempt in attempts.values() for change in attempt.changes]
    text = read_as(survey.text, changes, values)
    if text is None:
        return None
    failed = {number: why for one in attempts.values() for number, why in one.failed.items()}
    return Rewritten(text, failed, tuple(values))


def _proven(survey: Survey, edits: Mapping[int, Edits]) -> dict[int, Attempt]:
    parts = pieces(survey)
    return {at: parts[at].proven(some) for at, some in edits.items()}


def _as_it_was(survey: Survey, wanted: int) -> Rewritten:
    values = tuple(document.value for document in survey.documents)
    return Rewritten(survey.text, dict.fromkeys(range(wanted), UNSURE), values)
