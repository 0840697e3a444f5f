"""When the events of a history happened, where it does not say so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.webhook.advice.health.ward import node
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
