"""Laws of health: whatever happens to a cluster, and whenever the process restarts (H3 to H10)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from selection_spec.health import HealthPolicy, Mode
from tests.webhook.health.events import WHAT, Event, resume
from tests.webhook.health.histories import POLICY, History, Play, check_failing, check_free
from tests.webhook.health.simulated import Shape

# What goes wrong happens more often than what mends it.
_HOW = st.integers(0, 11)
_EVENTS = st.builds(
    Event,
    what=st.sampled_from((*WHAT, "condition", "device", "device", "unmark")),
    where=st.integers(0, 3),
    how=st.one_of(_HOW, st.integers(0, 1)),
    wait=st.sampled_from((0, 1, 10, 40, 200)),
)


@st.composite
def policies(draw: st.DrawFn) -> HealthPolicy:
    """Policies of which some have a small budget."""
    evictions = draw(st.integers(0, 3))
    return replace(
        POLICY,
        mode=draw(st.sampled_from((*(Mode.EVICT,) * 4, Mode.QUARANTINE, Mode.OBSERVE))),
        bad_observations=draw(st.integers(1, 3)),
        good_observations=draw(st.integers(1, 3)),
        quarantine_percent=draw(st.sampled_from((1, 50, 100))),
        evictions=evictions,
        evictions_per_namespace=draw(st.integers(0, evictions)),
        evict_after_s=draw(st.sampled_from((0.0, 3.0))),
    )


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Clusters of one or two rows."""
    plugin_nodes = draw(st.integers(0, 4))
    return Shape(
        plugin_nodes=plugin_nodes,
        dra_nodes=draw(st.integers(0 if plugin_nodes else 1, 3)),
        devices=draw(st.sampled_from((1, 2, 3))),
        serves_rules=draw(st.booleans()),
        names_devices=draw(st.booleans()),
        on_failure=tuple(
            draw(st.lists(st.sampled_from(("", "", "ignore", "after=1m")), min_size=1, max_size=4))
        ),
    )


histories = st.builds(
    History,
    shape=shapes(),
    policy=policies(),
    events=st.lists(_EVENTS, min_size=2, max_size=10).map(tuple),
)


# A history takes some dozen steps: in a profile's number of examples, and a third of it elsewhere.
_FEWER = settings(max_examples=max(1, settings().max_examples // 3))


@pytest.mark.rule("H3", "H4", "H5", "H6", "H7", "H8", "H10")
@given(history=histories)
def test_whatever_happens_the_laws_hold(history: History) -> None:
    """Every step is held against the laws; in the end what fails is fenced, what is well free."""
    play = Play(history)
    taken = play.run()
    check_failing(play, taken)
    resume(play.world)
    play.heal()
    check_free(play)
    event(f"{len(play.trace)} steps with actions")


@pytest.mark.rule("H3", "H4", "H10", "H11")
@_FEWER
@given(
    history=histories, restarts=st.sets(st.integers(0, 80), max_size=20) | st.just({*range(200)})
)
def test_a_restart_changes_nothing(history: History, restarts: set[int]) -> None:
    one, other = Play(history), Play(history, restarts.__contains__)
    one.run()
    other.run()
    assert one.trace == other.trace


@pytest.mark.rule("H6")
@_FEWER
@given(history=histories)
def test_who_only_observes_does_nothing(history: History) -> None:
    observing = replace(
        history,
        policy=replace(history.policy, mode=Mode.OBSERVE),
        events=tuple(one for one in history.events if one.what != "mode"),
    )
    play = Play(observing)
    play.run()
    assert play.trace == []
    assert not any(node.labels or node.taints for node in play.world.nodes.values())
    assert not play.world.rules
