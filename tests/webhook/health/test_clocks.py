"""Clocks that were ahead: nothing waits for a time that is still to come (H3, H4)."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from selection_spec.health import ConditionRule, Severity
from tests.builders import DRIVER, GPU
from tests.webhook.health.worlds import (
    NOW,
    POLICY,
    ROW,
    TAINT,
    World,
    condition,
    crashed,
    done,
    node,
    pod,
    rejected,
    verdicts,
)
from webhook.health.cases import Case, Evidence, Mark, Missing, Verdict
from webhook.health.ledger import Eviction, Ledger
from webhook.health.readings import Grade, Source
from webhook.health.records import Record, State, until
from webhook.health.stored import record_of, time_of
from webhook.health.stored_ledger import ledger_of
from webhook.health.subjects import dra_subject, node_subject
from webhook.inventory.times import written

SICK = condition("GPUIsLost")
WELL = condition("GPUIsLost", "False")
DAY = 86_400.0


@pytest.mark.rule("H3", "H9")
def test_what_failed_by_a_clock_that_was_ahead_is_evicted_soon() -> None:
    ahead = World([node("n1", SICK)], [pod("web")], now=NOW + 3600)
    ahead = replace(ahead, policy=replace(POLICY, evict_after_s=3.0))
    now = replace(ahead.after(nodes=[node("n1", SICK, taints=[TAINT])]), now=NOW)
    assert done(now.step()) == []
    assert done(now.after(3.0).step()) == ["evict web"]


@pytest.mark.rule("H3")
def test_observations_of_a_clock_that_was_ahead_do_not_stop_the_next_ones() -> None:
    ahead = World([node("n1", condition("KernelDeadlock"))], now=NOW + 10 * DAY).after()
    now = replace(ahead, now=NOW)
    assert verdicts(now.step()) == {"node n1": "Suspect"}
    assert verdicts(now.observing(2).step()) == {"node n1": "Failed"}


@pytest.mark.rule("H3")
def test_no_time_of_a_record_is_later_than_now() -> None:
    late = NOW + DAY
    case = Case(
        node_subject("n1"),
        Verdict.FAILED,
        evidence=(Evidence(Source.CONDITION, "GPUIsLost", Grade.FATAL, "x", late),),
        since=late,
        looked=late,
        good_since=late,
        failed=late,
        recovered=late,
        mark=Mark.TAINT,
        unmarked=late,
        missing=Missing(1, 0, late),
        withheld=late,
    )
    record = until(Record("uid-n1", (case,), booted=late), NOW)
    assert str(late) not in str(record)
    assert str(record) == str(Record("uid-n1", (case,), booted=late)).replace(str(late), str(NOW))
    assert case.until(late) is case


@pytest.mark.rule("H4", "H5")
def test_no_time_of_a_ledger_is_later_than_now() -> None:
    late = NOW + DAY
    evicted = Eviction("a", "team", late)
    ledger = Ledger((evicted,), {node_subject("n4"): late}, {ROW: late}, {"v100-16gb": late})
    state = State({}, ledger)
    nodes = [node(f"n{number}", SICK if number == 0 else WELL) for number in range(5)]
    world = World(nodes, state=state).after(60.0)
    assert str(late) not in str(world.state.ledger)
    assert world.state.ledger.breakers == {ROW: NOW}
    freed = World(nodes, state=State({}, replace(ledger, breakers={}))).after(60.0)
    assert done(freed.step()) == ["taint n0"]
    assert freed.after(600.0).step().state.ledger.evictions == ()


@pytest.mark.rule("H2", "H10")
def test_what_a_kubelet_dates_ahead_is_believed_while_a_pod_tells_of_it() -> None:
    """Else its node stayed failed until our clock is there."""
    ahead = [rejected(f"r{number}", age=-DAY) for number in range(3)]
    world = World([node("n1")], ahead)
    assert done(world.step()) == ["taint n1"]
    gone = world.after(nodes=[node("n1", taints=[TAINT])], pods=[])
    assert gone.step().state.records["n1"].mishaps == ()
    assert done(gone.observing(4).after(POLICY.recovery_s).step()) == ["untaint n1"]


@pytest.mark.rule("H2")
def test_one_crash_that_is_dated_ahead_stays_one() -> None:
    pods = [
        pod(name, owner=("ReplicaSet", name), containerStatuses=crashed(-age))
        for name, age in (("a", 3600.0), ("b", 7200.0))
    ]
    world = World([node("n1")], pods).observing(3)
    assert len(world.step().state.records["n1"].mishaps) == 2
    assert verdicts(world.step()) == {f"device {GPU}/GPU-1 of node n1": "Suspect"}


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("age", "verdict"), [(-30.0, "Unknown"), (0.0, "Unknown"), (300.0, "Failed"), (-DAY, "Failed")]
)
def test_a_condition_that_is_dated_far_ahead_does_not_stay_young(age: float, verdict: str) -> None:
    rule = ConditionRule("Odd", "True", severity=Severity.FATAL, min_duration_s=300.0)
    policy = replace(POLICY, conditions=(rule,))
    taken = World([node("n1", condition("Odd", age=age))], policy=policy).step()
    assert verdicts(taken) == {"node n1": verdict}


@pytest.mark.rule("H11")
@pytest.mark.parametrize("time", [1e300, -1e300, 253_402_300_800, -2.0, math.inf, math.nan, "1"])
def test_what_no_clock_shows_is_no_time(time: object) -> None:
    forged = {"version": 1, "uid": "u", "cases": [{"verdict": "Failed", "since": time}]}
    assert record_of(json.dumps(forged), "n1") is None
    entry = {"version": 1, "quarantined": {"n1": {"at": time}}, "breakers": {ROW: time}}
    assert ledger_of(json.dumps(entry)) == Ledger()


def test_every_time_that_is_read_can_be_written() -> None:
    assert written(time_of(253_402_300_799)) == "9999-12-31T23:59:59Z"
    assert written(time_of(-1)) == "1969-12-31T23:59:59Z"


@pytest.mark.rule("H4")
def test_a_device_that_was_quarantined_by_a_clock_ahead_makes_room() -> None:
    ghost = dra_subject("n1", DRIVER, "n1", "gpu-0")
    state = State({}, Ledger(quarantined={ghost: NOW + DAY}))
    world = World([node("n1")], state=state).after(61.0)
    assert world.step().state.ledger.quarantined == {}
