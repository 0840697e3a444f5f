"""When the events of a history happened, where it does not say so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.webhook.advice.health.ward import node, pod
from webhook.advice.health.replica import Event
from webhook.cli.health.events import events_of, merged
from webhook.inventory.times import written

Json = dict[str, Any]


def told(*events: tuple[str, str, str]) -> bytes:
    """A history of nodes: what happened, the time that the node tells, the event's own time."""
    documents = []
    for number, (kind, since, at) in enumerate(events):
        found = node(f"n{number}", since=f"2026-06-01T{since}Z") if since else _timeless(number)
        own = {"at": f"2026-06-01T{at}Z"} if at else {}
        documents.append({"type": kind, "object": found, **own})
    return "\n".join(map(json.dumps, documents)).encode()


def _timeless(number: int) -> Json:
    return {"kind": "Node", "metadata": {"name": f"n{number}"}}


def times(text: bytes) -> list[str]:
    return [written(one.at)[11:19] for one in events_of(text)]


@pytest.mark.parametrize(
    ("events", "found"),
    [
        pytest.param(
            [("ADDED", "10:00:00", ""), ("ADDED", "10:05:00", ""), ("ADDED", "10:01:00", "")],
            ["10:05:00"] * 3,
            id="what was there at first is of one moment",
        ),
        pytest.param(
            [("ADDED", "10:00:00", ""), ("MODIFIED", "10:02:00", "")],
            ["10:00:00", "10:02:00"],
            id="the newest time that an object tells",
        ),
        pytest.param(
            [("ADDED", "10:05:00", ""), ("MODIFIED", "10:01:00", ""), ("DELETED", "", "")],
            ["10:05:00"] * 3,
            id="one that is older, or tells none, is of the same time as the one before",
        ),
        pytest.param(
            [("ADDED", "10:00:00", "09:00:00"), ("ADDED", "10:00:00", "09:30:00")],
            ["09:00:00", "09:30:00"],
            id="its own time counts",
        ),
        pytest.param(
            [("ADDED", "10:00:00", ""), ("ADDED", "11:00:00", "10:30:00"), ("ADDED", "", "")],
            ["10:00:00", "10:30:00", "10:30:00"],
            id="and ends what was there at first",
        ),
    ],
)
def test_when_events_happened(events: list[tuple[str, str, str]], found: list[str]) -> None:
    assert times(told(*events)) == found


def test_the_time_of_its_creation_is_a_time_of_an_object() -> None:
    content = {"kind": "Pod", "metadata": {"name": "p", "namespace": "ml"}}
    content["metadata"]["creationTimestamp"] = "2026-06-01T10:00:00Z"  # type: ignore[index]
    text = json.dumps({"type": "ADDED", "object": content}).encode()
    assert times(text) == ["10:00:00"]


def test_times_of_yaml_are_read_without_quotes() -> None:
    text = b"type: ADDED\nat: 2026-06-01T12:00:00Z\nobject: {kind: Node, metadata: {name: n1}}\n"
    assert times(text) == ["12:00:00"]


def test_histories_are_merged_in_the_order_of_time() -> None:
    first = events_of(told(("ADDED", "", "10:00:00"), ("MODIFIED", "", "10:10:00")))
    second = events_of(told(("ADDED", "", "10:05:00")))
    assert [written(one.at)[14:16] for one in merged([first, second])] == ["00", "05", "10"]


def test_documents_need_no_line_of_their_own() -> None:
    assert len(events_of(told(("ADDED", "", "")) * 3)) == 3


def changed(at: str, manager_at: str = "") -> Json:
    """A node that tells one time, and when it was changed last where kubectl did not cut that."""
    content = node("n1", since=f"2026-06-01T{at}Z")
    if manager_at:
        content["metadata"]["managedFields"] = [{"time": f"2026-06-01T{manager_at}Z"}]
    return content


def history(*events: tuple[str, Json]) -> tuple[Event, ...]:
    documents = ({"type": kind, "object": content} for kind, content in events)
    return events_of("\n".join(map(json.dumps, documents)).encode())


def placed(*histories: tuple[Event, ...]) -> list[str]:
    return [f"{written(one.at)[11:19]} {one.name}" for one in merged(histories)]


def pod_at(name: str, at: str) -> Json:
    content = pod(name, "n1")
    content["metadata"]["creationTimestamp"] = f"2026-06-01T{at}Z"
    return content


def test_a_change_without_a_time_comes_after_all_that_was_seen() -> None:
    """A person patched a condition into the node: what it tells is older than the Pods there."""
    nodes = history(("ADDED", changed("10:00:00")), ("MODIFIED", changed("10:00:00")))
    pods = history(("ADDED", pod_at("old", "10:10:00")), ("ADDED", pod_at("young", "10:30:00")))
    assert placed(nodes, pods) == [
        "10:00:00 Node n1",
        "10:30:00 Node n1",
        "10:30:00 Pod ml/old",
        "10:30:00 Pod ml/young",
    ]
    assert [one.is_dated for one in nodes] == [True, False]


def test_but_not_after_what_its_own_file_tells_next() -> None:
    nodes = history(
        ("ADDED", changed("10:00:00")),
        ("MODIFIED", changed("10:00:00")),
        ("MODIFIED", changed("10:05:00")),
    )
    pods = history(("ADDED", pod_at("young", "10:30:00")))
    assert placed(nodes, pods)[:3] == [
        "10:00:00 Node n1",
        "10:05:00 Node n1",
        "10:05:00 Node n1",
    ]


def test_the_api_server_writes_down_when_a_change_was_made() -> None:
    nodes = history(
        ("ADDED", changed("10:00:00", "10:00:10")), ("MODIFIED", changed("10:00:00", "10:07:00"))
    )
    assert placed(nodes) == ["10:00:10 Node n1", "10:07:00 Node n1"]
    assert all(one.is_dated for one in nodes)


def test_two_changes_of_one_second_are_both_of_that_second() -> None:
    content = changed("10:00:00", "10:07:00")
    nodes = history(("ADDED", changed("10:00:00", "10:00:10")), *[("MODIFIED", content)] * 2)
    assert placed(nodes)[1:] == ["10:07:00 Node n1"] * 2
    assert all(one.is_dated for one in nodes)
