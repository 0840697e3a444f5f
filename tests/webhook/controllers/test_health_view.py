"""Which Jobs are looked up, how often, and in which order (H9)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import pytest

from selection_spec.health import Mode
from tests.webhook.controllers.worlds import PlainWorld
from tests.webhook.health.worlds import (
    NOW,
    POLICY,
    TAINT,
    World,
    condition,
    done,
    job,
    node,
    pod,
    rejected,
)
from webhook.controllers.health_view import HealthView
from webhook.health.ledger import Ledger
from webhook.health.records import State
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError, UnreachableError

SICK = condition("GPUIsLost")


class Jobs:
    """An API server that has whatever Job is asked for.

    Attributes:
        asked: The names of those that were asked for.
        hangs: Whether it does not answer.
        has_none: Whether it has none.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.hangs = self.has_none = False

    def get(self, path: str, **_: str) -> dict[str, Any]:
        name = path.rpartition("/")[2]
        self.asked.append(name)
        if self.hangs:
            raise UnreachableError(f"GET {path}: no answer")
        if self.has_none:
            raise ApiError(f"GET {path}", 404, "NotFound", "not found")
        return job(name, backoffLimit=1)


def view(jobs: Jobs) -> HealthView:
    return HealthView(cast("Cluster", jobs), PlainWorld())


def of_jobs(count: int, *, tainted: bool = True) -> World:
    """A sick node with a Pod of each Job."""
    pods = [pod(f"p{number}", owner=("Job", f"job-{number:03}")) for number in range(count)]
    return World([node("n1", SICK, taints=[TAINT] if tainted else [])], pods)


def look(found: HealthView, world: World, times: Iterable[float]) -> set[str]:
    taken, observed = world.step(), world.observed()
    return {uid for steady in times for uid in found.jobs(taken.decisions, observed, steady)}


@pytest.mark.rule("H9")
def test_of_many_jobs_every_one_has_its_turn() -> None:
    jobs = Jobs()
    known = look(view(jobs), of_jobs(400), range(8))
    assert len(known) == 400
    assert jobs.asked == [f"job-{number:03}" for number in range(400)]
    jobs.asked.clear()
    found = view(jobs)
    look(found, of_jobs(400), range(80))
    assert jobs.asked == [f"job-{number:03}" for number in range(400)] * 10


@pytest.mark.rule("H9")
def test_a_job_of_which_a_pod_has_gone_is_looked_at_first() -> None:
    jobs, world = Jobs(), of_jobs(200)
    found = view(jobs)
    look(found, world, [0.0])
    found.forget("uid-job-007")
    jobs.asked.clear()
    look(found, world, [1.0])
    assert jobs.asked[0] == "job-007"


@pytest.mark.rule("H6", "H9")
@pytest.mark.parametrize(("mode", "times"), [(Mode.EVICT, 20), (Mode.OBSERVE, 2)])
def test_where_nobody_is_evicted_jobs_are_looked_at_rarely(mode: Mode, times: int) -> None:
    jobs = Jobs()
    world = replace(of_jobs(1), policy=replace(POLICY, mode=mode))
    look(view(jobs), world, range(120))
    assert len(jobs.asked) == times


@pytest.mark.rule("H5")
def test_under_a_breaker_no_job_is_looked_at() -> None:
    jobs = Jobs()
    state = State({}, Ledger(breakers={"a100-80gb": NOW}))
    assert look(view(jobs), replace(of_jobs(3), state=state), range(60)) == set()
    assert jobs.asked == []


@pytest.mark.rule("H9")
def test_jobs_of_dead_pods_are_looked_at_too() -> None:
    jobs = Jobs()
    world = World(
        [node("n1", SICK, taints=[TAINT])], [rejected("dead", owner=("Job", "fit"), age=10.0)]
    )
    assert look(view(jobs), world, [0.0]) == {"uid-fit"}
    assert jobs.asked == ["fit"]
    assert done(world.step()) == []


@pytest.mark.rule("H9")
def test_one_that_does_not_answer_keeps_the_loop_from_no_other_run() -> None:
    jobs, world = Jobs(), of_jobs(3)
    jobs.hangs = True
    found = view(jobs)
    assert look(found, world, [0.0]) == set()
    assert jobs.asked == ["job-000"]
    jobs.hangs = False
    assert look(found, world, [1.0]) == {"uid-job-001", "uid-job-002"}
    assert "uid-job-000" in look(found, world, [61.0])


@pytest.mark.rule("H9")
def test_a_job_that_is_gone_is_asked_for_once_a_minute() -> None:
    jobs = Jobs()
    jobs.has_none = True
    assert look(view(jobs), of_jobs(1), range(120)) == set()
    assert len(jobs.asked) == 2
