"""The one writer of JSON Patch (RFC 6902): edits in, operations and the edited object out.

Kubernetes fails a request whose patch does not apply, even under ``failurePolicy: Ignore``, so the
operations are written while the edits are applied to the very object that was received: a parent
that is missing or null is created, a key that exists is replaced. The object itself is never
changed; what an edit touches is copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]
Operation = dict[str, object]


@dataclass(frozen=True, slots=True)
class Put:
    """Set a value at a path of keys and list places; parents are created."""

    path: Path
    value: object
    rule: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove the key at a path; it must be there."""

    path: Path
    rule: str


@dataclass(frozen=True, slots=True)
class Extend:
    """Append values to the list at a path; a missing list is created."""

    path: Path
    values: tuple[object, ...]
    rule: str


Edit = Put | Drop | Extend


@dataclass(frozen=True, slots=True)
class Patch:
    """The operations, and the object as it is once they are applied."""

    operations: list[Operation]
    after: dict[str, Any]


def write(document: dict[str, Any], edits: Iterable[Edit]) -> Patch:
    """Apply edits to an object in order and write down the operations that do the same."""
    writer = _Writer(document)
    for edit in edits:
        match edit:
            case Put(path, value):
                writer.put(path, value)
            case Drop(path):
                writer.drop(path)
            case Extend(path, values):
                writer.extend(path, values)
    return Patch(writer.operations, writer.root)


def pointer(path: Path) -> str:
    """Return a path as a JSON pointer (RFC 6901): ``~`` is escaped before ``/``."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


class _Writer:
    """Holds the object as edited so far; copies a container once, before its first change."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.root = dict(document)
        self.operations: list[Operation] = []
        self._own = {id(self.root)}

    def put(self, path: Path, value: object) -> None:
        parent, depth = self._deepest(path)
        for key in reversed(path[depth + 1 :]):
            value = {key: value}
        self._set(parent, path[: depth + 1], value)

    def drop(self, path: Path) -> None:
        parent, _ = self._deepest(path)
        del parent[path[-1]]
        self.operations.append({"op": "remove", "path": pointer(path)})

    def extend(self, path: Path, values: tuple[object, ...]) -> None:
        parent, depth = self._deepest(path)
        there = parent.get(path[-1]) if depth == len(path) - 1 else None
        if not isinstance(there, list):
            self.put(path, list(values))
            return
        parent[path[-1]] = [*there, *values]
        end = pointer(path) + "/-"
        self.operations.extend({"op": "add", "path": end, "value": value} for value in values)

    def _set(self, parent: Any, path: Path, value: object) -> None:  # noqa: ANN401
        exists = isinstance(parent, list) or path[-1] in parent
        parent[path[-1]] = value
        # The value is ours now only if it was built here; user values below it are not copied.
        self.operations.append(
            {"op": "replace" if exists else "add", "path": pointer(path), "value": value}
        )

    def _deepest(self, path: Path) -> tuple[Any, int]:
        """Return the deepest existing parent on a path, as a copy, and the place of its child."""
        node: Any = self.root
        for depth, key in enumerate(path[:-1]):
            child = node.get(key) if isinstance(node, dict) else node[key]
            if not isinstance(child, dict | list):
                return node, depth
            if id(child) not in self._own:
                child = child.copy()
                self._own.add(id(child))
                node[key] = child
            node = child
        return node, len(path) - 1
