"""The worked candidates of the semantics (section 8), each Pod placed by the real scheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

import pytest

from tests.builders import Json, PodBuilder, make_pod
from tests.cluster.api import Api, ApiError, path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import create_pod
from tests.cluster.product.installation import WEBHOOK
from tests.cluster.product.places import cordoned, fresh_namespace, full, in_parallel, wait_placed
from tests.cluster.product.priorities import HIGH
from tests.cluster.versions import ON_NEWEST

pytestmark = [ON_NEWEST, pytest.mark.usefixtures("webhook")]

V100_16, V100_32, A30, A100 = MODELS = ("v100-16gb", "v100-32gb", "a30-24gb", "a100-80gb")
"""Cheapest first."""

LOW = None


@dataclass(frozen=True)
class Case:
    """A request, and the rows that it may have under either policy."""

    name: str
    containers: Sequence[dict[str, int]]
    every_fit: tuple[str, ...]
    smallest_fit: tuple[str, ...]

    def pod(self, name: str, priority_class: str | None) -> PodBuilder:
        built = make_pod(name)
        for number, specs in enumerate(self.containers):
            built.container(f"c{number}", **specs)
        return built if priority_class is None else built.spec(priorityClassName=priority_class)

    def rows(self, priority_class: str | None) -> tuple[str, ...]:
        return self.every_fit if priority_class is LOW else self.smallest_fit


CASES = (
    Case("any", [{"any": 1}], (V100_16, V100_32, A30, A100), (V100_16,)),
    Case("any-16gb", [{"any_16gb": 1}], (V100_16, V100_32, A30, A100), (V100_16,)),
    Case("any-24gb", [{"any_24gb": 1}], (V100_32, A30, A100), (A30,)),
    Case("any-24gb-6", [{"any_24gb": 6}], (V100_32, A30), (A30,)),
    Case("any-24gb-8", [{"any_24gb": 8}], (V100_32,), (V100_32,)),
    Case("any-24gb-4-and-4", [{"any_24gb": 4}, {"any_24gb": 4}], (V100_32,), (V100_32,)),
    Case("any-32gb", [{"any_32gb": 1}], (V100_32, A100), (V100_32,)),
    Case("any-40gb-4", [{"any_40gb": 4}], (A100,), (A100,)),
    Case("v100", [{"v100": 1}], (V100_16, V100_32), (V100_16,)),
    Case("v100-24gb", [{"v100_24gb": 1}], (V100_32,), (V100_32,)),
)
DENIED = (
    (
        {"any_40gb": 8},
        (
            'container "main": preferred.jp/gpu-any-40gb: 8: no node has 8 such GPUs, the most is '
            "4 (a100-80gb); ask for 4 or less in one Pod"
        ),
    ),
    (
        {"a30_32gb": 1},
        (
            'container "main": preferred.jp/gpu-a30-32gb: the largest a30 has 24 GB; write '
            "preferred.jp/gpu-a30-24gb or less"
        ),
    ),
    (
        {"h100": 1},
        (
            'container "main": preferred.jp/gpu-h100: no device is called h100; nearest: a100, '
            "v100, a30; or write preferred.jp/gpu-any; all: any, a100, a30, v100"
        ),
    ),
)


def wanted(prefix: str, taken: Sequence[str]) -> dict[str, str | None]:
    """Each request under either policy, and the cheapest of its rows that is not taken."""
    return {
        f"{prefix}-{case.name}-{priority or 'low'}": next(
            (row for row in case.rows(priority) if row not in taken), None
        )
        for case in CASES
        for priority in (LOW, HIGH)
    }


def bodies(prefix: str) -> dict[str, Json]:
    return {
        f"{prefix}-{case.name}-{priority or 'low'}": case.pod(
            f"{prefix}-{case.name}-{priority or 'low'}", priority
        ).build()
        for case in CASES
        for priority in (LOW, HIGH)
    }


def create_job(api: Api, namespace: str, body: Json) -> None:
    """A Job of one such Pod."""
    template = {"metadata": {}, "spec": body["spec"] | {"restartPolicy": "Never"}}
    job = {"metadata": {"name": body["metadata"]["name"]}, "spec": {"template": template}}
    api.create(path("batch/v1", "jobs", namespace=namespace), job)


@pytest.mark.rule("D2", "D4", "D5", "N1", "N2", "N5", "N6")
@pytest.mark.parametrize("how", [cordoned, full])
def test_every_request_gets_the_cheapest_row_left_and_none_when_none_is(
    cluster: ControlPlane, how: Callable[[Api, str], AbstractContextManager[None]]
) -> None:
    """Row after row is taken away, the cheapest first; a bare Pod and a Job ask each time."""
    api, pods, jobs = cluster.api, bodies("pod"), bodies("job")
    with ExitStack() as taken:
        for step in range(len(MODELS) + 1):
            if step:
                taken.enter_context(how(api, MODELS[step - 1]))
            expected = wanted("pod", MODELS[:step]) | wanted("job", MODELS[:step])
            with fresh_namespace(api) as namespace:
                in_parallel(lambda name: create_pod(api, namespace, pods[name]), pods)
                in_parallel(lambda name: create_job(api, namespace, jobs[name]), jobs)
                assert wait_placed(api, namespace, expected) == expected


@pytest.mark.rule("A2", "G5", "R4", "R6")
@pytest.mark.parametrize("priority", [LOW, HIGH], ids=["low", "high"])
@pytest.mark.parametrize(("specs", "text"), DENIED, ids=["any-40gb-8", "a30-32gb", "h100"])
def test_a_request_that_no_row_meets_is_refused_with_the_reason(
    cluster: ControlPlane, specs: dict[str, int], text: str, priority: str | None
) -> None:
    body = make_pod().container("main", **specs)
    if priority is not None:
        body.spec(priorityClassName=priority)
    with pytest.raises(ApiError) as refused:
        create_pod(cluster.api, "default", body.build())
    assert refused.value.message == f'admission webhook "{WEBHOOK}" denied the request: {text}'
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
