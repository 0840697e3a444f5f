"""Texts with edited Pods: each edit where its Pod stands, and read again before it is believed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from selection_spec.documents import Change, Document, EditError, Survey, changed, survey_manifests
from webhook.jsonpatch import Edit, write

_UNSURE = "the text cannot be changed there without changing more"


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

    The text that comes of it is read again; where its values are not those wanted, each edit is
    made and read by itself, and those that fail are left out.
    """
    failed: dict[int, str] = {}
    changes: dict[int, list[Change]] = {}
    for number, one in enumerate(wanted):
        try:
            changes[number] = _changes(survey.documents[one.document], one.edits)
        except EditError as error:
            failed[number] = str(error)
    text = _applied(survey, wanted, changes)
    if text is None:
        made: dict[int, list[Change]] = {}
        for number, some in changes.items():
            if _applied(survey, wanted, {**made, number: some}) is None:
                failed[number] = _UNSURE
            else:
                made[number] = some
        changes = made
        text = _applied(survey, wanted, changes)
    values = tuple(_values(survey.documents, wanted, changes))
    return Rewritten(survey.text if text is None else text, failed, values)


def _changes(document: Document, edits: Sequence[Edit]) -> list[Change]:
    value = cast("dict[str, Any]", document.value)
    return document.changes_to(write(value, edits).after)


def _applied(
    survey: Survey, wanted: Sequence[Wanted], changes: dict[int, list[Change]]
) -> str | None:
    """Return the text with changes; None where it would not mean what is wanted."""
    try:
        text = changed(survey.text, [one for some in changes.values() for one in some])
    except EditError:
        return None
    again = survey_manifests(text)
    values = [document.value for document in again.documents]
    meant = _values(survey.documents, wanted, changes)
    return text if not again.problems and _canonical(values) == _canonical(meant) else None


def _values(
    documents: Sequence[Document], wanted: Sequence[Wanted], made: dict[int, list[Change]]
) -> list[object]:
    values = [document.value for document in documents]
    for number in made:
        one = wanted[number]
        value = cast("dict[str, Any]", values[one.document])
        values[one.document] = write(value, one.edits).after
    return values


def _canonical(values: Sequence[object]) -> str:
    return json.dumps(values, sort_keys=True)
