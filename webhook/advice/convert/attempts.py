"""Which of the edits of one document can be made in its text together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from selection_spec.documents import Change, Document, EditError, Path
from webhook.advice.convert.shared import Places
from webhook.jsonpatch import Edit, write

_DISPUTED = "another Pod has that place, too, and needs another change there"

Edits = Mapping[int, Sequence[Edit]]
"""By number of a Pod what is to change of it, as edits of the document."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Edits that can be made together.

    Attributes:
        numbers: Of which Pods they are.
        changes: What changes in the text.
        value: What the document is to be then.
        failed: Why others cannot be made, by number.
    """

    numbers: tuple[int, ...]
    changes: tuple[Change, ...]
    value: object
    failed: Mapping[int, str]


def attempted(document: Document, edits: Edits) -> Attempt:
    """Return as many of a document's edits as can be made where they stand."""
    chosen, failed = _undisputed(edits)
    doubted: dict[int, str] = {}
    found = _together(document, chosen)
    while isinstance(found, EditError):
        blamed = _blamed(chosen, found.failures) or dict.fromkeys(chosen, str(found))
        doubted |= blamed
        chosen = {number: some for number, some in chosen.items() if number not in blamed}
        found = _together(document, chosen)
    for number, why in doubted.items():
        # What failed beside another one may be right without that.
        more = {**chosen, number: edits[number]}
        tried = _together(document, more) if len(doubted) > 1 else None
        if isinstance(tried, Attempt):
            chosen, found = more, tried
        else:
            failed[number] = why
    return replace(found, failed=failed)


def _undisputed(edits: Edits) -> tuple[dict[int, Sequence[Edit]], dict[int, str]]:
    """Return the edits that get on with all earlier ones, and why the others are left out."""
    places = Places()
    failed = {number: _DISPUTED for number, some in edits.items() if places.take(some) is None}
    return {number: some for number, some in edits.items() if number not in failed}, failed


def _together(document: Document, edits: Edits) -> Attempt | EditError:
    """Return what comes of edits that are not disputed; why they cannot all be made."""
    places = Places()
    once = [edit for some in edits.values() for edit in places.take(some) or ()]
    value = write(cast("dict[str, Any]", document.value), once).after
    try:
        changes = document.changes_to(value)
    except EditError as error:
        return error
    return Attempt(tuple(edits), tuple(changes), value, {})


def _blamed(edits: Edits, failures: Mapping[Path, str]) -> dict[int, str]:
    """Return of which Pods the places are that cannot be changed, and why not."""
    above: dict[Path, list[int]] = {}
    at: dict[Path, list[int]] = {}
    for number, some in edits.items():
        paths = {edit.path for edit in some}
        for prefix in {path[:length] for path in paths for length in range(len(path) + 1)}:
            above.setdefault(prefix, []).append(number)
        for path in paths:
            at.setdefault(path, []).append(number)
    found: dict[int, str] = {}
    for path, why in failures.items():
        below = (at.get(path[:length], ()) for length in range(len(path)))
        for number in (*above.get(path, ()), *(one for some in below for one in some)):
            found.setdefault(number, why)
    return found
