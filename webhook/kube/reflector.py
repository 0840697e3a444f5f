"""A collection of the API server, mirrored: listed once, then followed by a watch.

Only what ``keep`` returns of each object is held. A watch that ends is taken up where it was; when
that is too long ago the collection is listed anew, and what is held stays until the new list is
complete. An API server that does not answer is asked again, ever more slowly.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Generic, TypeVar

from webhook.kube.cluster import Cluster, Json
from webhook.kube.errors import ApiError, ClusterError

T = TypeVar("T")

# The first and the longest pause between attempts; the true one is half of it up to all of it, so
# that replicas do not ask in step. An API server that is back is noticed within the longest.
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 2.0
# An API server that asks for more patience than this (Retry-After) is asked all the same.
_LONGEST_ASKED_S = 30.0


@dataclass(frozen=True, slots=True)
class Collection:
    """What to mirror: a path such as ``/api/v1/nodes``, and selectors by their query name."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)


class Reflector(Generic[T]):
    """Mirrors one collection.

    Args:
        cluster: Where it is.
        collection: Which.
        keep: What is held of an object; None leaves it out.
        changed: Called after every change of what is held, and after the first list; must not
            block.
        troubled: Told why the collection cannot be read, once for every new reason.
    """

    def __init__(
        self,
        cluster: Cluster,
        collection: Collection,
        keep: Callable[[Json], T | None],
        *,
        changed: Callable[[], None],
        troubled: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.path = collection.path
        self._cluster = cluster
        self._keep = keep
        self._changed = changed
        self._troubled = troubled
        self._query = dict(collection.query)
        self._lock = threading.Lock()
        self._held: dict[str, T] = {}
        self._version = ""
        self._synced = threading.Event()
        self._absent = False
        self._trouble = ""
        self._changes = 0

    @property
    def changes(self) -> int:
        """How often what is held has changed: the same number means the same objects."""
        return self._changes

    @property
    def synced(self) -> bool:
        """Whether the collection was listed completely at least once."""
        return self._synced.is_set()

    @property
    def absent(self) -> bool:
        """Whether the API server has been seen to have no such collection (its CRD is missing)."""
        return self._absent

    @property
    def trouble(self) -> str:
        """Why the collection cannot be read right now; "" while it is followed."""
        return self._trouble

    def held(self) -> dict[str, T]:
        """Return what is held, by ``namespace/name`` (``name`` where there is no namespace)."""
        with self._lock:
            return dict(self._held)

    def run(self, stopping: threading.Event) -> None:
        """Follow the collection until ``stopping`` is set."""
        pause = _FIRST_PAUSE_S
        while not stopping.is_set():
            try:
                if not self._version:
                    self._list()
                self._follow(stopping)
                pause = _FIRST_PAUSE_S
                stopping.wait(pause)  # a server that ends every watch at once is not stormed
                continue
            except ClusterError as error:
                asked = self._failed(error)
            except Exception as bug:  # noqa: BLE001 -- whatever an answer holds, the mirror goes on
                self._version = ""
                asked = self._say(f"{self.path}: {type(bug).__name__}: {bug}")
            stopping.wait(max(asked, pause * random.uniform(0.5, 1.0)))  # noqa: S311 -- out of step
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def _list(self) -> None:
        found: dict[str, T] = {}
        version = ""
        for version, items in self._cluster.pages(self.path, **self._query):  # noqa: B007
            for item in items:
                kept = self._kept(item)
                if kept is not None:
                    key = _key(item)
                    former = self._held.get(key)
                    found[key] = former if former is not None and kept == former else kept
        with self._lock:
            differs = not self.synced or self._absent or found != self._held
            self._held = found
            self._changes += differs
        self._version = version
        self._absent = False
        self._synced.set()
        if differs:
            self._changed()

    def _kept(self, item: Json) -> T | None:
        """Return what is held of an object; one that cannot be read must not stop the others."""
        try:
            return self._keep(item)
        except Exception as bug:  # noqa: BLE001 -- see above
            self._troubled(f"{self.path}: {_key(item)} is left out: {type(bug).__name__}: {bug}")
            return None

    def _follow(self, stopping: threading.Event) -> None:
        """Apply events until the watch ends; forget the version where it cannot be resumed."""
        for event in self._cluster.watch(self.path, self._version, **self._query):
            if stopping.is_set():
                return
            kind, item = event.get("type"), event.get("object") or {}
            if kind == "CONNECTED":
                self._trouble = ""
                continue
            if kind == "ERROR":
                self._version = ""
                if item.get("code") == 410:  # noqa: PLR2004 -- Gone: listing anew is the remedy
                    return
                raise ApiError(
                    f"WATCH {self.path}",
                    item.get("code") or 500,
                    str(item.get("reason") or ""),
                    str(item.get("message") or ""),
                )
            self._version = item["metadata"]["resourceVersion"]
            if kind != "BOOKMARK":
                self._apply(item, gone=kind == "DELETED")

    def _apply(self, item: Json, *, gone: bool) -> None:
        key = _key(item)
        kept = None if gone else self._kept(item)
        with self._lock:
            former = self._held.get(key)
            # What is equal stays the same object: whoever has judged it need not do so again.
            if kept == former:
                return
            if kept is None:
                del self._held[key]
            else:
                self._held[key] = kept
            self._changes += 1
        self._changed()

    def _failed(self, error: ClusterError) -> float:
        """Note why the collection cannot be followed; return for how long not to ask again."""
        if isinstance(error, ApiError):
            if error.is_expired:
                self._version = ""
                return 0.0
            if error.is_not_found:
                self._no_such_collection()
                return 0.0
            if error.code == HTTPStatus.NOT_FOUND:
                self._version = ""  # a list tells whether that is the API server's own word
        return self._say(str(error), error.retry_after_s if isinstance(error, ApiError) else 0.0)

    def _say(self, trouble: str, retry_after_s: float = 0.0) -> float:
        if trouble != self._trouble:
            self._trouble = trouble
            self._troubled(trouble)
        return min(retry_after_s, _LONGEST_ASKED_S)

    def _no_such_collection(self) -> None:
        """Nothing is there, and that is known: another thing than not reaching the API server."""
        with self._lock:
            differs = not self._absent or bool(self._held)
            self._held = {}
            self._changes += differs
        self._version = ""
        self._trouble = ""
        self._absent = True
        self._synced.set()
        if differs:
            self._changed()


def _key(item: Json) -> str:
    metadata = item["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
