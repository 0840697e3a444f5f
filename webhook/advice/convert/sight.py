"""A Pod and where its parts stand, as this package sees it; ``findings.views`` has such."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from webhook.advice.convert.shared import Places
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


def misplaced(view: Sight, edits: Sequence[Edit]) -> tuple[Stay, ...]:
    """Return the fields whose edits the document cannot have where the Pod has them, each once.

    Workflows give their Pods fields of their own; what stands there may be other Pods', too, or
    several containers'.
    """
    kept = f"{view.kind} keeps that in a place of its own"
    fields = dict.fromkeys(_field(edit.path) for edit in edits)
    elsewhere = [
        Stay(field, kept)
        for field in fields
        if (_at(view.pod, field) or None) != (_in_document(view, field) or None)
    ]
    return tuple(elsewhere or _disputed(view, edits))


def in_document(view: Sight, edits: Sequence[Edit]) -> list[Edit]:
    """Return edits of a Pod as those of the document that it stands in, each once.

    Args:
        view: The Pod and where it stands.
        edits: Its edits, none of which is ``misplaced``.
    """
    places = Places()
    of_fields = (_moved(view, some) for some in _by_field(edits).values())
    return [edit for some in of_fields for edit in places.take(some) or ()]


def _disputed(view: Sight, edits: Sequence[Edit]) -> Iterator[Stay]:
    """Yield fields that share a place with another one of the Pod, and would not change alike."""
    places = Places()
    for field, some in _by_field(edits).items():
        if places.take(_moved(view, some)) is None:
            yield Stay(field, "another container has it from there, too, and needs another change")


def _by_field(edits: Sequence[Edit]) -> dict[Path, list[Edit]]:
    found: dict[Path, list[Edit]] = {}
    for edit in edits:
        found.setdefault(_field(edit.path), []).append(edit)
    return found


def _field(path: Path) -> Path:
    return path[: 4 if path[1:2] and path[1] in CONTAINER_LISTS else 2]


def _moved(view: Sight, edits: Sequence[Edit]) -> list[Edit]:
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
