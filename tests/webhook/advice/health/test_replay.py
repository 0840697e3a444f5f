"""Time goes on between the events of a history while anything is not healthy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from selection_spec.health import HealthPolicy, Mode
from tests.builders import GPU, pfn_table
from tests.webhook.advice.health.ward import NOW, node, pod
from webhook.advice.health.replay import Judgement, Replay
from webhook.advice.health.replica import Change, Event
from webhook.advice.health.timeline import Timeline, What

EVICT = HealthPolicy(mode=Mode.EVICT)


def at(second: float, name: str = "n1", *, is_lost: bool = False, ready: str = "True") -> Event:
    bad = {"GPUIsLost": "True" if is_lost else "False"}
    content = node(name, bad=bad, ready=ready, since="2026-06-01T12:00:00Z")
    return Event(NOW + second, Change.MODIFIED, "Node", content)


def replay(*events: Event, policy: HealthPolicy = EVICT) -> list[Judgement]:
    return list(Replay(pfn_table(), policy, has_rules=True).judgements(events))


def added(name: str, **fields: Any) -> Event:  # noqa: ANN401
    return Event(NOW, Change.ADDED, "Pod", pod(name, "n1", **fields))


def told(*events: Event, policy: HealthPolicy = EVICT) -> list[str]:
    timeline = Timeline()
    for judgement in replay(*events, policy=policy):
        timeline.add(judgement)
    return [f"+{one.at - NOW:g} {one.what} {one.text}" for one in timeline.entries]


def test_a_healthy_history_is_looked_at_once_an_event() -> None:
    seconds = [one.moment.now - NOW for one in replay(at(0), at(500), at(9000))]
    assert seconds == [0, 500, 9000]


def test_events_of_one_moment_are_judged_together() -> None:
    found = replay(at(0), at(0, "n2"), at(0, "n3"))
    assert len(found) == 1
    assert len(found[0].moment.observed.nodes) == 3


@pytest.mark.rule("H3")
def test_what_has_failed_is_looked_at_every_few_seconds_for_an_hour() -> None:
    seconds = [one.moment.now - NOW for one in replay(at(0, is_lost=True))]
    assert seconds[0] == 0
    assert 3_590 < seconds[-1] <= 3_600
    assert max(later - one for one, later in pairwise(seconds)) <= 5


@pytest.mark.rule("H3")
def test_after_a_recovery_it_ends() -> None:
    seconds = [one.moment.now - NOW for one in replay(at(0, is_lost=True), at(60))]
    assert 360 <= seconds[-1] < 400


@pytest.mark.rule("H7", "H10")
def test_a_node_that_recovers_is_let_go() -> None:
    said = told(at(0, is_lost=True), at(60))
    assert said[:2] == [
        "+0 verdict node n1 is Failed: condition GPUIsLost is True (Seen)",
        "+0 done taint node n1 gpuspec.preferred.jp/unhealthy:NoSchedule",
    ]
    assert [one.partition(" ")[2] for one in said[2:]] == [
        "verdict node n1 is Healthy again",
        "done take our taint off node n1",
    ]


@pytest.mark.rule("H3")
def test_a_node_that_is_not_ready_is_unknown_and_keeps_its_taint() -> None:
    said = told(at(0, is_lost=True), at(60, is_lost=True, ready="Unknown"))
    assert said[2:] == [
        "+60 verdict node n1 is Unknown: node n1 is not Ready, so nothing that it says is new"
    ]


@pytest.mark.rule("H6")
def test_what_would_be_done_is_told_once_while_it_stays_so() -> None:
    said = told(at(0, is_lost=True), policy=HealthPolicy())
    assert said == [
        "+0 verdict node n1 is Failed: condition GPUIsLost is True (Seen)",
        "+0 would taint node n1 gpuspec.preferred.jp/unhealthy:NoSchedule",
    ]


@pytest.mark.rule("H3", "H6")
def test_a_relapse_is_told_again() -> None:
    said = told(at(0, is_lost=True), at(60), at(1000, is_lost=True), policy=HealthPolicy())
    assert sum(f" {What.WOULD} taint node n1" in one for one in said) == 2


@pytest.mark.rule("H2")
def test_a_plugin_that_restarts_is_told_only_if_it_takes_long() -> None:
    down = node("n1", allocatable=0, since="2026-06-01T12:00:00Z")
    events = at(0), Event(NOW + 10, Change.MODIFIED, "Node", down)
    assert told(*events, at(60)) == []
    (said,) = told(*events)
    seconds = float(said.partition(" ")[0])
    assert 370 <= seconds < 380
    assert "some nvidia.com/gpu of node n1 is Unknown: 0 of 8 nvidia.com/gpu are" in said


@pytest.mark.rule("H4")
def test_evictions_that_are_spent_wait_for_the_window() -> None:
    """With one eviction a minute one Pod after the other goes."""
    policy = HealthPolicy(
        mode=Mode.EVICT, evictions=1, evictions_per_namespace=1, eviction_window_s=60
    )
    pods = [added(f"p{number}") for number in range(3)]
    gone = Event(NOW + 200, Change.DELETED, "Node", node("n1"))
    said = told(*pods, at(0, is_lost=True), gone, policy=policy)
    acts = [one.partition(" done evict ") for one in said if " done evict " in one]
    assert [pod for _, _, pod in acts] == ["Pod ml/p0", "Pod ml/p1", "Pod ml/p2"]
    first, second, third = (float(when[1:]) for when, _, _ in acts)
    assert 60 <= second - first < 70
    assert 60 <= third - second < 70
    assert "+3 waits node n1: evictions wait: the window's are spent" in said


@pytest.mark.rule("H8")
def test_nobody_is_evicted_where_the_holder_cannot_be_told() -> None:
    withheld = node("n1", allocatable=7)
    events = added("p"), at(0), Event(NOW + 10, Change.MODIFIED, "Node", withheld)
    assert told(*events, at(60))[:3] == [
        f"+10 verdict some {GPU} of node n1 is Suspect: 7 of 8 {GPU} are allocatable",
        f"+30 verdict some {GPU} of node n1 is Failed: 7 of 8 {GPU} are allocatable",
        f"+30 waits some {GPU} of node n1: nobody is evicted: it cannot be told which Pod holds it",
    ]


@pytest.mark.rule("H2")
def test_a_program_that_crashes_everywhere_is_noted_once() -> None:
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": "2026-06-01T11:59:58Z"}
    crashed = []
    for number in range(3):
        resources = [{"resourceID": f"GPU-{number}", "health": "Healthy"}]
        told_of = [{"name": GPU, "resources": resources}]
        status = {"lastState": {"terminated": ended}, "allocatedResourcesStatus": told_of}
        crashed.append(added(f"p{number}", containerStatuses=[status]))
    assert told(at(0), *crashed, at(60)) == [
        "+0 note ml/ReplicaSet/train crashed on 3 devices, so the program is to blame"
    ]
