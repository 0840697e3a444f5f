"""An API server in memory for loops: objects by path, versions, conflicts, and what was written."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from webhook.kube.errors import ApiError

Json = dict[str, Any]


class Memory:
    """Stands in for a ``Cluster``: optimistic concurrency and merge patches as the real one's.

    Attributes:
        objects: What is there, by path.
        writes: Every accepted write as (verb, path, body), in order.
        reads: The path of every list that was asked for.
        before_write: Called with verb and path before each write; may raise, or change objects.
    """

    def __init__(self, objects: dict[str, Json] | None = None) -> None:
        self.objects: dict[str, Json] = {}
        self.writes: list[tuple[str, str, Json]] = []
        self.reads: list[str] = []
        self.before_write: Callable[[str, str], None] = lambda *_: None
        self._version = 0
        for path, body in (objects or {}).items():
            self.put(path, body)

    def put(self, path: str, body: Json) -> None:
        """Store an object as somebody else would."""
        self._version += 1
        stored = copy.deepcopy(body)
        stored.setdefault("metadata", {})["resourceVersion"] = str(self._version)
        self.objects[path] = stored

    def get(self, path: str, **_: str) -> Json:
        if path not in self.objects:
            raise ApiError(f"GET {path}", 404, "NotFound", "not found")
        return copy.deepcopy(self.objects[path])

    def items(self, path: str, **query: str) -> Iterator[Json]:
        self.reads.append(path)
        name = query.get("fieldSelector", "").removeprefix("metadata.name=")
        found = [
            one
            for at, one in self.objects.items()
            if at.rpartition("/")[0] == path and name in {"", at.rpartition("/")[2]}
        ]
        return iter(copy.deepcopy(found))

    def delete(self, path: str, **_: str) -> Json:
        self.before_write("delete", path)
        stored = self.get(path)
        del self.objects[path]
        self.writes.append(("delete", path, {}))
        return stored

    def create(self, path: str, body: Json, **_: str) -> Json:
        self.before_write("create", path)
        at = f"{path}/{body['metadata']['name']}"
        if at in self.objects:
            raise ApiError(f"POST {path}", 409, "AlreadyExists", "exists already")
        return self._write("create", at, body)

    def patch(self, path: str, body: Json, kind: str = "merge", **_: str) -> Json:
        assert kind in {"merge", "apply"}  # of objects without lists, these are the same
        self.before_write("patch", path)
        at = path.removesuffix("/status")
        stored = self.get(at)
        version = (body.get("metadata") or {}).get("resourceVersion")
        if version is not None and version != stored["metadata"]["resourceVersion"]:
            raise ApiError(f"PATCH {path}", 409, "Conflict", "changed meanwhile")
        return self._write("patch", at, _merged(stored, body), said=body)

    def _write(self, verb: str, path: str, body: Json, said: Json | None = None) -> Json:
        self.put(path, body)
        self.writes.append((verb, path, copy.deepcopy(said or body)))
        return self.get(path)


def _merged(stored: Json, body: Json) -> Json:
    found = dict(stored)
    for key, value in body.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, dict):
            before = found.get(key)
            found[key] = _merged(before if isinstance(before, dict) else {}, value)
        else:
            found[key] = value
    return found
