"""The mirror's behaviour at every turn that an API server can take; the server is a script."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError, ClusterError, UnreachableError
from webhook.kube.reflector import Collection, Reflector

Json = dict[str, Any]

NODES = Collection("/api/v1/nodes")
NO_SUCH_KIND = ApiError("GET /api/v1/nodes", 404, "NotFound", "no such kind of object")
PROXYS_404 = ApiError("GET /api/v1/nodes", 404, "", "default backend - 404")
OVER = "the script is over"
GONE = {"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old"}}


def node(name: str, version: str, *, namespace: str = "", value: str = "") -> Json:
    metadata = {"name": name, "resourceVersion": version, "value": value}
    if namespace:
        metadata["namespace"] = namespace
    return {"metadata": metadata}


def event(kind: str, item: Json) -> Json:
    return {"type": kind, "object": item}


class Script:
    """An API server that answers lists and watches in a given order, then stops the mirror."""

    def __init__(self, *steps: Sequence[object] | Exception) -> None:
        self.steps = list(steps)
        self.asked: list[str] = []
        self.stopping = threading.Event()

    def pages(self, path: str, **_: str) -> Iterator[tuple[str, list[Json]]]:
        for number, page in enumerate(self._next(f"list {path}")):
            yield f"listed-{number}", page

    def watch(self, _: str, resource_version: str, **__: str) -> Iterator[Json]:
        events = self._next(f"watch {resource_version}")
        yield {"type": "CONNECTED"}
        yield from events

    def _next(self, asked: str) -> Sequence[Any]:
        if not self.steps:
            self.stopping.set()
            raise UnreachableError(OVER)
        self.asked.append(asked)
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


def keep(item: Json) -> str | None:
    value: str = item["metadata"]["value"]
    if value == "raise":
        raise ValueError(value)
    return value or None


class Mirrored:
    """A reflector run over a script, and what it said."""

    def __init__(self, *steps: Sequence[object] | Exception) -> None:
        self.script = Script(*steps)
        self.changes: list[dict[str, str]] = []
        self.troubles: list[str] = []
        self.reflector: Reflector[str] = Reflector(
            cast("Cluster", self.script),
            NODES,
            keep,
            changed=lambda: self.changes.append(self.reflector.held()),
            troubled=lambda why: None if why == OVER else self.troubles.append(why),
        )
        self.reflector.run(self.script.stopping)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.kube.reflector._FIRST_PAUSE_S", 0.0)


def test_lists_all_pages_then_follows() -> None:
    found = Mirrored(
        [[node("a", "1", value="x")], [node("b", "2", value="y")]],
        [event("MODIFIED", node("a", "3", value="z")), event("DELETED", node("b", "4"))],
    )
    assert found.changes == [{"a": "x", "b": "y"}, {"a": "z", "b": "y"}, {"a": "z"}]
    assert found.script.asked == ["list /api/v1/nodes", "watch listed-1"]
    assert found.reflector.synced


def test_an_empty_collection_is_synced_too() -> None:
    found = Mirrored([[]], [])
    assert found.changes == [{}]
    assert found.reflector.synced
    assert not found.reflector.absent


def test_what_keep_leaves_out_is_not_held_and_no_change() -> None:
    found = Mirrored(
        [[node("a", "1", value="x"), node("b", "1")]],
        [event("ADDED", node("c", "2")), event("MODIFIED", node("a", "3"))],
    )
    assert found.changes == [{"a": "x"}, {}]


def test_keys_carry_the_namespace() -> None:
    found = Mirrored([[node("a", "1", namespace="n", value="x")]], [])
    assert found.changes == [{"n/a": "x"}]


def test_a_watch_that_ends_is_taken_up_where_it_was_by_event_or_bookmark() -> None:
    found = Mirrored(
        [[]],
        [event("ADDED", node("a", "5", value="x"))],
        [event("BOOKMARK", node("", "9"))],
        [],
    )
    assert found.script.asked[1:] == ["watch listed-0", "watch 5", "watch 9"]
    assert found.changes == [{}, {"a": "x"}]


def test_what_did_not_change_is_the_same_object_after_every_event_and_list() -> None:
    kept: list[object] = []
    script = Script(
        [[node("a", "1", value="x")]],
        [event("MODIFIED", node("a", "2", value="x")), GONE],
        [[node("a", "3", value="x")]],
        [],
    )
    reflector: Reflector[list[str]] = Reflector(
        cast("Cluster", script),
        NODES,
        lambda item: [item["metadata"]["value"]],
        changed=lambda: kept.append(reflector.held()["a"]),
    )
    reflector.run(script.stopping)
    assert len(kept) == 1
    assert reflector.held()["a"] is kept[0]


@pytest.mark.parametrize(
    "expired",
    [
        [GONE],
        ApiError("GET /api/v1/nodes", 410, "Expired", "too old"),
    ],
    ids=["as an event", "as an answer"],
)
def test_a_version_that_is_too_old_is_listed_anew_and_nothing_is_lost(
    expired: Sequence[object] | Exception,
) -> None:
    found = Mirrored(
        [[node("a", "1", value="x"), node("b", "1", value="y")]],
        expired,
        [[node("b", "7", value="y"), node("c", "7", value="z")]],
        [],
    )
    assert found.changes == [{"a": "x", "b": "y"}, {"b": "y", "c": "z"}]
    assert found.troubles == []
    assert found.script.asked[2] == "list /api/v1/nodes"


def test_an_error_in_the_stream_is_told_and_followed_by_a_list() -> None:
    broken = {"type": "ERROR", "object": {"code": 500, "reason": "InternalError", "message": "no"}}
    found = Mirrored([[node("a", "1", value="x")]], [broken], [[node("a", "2", value="x")]], [])
    assert found.troubles == ["WATCH /api/v1/nodes: 500 InternalError: no"]
    assert found.changes == [{"a": "x"}]


def test_an_api_server_that_is_away_changes_nothing_and_is_told_once() -> None:
    away = UnreachableError("https://x: GET /api/v1/nodes: refused")
    found = Mirrored([[node("a", "1", value="x")]], away, away, away, [])
    assert found.troubles == ["https://x: GET /api/v1/nodes: refused"]
    assert found.changes == [{"a": "x"}]
    assert found.script.asked[-1] == "watch listed-0"


def test_before_the_first_list_nothing_is_known() -> None:
    found = Mirrored(UnreachableError("away"))
    assert found.changes == []
    assert not found.reflector.synced
    assert found.troubles == ["away"]


def test_a_collection_that_does_not_exist_is_known_to_be_empty() -> None:
    found = Mirrored(NO_SUCH_KIND, NO_SUCH_KIND, [[node("a", "1", value="x")]], [])
    assert found.changes == [{}, {"a": "x"}]
    assert found.reflector.synced
    assert found.troubles == []


def test_a_collection_that_goes_away_takes_its_objects_along() -> None:
    found = Mirrored([[node("a", "1", value="x")]], PROXYS_404, NO_SUCH_KIND)
    assert found.changes == [{"a": "x"}, {}]
    assert found.reflector.absent


def test_a_404_of_somebody_else_is_no_empty_collection() -> None:
    found = Mirrored([[node("a", "1", value="x")]], PROXYS_404, PROXYS_404)
    assert found.changes == [{"a": "x"}]
    assert found.troubles == ["GET /api/v1/nodes: 404 default backend - 404"]
    assert not found.reflector.absent


def test_an_object_that_cannot_be_read_stops_no_other_and_no_thread() -> None:
    found = Mirrored(
        [[node("a", "1", value="x"), node("b", "1", value="raise")]],
        [event("ADDED", node("c", "2", value="raise")), event("ADDED", node("d", "3", value="y"))],
    )
    assert found.changes == [{"a": "x"}, {"a": "x", "d": "y"}]
    assert found.troubles == [
        "/api/v1/nodes: b is left out: ValueError: raise",
        "/api/v1/nodes: c is left out: ValueError: raise",
    ]


def test_events_of_a_wrong_shape_are_told_and_everything_is_listed_anew() -> None:
    found = Mirrored(
        [[node("a", "1", value="x")]],
        [{"type": "ADDED", "object": {"kind": "Surprise"}}],
        [[node("a", "2", value="y")]],
        [],
    )
    assert found.changes == [{"a": "x"}, {"a": "y"}]
    assert found.troubles == ["/api/v1/nodes: KeyError: 'metadata'"]


def test_a_missing_permission_is_not_an_empty_collection() -> None:
    refused: ClusterError = ApiError("GET /api/v1/nodes", 403, "Forbidden", "cannot list nodes")
    found = Mirrored([[node("a", "1", value="x")]], refused, [])
    assert found.troubles == ["GET /api/v1/nodes: 403 Forbidden: cannot list nodes"]
    assert found.reflector.held() == {"a": "x"}
