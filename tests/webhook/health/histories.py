"""Histories of a little cluster, played step by step and held against the laws of health."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from selection_spec.health import HealthPolicy, Mode
from tests.webhook.health.events import Event, happen
from tests.webhook.health.simulated import (
    ERROR,
    FATAL,
    WARNING,
    WINDOW_S,
    Shape,
    Simulated,
)
from webhook.health.actions import Action, Doing
from webhook.health.budget import quarantine_limit
from webhook.health.cases import Mark, Verdict
from webhook.health.decisions import HeldBack
from webhook.health.fences import Fence, is_tainted, rule_name
from webhook.health.step import Step
from webhook.health.subjects import Subject, node_subject
from webhook.terms import HEALTH_LABEL

POLICY: Final = HealthPolicy(
    mode=Mode.EVICT,
    bad_observations=2,
    good_observations=2,
    crash_window_s=WINDOW_S,
    recovery_s=30.0,
    longest_recovery_s=240.0,
    evictions=3,
    evictions_per_namespace=2,
    eviction_window_s=60.0,
)

_HARMFUL = (Doing.TAINT, Doing.RULE, Doing.EVICT, Doing.REMOVE)

# Long enough for the longest recovery, and for more windows than there are Pods.
_SETTLING = (*(15.0,) * 6, *(61.0,) * 12)
_QUIET_STEPS = 4
# Long enough to recover and to be forgotten.
_HEALING = (*(10.0,) * 4, *(100.0,) * 8)


@dataclass(frozen=True, slots=True)
class History:
    """What a cluster is, and what happens to it."""

    shape: Shape = field(default_factory=Shape)
    policy: HealthPolicy = POLICY
    events: tuple[Event, ...] = ()


Trace = list[tuple[float, tuple[tuple[str, ...], ...]]]
"""When something was done, and what."""


@dataclass
class Play:
    """One history that is played; every step is held against the laws.

    Attributes:
        restarts: Tells of the number of a step whether the process restarts before it.
    """

    history: History
    restarts: Callable[[int], bool] = lambda _: False
    world: Simulated = field(init=False)
    policy: HealthPolicy = field(init=False)
    trace: Trace = field(default_factory=list)
    evictions: list[tuple[float, str]] = field(default_factory=list)
    steps: int = 0

    def __post_init__(self) -> None:
        self.world = Simulated(self.history.shape)
        self.policy = self.history.policy

    def run(self) -> Step:
        """Play the events, and then on until the world has settled."""
        taken = self.step()
        for event in self.history.events:
            for stride in strides(event.wait):
                self.world.now += stride
                taken = self.step()
            self.policy = happen(self.world, self.policy, event, self.steps)
            taken = self.step()
        quiet = 0
        for stride in _SETTLING:
            self.world.now += stride
            taken = self.step()
            quiet = 0 if taken.actions else quiet + 1
        assert quiet >= _QUIET_STEPS, f"still {taken.actions}"
        return taken

    def heal(self) -> None:
        """Let all be well, and time pass until that is believed."""
        world = self.world
        world.sick.clear()
        world.restarting.clear()
        for name, node in world.nodes.items():
            world.nodes[name] = replace(node, ready=True)
            world.conditions[name] = dict.fromkeys((FATAL, ERROR, WARNING), "False")
        self.policy = replace(self.policy, mode=Mode.QUARANTINE, row_modes={})
        for stride in _HEALING:
            world.now += stride
            self.step()

    def step(self) -> Step:
        """Take one step, hold it against the laws, and obey it."""
        world = self.world
        taken = world.step(self.policy, restarts=self.restarts(self.steps))
        self.steps += 1
        for action in taken.actions:
            self._check(action, taken)
        labels = {name: node.labels for name, node in world.nodes.items()}
        before = _marks(world) if taken.actions else set()
        world.obey(taken)
        if taken.actions:
            self.trace.append((world.now, tuple(one.key for one in taken.actions)))
            self._check_budget(taken, Counter(map(self._row, before)))
        for name, rows in world.rows.items():
            is_observed = self.policy.mode_of(rows) is Mode.OBSERVE
            assert not is_observed or world.nodes[name].labels == labels[name]
        return taken

    def _subjects(self) -> Iterator[Subject]:
        for name in self.world.nodes:
            yield node_subject(name)
            for one in self.world.devices(name):
                yield one
                if one.resource:
                    yield replace(one, device="")

    def _check(self, action: Action, taken: Step) -> None:
        subject = action.subject
        is_at_fault = self.world.speaks_against(subject)
        decision = next(one for one in taken.decisions if one.case.subject == subject)
        assert self.policy.mode_of(self.world.rows[subject.node]) is not Mode.OBSERVE
        is_relieved = action.doing is Doing.UNTAINT and self.world.is_kept(subject)
        assert is_relieved or not decision.case.is_blind
        if action.doing in _HARMFUL:
            assert decision.case.held is Verdict.FAILED
            assert is_at_fault, f"{action} is about something that nobody sees to be at fault"
            assert not taken.breakers.stops(self.world.rows[subject.node])
        else:
            assert is_relieved or not is_at_fault
        if action.doing in (Doing.EVICT, Doing.REMOVE):
            assert self.policy.mode_of(self.world.rows[subject.node]) is Mode.EVICT
            assert self.world.is_fenced(subject)
        if action.doing is Doing.UNTAINT:
            needing = [
                one.case.subject
                for one in taken.decisions
                if one.case.subject.node == subject.node
                and one.fence is not None
                and one.fence.by is Fence.TAINT
                and one.case.mark is Mark.TAINT
                and not one.case.is_waived
            ]
            assert needing == [], "another subject needs this taint"

    def _check_budget(self, taken: Step, counted: Counter[tuple[str, bool]]) -> None:
        """Count what was really done, not what the ledger says of it (H4)."""
        now, policy, world = self.world.now, self.policy, self.world
        for action in taken.actions:
            if action.doing is Doing.EVICT and action.pod is not None:
                self.evictions.append((now, action.pod.namespace))
        if any(action.doing is Doing.EVICT for action in taken.actions):
            recent = [name for at, name in self.evictions if now - policy.eviction_window_s < at]
            assert len(recent) <= policy.evictions
            assert max(Counter(recent).values()) <= policy.evictions_per_namespace
        grown = Counter(map(self._row, _marks(world))) - counted
        for row, is_node in grown:
            nodes = sum(row in rows for rows in world.rows.values())
            size = nodes if is_node else nodes * world.shape.devices
            there = counted[row, is_node] + grown[row, is_node]
            assert there <= quarantine_limit(size, policy.quarantine_percent)

    def _row(self, mark: Subject) -> tuple[str, bool]:
        return self.world.rows[mark.node][0], mark.is_node


def check_failing(play: Play, taken: Step) -> None:
    """Whatever keeps failing is out of reach for new Pods, unless a rule says why not."""
    world = play.world
    for one in taken.decisions:
        subject = one.case.subject
        if not world.speaks_against(subject):
            continue
        if one.mode is Mode.OBSERVE or world.is_fenced(subject):
            continue
        rows = world.rows[subject.node]
        match one.held_back:
            case HeldBack.BREAKER:
                assert taken.breakers.stops(rows)
            case HeldBack.WAIVED:
                assert {subject, node_subject(subject.node)} & world.unmarked
            case HeldBack.ROW:
                is_node = one.fence is not None and one.fence.by is Fence.TAINT
                marks = [mark for mark in _marks(world) if play._row(mark) == (rows[0], is_node)]
                nodes = sum(rows == others for others in world.rows.values())
                size = nodes if is_node else nodes * world.shape.devices
                assert len(marks) >= quarantine_limit(size, play.policy.quarantine_percent)
            case _:
                raise AssertionError(f"{subject} keeps failing and is not fenced: {one}")
    judged = {one.case.subject for one in taken.decisions}
    assert {one for one in play._subjects() if world.speaks_against(one)} <= judged


def check_free(play: Play) -> None:
    """Nothing of ours is left where all has been well for long."""
    world = play.world
    assert _marks(world) == set()
    assert [node.name for node in world.nodes.values() if HEALTH_LABEL in node.labels] == []
    assert world.state.records == {}
    assert [node.verdicts for node in world.nodes.values() if node.verdicts] == []
    ledger = world.state.ledger
    assert ledger.quarantined == {}
    assert ledger.evictions == ()


def _marks(world: Simulated) -> set[Subject]:
    tainted = {node_subject(node.name) for node in world.nodes.values() if is_tainted(node)}
    ruled = {
        device
        for name in world.nodes
        for device in world.devices(name)
        if rule_name(device) in world.rules
    }
    return tainted | ruled


def strides(wait: int) -> Iterator[float]:
    """Yield the seconds between the steps of a wait: often at first, then now and then."""
    for stride in (10, 10, 10, 30, 60):
        if wait > stride:
            yield float(stride)
            wait -= stride
    if wait:
        yield float(wait)
