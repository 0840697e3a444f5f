"""Objects of any shape at all are read and judged without an error (H2)."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import Json
from tests.webhook.health.test_fences import our_rule
from tests.webhook.health.worlds import (
    TAINT,
    World,
    claim,
    condition,
    crashed,
    daemon,
    device_slice,
    device_taint,
    dra_node,
    job,
    node,
    pod,
    rejected,
    told,
)
from webhook.health.permits import permit

_ODD: st.SearchStrategy[object] = st.sampled_from(
    (
        None,
        0,
        -1,
        1.5,
        True,
        "",
        "x",
        "\ud800",
        [],
        {},
        [None],
        [[]],
        [{}],
        {"": None},
        [[1]],
        "9" * 50,
    )
)


def _objects() -> dict[str, list[Json]]:
    return {
        "nodes": [
            node("n1", condition("GPUIsLost", reason="Xid"), taints=[TAINT], allocatable=7),
            dra_node("h1", condition("NTPProblem")),
        ],
        "pods": [
            pod(containerStatuses=told(("GPU-1", "Unhealthy"))),
            pod("p2", owner=("Job", "fit"), containerStatuses=crashed(60.0, 30.0)),
            pod("p3", owner=("StatefulSet", "s"), containerStatuses=crashed(50.0)),
            rejected("p4"),
            pod("p5", "h1", annotations={"gpuspec.preferred.jp/on-device-failure": "after=1h"}),
        ],
        "slices": [device_slice(gpu_1=device_taint("NoSchedule"))],
        "claims": [claim("gpu-1", pods=["p5"])],
        "rules": [our_rule("None")],
        "jobs": [job(backoffLimit=1)],
        "daemons": [daemon("driver", {"key": "x", "operator": "Exists"})],
    }


def _paths(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    inner: list[tuple[object, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(one for key, part in inner for one in _paths(part, (*path, key)))]


# The object itself is one, and it has a name: else it never came from an API server.
_PATHS = [
    path
    for path in _paths(_objects())
    if len(path) > 2 and path[2:] not in (("metadata",), ("metadata", "name"), ("metadata", "uid"))
]


def _broken(changes: list[tuple[tuple[object, ...], object]]) -> dict[str, list[Json]]:
    found = deepcopy(_objects())
    for (*above, last), odd in changes:
        parent: object = found
        for key in above:
            parent = _part(parent, key)
        if _part(parent, last) is not None:
            parent[last] = odd  # type: ignore[index]
    return found


def _part(value: object, key: object) -> object:
    """Return what is there, None where an earlier change left nothing."""
    if isinstance(value, dict):
        return value.get(key)
    return value[key] if isinstance(value, list) and key in range(len(value)) else None  # type: ignore[call-overload]


@pytest.mark.rule("H2")
@given(changes=st.lists(st.tuples(st.sampled_from(_PATHS), _ODD), min_size=1, max_size=4))
def test_odd_objects_are_judged_without_an_error(
    changes: list[tuple[tuple[object, ...], object]],
) -> None:
    objects = _broken(changes)
    world = World(**objects)  # type: ignore[arg-type]
    taken = world.observing(2).step()
    assert {one.case.subject.node for one in taken.decisions} <= {"n1", "h1"}
    observed = world.observed()
    for one in observed.pods:
        found = permit(one, observed.jobs, world.now, world.now)
        assert found.is_given is not bool(found.why)
