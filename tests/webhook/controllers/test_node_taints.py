"""One taint of ours on a node; everybody else's stay (H7)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.webhook.controllers.memory import Memory
from webhook.controllers.node_taints import set_taint
from webhook.inventory.facts import Taint
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError

Json = dict[str, Any]

KEY = "gpuspec.preferred.jp/reserved"
NODE = "/api/v1/nodes/n"
OURS = Taint(KEY, "a100-80gb", "NoSchedule")
OURS_JSON = {"key": KEY, "value": "a100-80gb", "effect": "NoSchedule"}
FOREIGN = {"key": "x", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}

pytestmark = pytest.mark.rule("H7")


def node(*taints: Json) -> Memory:
    return Memory({NODE: {"metadata": {"name": "n"}, "spec": {"taints": list(taints)}}})


def taints(memory: Memory) -> list[Json]:
    found: list[Json] = memory.objects[NODE]["spec"]["taints"]
    return found


@pytest.mark.parametrize(
    ("before", "wanted", "after", "changed"),
    [
        pytest.param([], OURS, [OURS_JSON], True, id="placed"),
        pytest.param([FOREIGN], OURS, [FOREIGN, OURS_JSON], True, id="placed beside another"),
        pytest.param([FOREIGN, OURS_JSON], OURS, [FOREIGN, OURS_JSON], False, id="there already"),
        pytest.param([OURS_JSON, FOREIGN], None, [FOREIGN], True, id="removed"),
        pytest.param([FOREIGN], None, [FOREIGN], False, id="nothing to remove"),
        pytest.param(
            [OURS_JSON | {"value": "old-1gb"}, FOREIGN],
            OURS,
            [FOREIGN, OURS_JSON],
            True,
            id="another value replaced",
        ),
        pytest.param(
            [OURS_JSON | {"timeAdded": "2026-01-01T00:00:00Z"}],
            OURS,
            [OURS_JSON | {"timeAdded": "2026-01-01T00:00:00Z"}],
            False,
            id="a time that was added is no difference",
        ),
    ],
)
def test_only_our_taint_is_changed(
    before: list[Json], wanted: Taint | None, after: list[Json], *, changed: bool
) -> None:
    memory = node(*before)
    assert set_taint(cast("Cluster", memory), "n", KEY, wanted) is changed
    assert taints(memory) == after
    assert len(memory.writes) == changed


def test_a_node_without_any_taints_gets_one() -> None:
    memory = Memory({NODE: {"metadata": {"name": "n"}, "spec": {}}})
    assert set_taint(cast("Cluster", memory), "n", KEY, OURS)
    assert taints(memory) == [OURS_JSON]


def test_who_changes_the_node_meanwhile_loses_nothing() -> None:
    memory = node()
    others = iter([{"key": "first"}, {"key": "second"}])

    def meanwhile(_: str, path: str) -> None:
        other = next(others, None)
        if other is not None:
            memory.put(path, {"metadata": {"name": "n"}, "spec": {"taints": [FOREIGN, other]}})

    memory.before_write = meanwhile
    assert set_taint(cast("Cluster", memory), "n", KEY, OURS)
    assert taints(memory) == [FOREIGN, {"key": "second"}, OURS_JSON]


def test_a_node_that_changes_without_end_is_given_up() -> None:
    memory = node()
    memory.before_write = lambda _, path: memory.put(path, memory.get(path))
    with pytest.raises(ApiError, match="409 Conflict"):
        set_taint(cast("Cluster", memory), "n", KEY, OURS)
    assert memory.writes == []
