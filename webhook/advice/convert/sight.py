"""A Pod and where its parts stand, as this package sees it; ``findings.views`` has such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from webhook.jsonpatch import Drop, Edit, Extend, Path, Put
from webhook.shapes import CONTAINER_LISTS

Json = dict[str, Any]


class Sight(Protocol):
    """A Pod in a document."""

    @property
    def pod(self) -> Json:
        """The Pod as admission would see it."""

    @property
    def owner(self) -> str:
        """The object that it is in, as ``Deployment/train``."""

    @property
    def kind(self) -> str:
        """That object's kind."""

    @property
    def item(self) -> Json:
        """That object."""

    @property
    def object(self) -> Path:
        """That object's path in the document."""

    def place(self, path: Path) -> Path:
        """Return where in the document a path of the Pod leads."""


@dataclass(frozen=True, slots=True)
class Stay:
    """What stays as it is.

    Attributes:
        path: Where it is in the Pod.
        why: Why it stays, as a sentence without its stop.
        is_right: Whether a spec would be wrong in its place.
    """

    path: Path
    why: str
    is_right: bool = False


def elsewhere(view: Sight, edits: Sequence[Edit]) -> tuple[Stay, ...]:
    """Return the fields that edits touch and that the document has in another place, each once.

    Workflows give their Pods fields of their own; what stands there may be other Pods', too.
    """
    fields = dict.fromkeys(
        edit.path[: 4 if edit.path[1:2] and edit.path[1] in CONTAINER_LISTS else 2]
        for edit in edits
    )
    return tuple(
        Stay(field, f"{view.kind} keeps that in a place of its own")
        for field in fields
        if (_at(view.pod, field) or None) != (_in_document(view, field) or None)
    )


def in_document(view: Sight, edits: Sequence[Edit]) -> list[Edit]:
    """Return edits of a Pod as those of the document that it stands in."""
    found: list[Edit] = []
    for edit in edits:
        path = view.place(edit.path)
        match edit:
            case Put(_, value, rule):
                found.append(Put(path, value, rule))
            case Drop(_, rule):
                found.append(Drop(path, rule))
            case Extend(_, values, rule):
                found.append(Extend(path, values, rule))
    return found


def _in_document(view: Sight, path: Path) -> object:
    return _at(view.item, view.place(path)[len(view.object) :])


def _at(value: object, path: Path) -> object:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
