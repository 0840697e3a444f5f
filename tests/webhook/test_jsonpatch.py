"""The one writer of JSON Patch: what it writes applies to the exact object received (R3)."""

from __future__ import annotations

from copy import deepcopy

import pytest

from tests.answers import applied
from tests.builders import Json
from webhook.jsonpatch import Drop, Edit, Extend, Put, pointer, write


@pytest.mark.rule("R3")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param((), "", id="the whole"),
        pytest.param(("spec", "containers", 0), "/spec/containers/0", id="a place in a list"),
        pytest.param(("a/b",), "/a~1b", id="slash"),
        pytest.param(("a~b",), "/a~0b", id="tilde"),
        pytest.param(("a~1b",), "/a~01b", id="what looks escaped is escaped again"),
        pytest.param(("", " "), "// ", id="empty and blank keys"),
    ],
)
def test_pointers(path: tuple[str | int, ...], text: str) -> None:
    assert pointer(path) == text


@pytest.mark.rule("R3")
@pytest.mark.parametrize(
    ("before", "edits", "operations", "after"),
    [
        pytest.param({"a": 1}, [], [], {"a": 1}, id="nothing"),
        pytest.param(
            {"a": {}},
            [Put(("a", "b"), 1, "")],
            [{"op": "add", "path": "/a/b", "value": 1}],
            {"a": {"b": 1}},
            id="a new key",
        ),
        pytest.param(
            {"a": {"b": 0}},
            [Put(("a", "b"), 1, "")],
            [{"op": "replace", "path": "/a/b", "value": 1}],
            {"a": {"b": 1}},
            id="a key that is there",
        ),
        pytest.param(
            {},
            [Put(("a", "b", "c"), 1, "")],
            [{"op": "add", "path": "/a", "value": {"b": {"c": 1}}}],
            {"a": {"b": {"c": 1}}},
            id="parents are created",
        ),
        pytest.param(
            {"a": None},
            [Put(("a", "b"), 1, "")],
            [{"op": "replace", "path": "/a", "value": {"b": 1}}],
            {"a": {"b": 1}},
            id="a null is no parent",
        ),
        pytest.param(
            {"a": {"x": 1}},
            [Put(("b", "x"), 1, ""), Put(("b", "y"), 2, "")],
            [
                {"op": "add", "path": "/b", "value": {"x": 1}},
                {"op": "add", "path": "/b/y", "value": 2},
            ],
            {"a": {"x": 1}, "b": {"x": 1, "y": 2}},
            id="what one edit creates the next one uses",
        ),
        pytest.param(
            {"a": [{"b": 1}, {"b": 2}]},
            [Put(("a", 1, "b"), 3, "")],
            [{"op": "replace", "path": "/a/1/b", "value": 3}],
            {"a": [{"b": 1}, {"b": 3}]},
            id="within a list",
        ),
        pytest.param(
            {"a": {"b": 1, "c": 2}},
            [Drop(("a", "b"), "")],
            [{"op": "remove", "path": "/a/b"}],
            {"a": {"c": 2}},
            id="drop",
        ),
        pytest.param(
            {},
            [Extend(("a",), (1, 2), "")],
            [{"op": "add", "path": "/a", "value": [1, 2]}],
            {"a": [1, 2]},
            id="a list that is missing",
        ),
        pytest.param(
            {"a": {"b": None}},
            [Extend(("a", "b"), (1,), "")],
            [{"op": "replace", "path": "/a/b", "value": [1]}],
            {"a": {"b": [1]}},
            id="a list that is null",
        ),
        pytest.param(
            {"a": []},
            [Extend(("a",), (1, 2), "")],
            [
                {"op": "add", "path": "/a/-", "value": 1},
                {"op": "add", "path": "/a/-", "value": 2},
            ],
            {"a": [1, 2]},
            id="a list that is there is appended to",
        ),
        pytest.param(
            {"r": {"limits": {"preferred.jp/gpu-any": "1"}}},
            [
                Drop(("r", "limits", "preferred.jp/gpu-any"), ""),
                Put(("r", "limits", "nvidia.com/gpu"), "1", ""),
                Put(("r", "requests", "nvidia.com/gpu"), "1", ""),
            ],
            [
                {"op": "remove", "path": "/r/limits/preferred.jp~1gpu-any"},
                {"op": "add", "path": "/r/limits/nvidia.com~1gpu", "value": "1"},
                {"op": "add", "path": "/r/requests", "value": {"nvidia.com/gpu": "1"}},
            ],
            {"r": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}},
            id="a key is renamed in so many words, not moved",
        ),
    ],
)
def test_write(before: Json, edits: list[Edit], operations: list[Json], after: Json) -> None:
    untouched = deepcopy(before)

    patch = write(before, edits)

    assert patch.operations == operations
    assert patch.after == after
    assert before == untouched
    assert applied(before, operations) == after


@pytest.mark.rule("R3")
def test_operations_do_not_change_once_they_are_written() -> None:
    """A later edit below an earlier value changes the object, not the earlier operation."""
    value = {"x": [1]}

    patch = write(
        {}, [Put(("a",), value, ""), Put(("a", "y"), 2, ""), Extend(("a", "x"), (3,), "")]
    )

    assert patch.after == {"a": {"x": [1, 3], "y": 2}}
    assert patch.operations[0] == {"op": "add", "path": "/a", "value": {"x": [1]}}
    assert value == {"x": [1]}


@pytest.mark.rule("R3")
def test_what_is_not_edited_is_not_copied() -> None:
    before: Json = {"kept": {"deep": [1]}, "edited": {"other": {}}}

    after = write(before, [Put(("edited", "x"), 1, "")]).after

    assert after["kept"] is before["kept"]
    assert after["edited"]["other"] is before["edited"]["other"]
