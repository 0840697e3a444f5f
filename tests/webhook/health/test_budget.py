"""How much may be done, and when nothing is (H4, H5, H6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from selection_spec.health import HealthPolicy, Mode
from tests.builders import Json
from tests.webhook.health.worlds import (
    DRA_ROW,
    NOW,
    OTHER_ROW,
    POLICY,
    ROW,
    TAINT,
    World,
    about,
    condition,
    device_slice,
    device_taint,
    done,
    dra_node,
    node,
    pod,
    rejected,
    told,
)
from webhook.health.budget import Spent, quarantine_limit
from webhook.health.decisions import HeldBack
from webhook.health.ledger import ASKED, Eviction, Ledger
from webhook.health.records import State
from webhook.health.subjects import node_subject

SICK = condition("GPUIsLost")


def fleet(sick: int, well: int, *, row: str = ROW, name: str = "n") -> list[Json]:
    """Nodes of a row of which the first ones are sick."""
    ill = [node(f"{name}{number}", SICK, row=row) for number in range(sick)]
    return ill + [node(f"{name}{sick + number}", row=row) for number in range(well)]


def held(evictions: int, world: World, namespace: str = "other", age: float = 0.0) -> World:
    """A world in which so many evictions were done already."""
    those = tuple(Eviction(f"gone-{n}", namespace, NOW - age) for n in range(evictions))
    return replace(world, state=State(ledger=Ledger(evictions=those)))


@pytest.mark.rule("H4")
@pytest.mark.parametrize(
    ("size", "percent", "limit"), [(0, 20, 1), (1, 20, 1), (4, 20, 1), (10, 20, 2), (9, 100, 9)]
)
def test_a_share_of_a_row_and_at_least_one(size: int, percent: int, limit: int) -> None:
    assert quarantine_limit(size, percent) == limit


@pytest.mark.rule("H4")
def test_a_rows_share_that_is_spent_holds_that_row_back_and_no_other() -> None:
    nodes = [*fleet(2, 7), *fleet(1, 7, row=OTHER_ROW, name="v")]
    taken = World(nodes).step()
    assert done(taken) == ["taint n0", "taint v0"]
    assert about(taken, "node n1").held_back is HeldBack.ROW
    assert about(taken, "node n1").held_back == (
        "the share of its row that may be quarantined is spent"
    )


@pytest.mark.rule("H4")
def test_a_quarantine_that_ends_makes_room() -> None:
    world = World(fleet(2, 7)).after()
    freed = [node("n0", condition("GPUIsLost", "False"), taints=[TAINT]), *world.nodes[1:]]
    world = replace(world, nodes=freed)
    for _ in range(4):
        world = world.after(200.0)
    assert done(world.step()) == ["untaint n0"]
    clean = [node("n0", condition("GPUIsLost", "False")), *world.nodes[1:]]
    assert done(world.after(nodes=clean).after().step()) == ["taint n1"]


@pytest.mark.rule("H4")
def test_devices_are_counted_apart_from_nodes() -> None:
    slices = [device_slice(f"h{n}", 2, gpu_0=device_taint("NoSchedule")) for n in range(2)]
    nodes = [dra_node("h0", SICK), dra_node("h1"), *(dra_node(f"h{n}") for n in range(2, 5))]
    taken = World(nodes, slices=slices, rules=[]).step()
    assert done(taken) == ["taint h0", "rule gpu-0 None"]
    assert about(taken, "device gpu.nvidia.com/h1/gpu-0 of node h1").held_back is HeldBack.ROW


@pytest.mark.rule("H4")
@pytest.mark.parametrize(
    ("evictions", "namespace", "age", "gone", "spent"),
    [
        (9, "other", 0.0, 1, Spent.WINDOW),
        (10, "other", 0.0, 0, Spent.WINDOW),
        (10, "other", 599.0, 0, Spent.WINDOW),
        (10, "other", 600.0, 2, None),
        (7, "team", 0.0, 1, Spent.NAMESPACE),
        (8, "team", 0.0, 0, Spent.NAMESPACE),
        (8, "other", 0.0, 2, None),
    ],
)
def test_evictions_of_a_window_and_of_a_namespace(
    evictions: int, namespace: str, age: float, gone: int, spent: Spent | None
) -> None:
    sick = node("n1", SICK, taints=[TAINT])
    taken = held(evictions, World([sick], [pod("p1"), pod("p2")]), namespace, age).step()
    assert done(taken) == ["evict p1", "evict p2"][:gone]
    assert about(taken, "node n1").spent is spent


@pytest.mark.rule("H4")
def test_who_waits_for_a_namespace_holds_no_other_one_up() -> None:
    sick = node("n1", SICK, taints=[TAINT])
    pods = [pod("p1"), pod("p2", namespace="other")]
    assert done(held(8, World([sick], pods), "team").step()) == ["evict p2"]


@pytest.mark.rule("H4")
def test_an_eviction_that_is_tried_again_is_counted_once() -> None:
    world = held(9, World([node("n1", SICK, taints=[TAINT])], [pod("p1")])).after(1.0)
    assert done(world.step()) == ["evict p1"]
    assert len(world.step().state.ledger.evictions) == 10


@pytest.mark.rule("H4")
def test_removing_rejected_pods_counts_against_nothing() -> None:
    dead = [rejected(f"p{number}") for number in range(12)]
    taken = held(10, World([node(taints=[TAINT])], dead)).step()
    assert done(taken) == [f"remove p{number}" for number in range(12)]
    assert len(taken.state.ledger.evictions) == 10


@pytest.mark.rule("H4")
def test_what_failed_first_comes_first() -> None:
    first = World([node("n5", SICK), node("n1")]).after(400.0, nodes=[node("n5", SICK), node("n1")])
    only = replace(first.policy, evictions=1)
    nodes = [node("n5", SICK, taints=[TAINT]), node("n1", SICK, taints=[TAINT])]
    pods = [pod("p1", "n1"), pod("p5", "n5")]
    assert done(replace(first, nodes=nodes, pods=pods, policy=only).step()) == ["evict p5"]


@pytest.mark.rule("H5")
@pytest.mark.parametrize(
    ("sick", "well", "stops"),
    [(2, 0, False), (3, 0, True), (3, 3, True), (3, 4, False), (4, 4, True)],
)
def test_too_many_nodes_at_once_stop_their_row(sick: int, well: int, *, stops: bool) -> None:
    taken = World(fleet(sick, well)).step()
    assert taken.breakers.stops([ROW]) is stops
    assert bool(done(taken)) is not stops
    if stops:
        assert {one.held_back for one in taken.decisions} == {HeldBack.BREAKER}
        assert taken.state.ledger.breakers == {ROW: NOW}


@pytest.mark.rule("H5")
@pytest.mark.parametrize(("apart", "stops"), [(100.0, True), (150.0, False)])
def test_at_once_is_within_five_minutes(apart: float, *, stops: bool) -> None:
    world = World(fleet(1, 2)).after(apart, nodes=fleet(2, 1)).after(apart, nodes=fleet(3, 0))
    assert world.step().breakers.stops([ROW]) is stops


@pytest.mark.rule("H5")
@pytest.mark.parametrize(
    ("nodes", "stops"), [(["n1"] * 3, False), (["n1", "n1", "n2"], True), (["n1", "n2"], False)]
)
def test_devices_stop_their_row_on_two_nodes_only(nodes: list[str], *, stops: bool) -> None:
    pods = [
        pod(f"p{number}", name, containerStatuses=told((f"GPU-{number}", "Unhealthy")))
        for number, name in enumerate(nodes)
    ]
    world = World([node("n1", gpus=3), node("n2", gpus=3)], pods)
    assert world.observing(2).step().breakers.stops([ROW]) is stops


@pytest.mark.rule("H5", "H1")
def test_a_device_that_is_withheld_and_named_is_one_device() -> None:
    """Two dead GPUs on two nodes are not four."""
    pods = [
        pod(f"p{n}", f"n{n}", containerStatuses=told((f"GPU-{n}", "Unhealthy"))) for n in (1, 2)
    ]
    world = World([node(f"n{n}", gpus=3, allocatable=2) for n in (1, 2)], pods).observing(2)
    assert len(world.step().decisions) == 4
    assert not world.step().breakers.stops([ROW])


@pytest.mark.rule("H5")
def test_two_rows_that_stop_stop_everything() -> None:
    storm = [*fleet(3, 0), *fleet(3, 0, row=OTHER_ROW, name="v")]
    third = dra_node("h1", SICK)
    taken = World([*storm, third]).step()
    assert taken.breakers.stops_all
    assert done(taken) == []
    assert done(World([*fleet(3, 0), third]).step()) == ["taint h1"]


@pytest.mark.rule("H5")
def test_a_row_is_stopped_until_a_person_resumes() -> None:
    world = World(fleet(3, 0)).after()
    well = [node(f"n{number}", condition("GPUIsLost", "False")) for number in range(3)]
    later = replace(world, nodes=well, now=world.now + 1e6).after()
    assert later.step().breakers.stops([ROW])
    resumed = replace(later.state, ledger=later.state.ledger.resume(frozenset({ROW})))
    again = replace(later, state=resumed)
    assert again.step().breakers.rows == {}
    assert again.step().state.ledger.resumed == {ROW: later.now}, "by the controller's clock"


@pytest.mark.rule("H5")
def test_what_failed_before_a_person_resumed_does_not_stop_the_row_again() -> None:
    world = World(fleet(3, 0)).after()
    ledger = world.state.ledger
    resumed = replace(world, state=replace(world.state, ledger=ledger.resume(None)))
    assert done(resumed.step()) == ["taint n0"]
    assert resumed.step().breakers.rows == {}


@pytest.mark.rule("H5")
def test_resuming_what_is_not_stopped_changes_nothing() -> None:
    ledger = Ledger(breakers={ROW: NOW})
    assert ledger.resume(frozenset({OTHER_ROW})) == ledger
    assert ledger.resume(None) == Ledger(resumed={ROW: ASKED})
    assert ledger.resume(None).recent(NOW + 1, 600.0) == Ledger(resumed={ROW: NOW + 1})


@pytest.mark.rule("H6")
@pytest.mark.parametrize(
    ("mode", "actions"),
    [
        (Mode.OBSERVE, []),
        (Mode.QUARANTINE, ["taint n1"]),
        (Mode.EVICT, ["taint n1"]),
    ],
)
def test_a_mode_says_how_far_to_go(mode: Mode, actions: list[str]) -> None:
    world = World([node("n1", SICK)], [pod()], policy=replace(POLICY, mode=mode))
    assert done(world.step()) == actions
    placed = replace(world.after(), nodes=[node("n1", SICK, taints=[TAINT])])
    assert done(placed.step()) == (["evict train"] if mode is Mode.EVICT else [])


@pytest.mark.rule("H6")
def test_observe_says_what_it_would_do_within_the_budget() -> None:
    policy = replace(POLICY, mode=Mode.OBSERVE, evictions=1)
    world = World(fleet(2, 7), [pod("p1", "n0"), pod("p2", "n0"), pod("p3", "n1")], policy=policy)
    taken = world.step()
    assert done(taken) == []
    said = [one.doing.value for one in about(taken, "node n0").actions]
    assert said == ["taint", "evict"]
    assert about(taken, "node n0").spent is Spent.WINDOW
    assert about(taken, "node n1").held_back is HeldBack.ROW
    assert taken.state.ledger == Ledger()
    assert not any(record.label for record in taken.state.records.values())


@pytest.mark.rule("H6")
def test_what_is_only_observed_takes_nothing_from_what_is_done() -> None:
    policy = replace(POLICY, row_modes={ROW: Mode.OBSERVE}, evictions=1)
    nodes = [node("n0", SICK, taints=[TAINT]), node("v0", SICK, row=OTHER_ROW, taints=[TAINT])]
    world = World(nodes, [pod("p1", "n0"), pod("p2", "v0")], policy=policy)
    assert done(world.step()) == ["evict p2"]


@pytest.mark.rule("H6")
@pytest.mark.parametrize(
    ("modes", "rows", "mode"),
    [
        ({}, (ROW,), Mode.EVICT),
        ({ROW: Mode.OBSERVE}, (ROW,), Mode.OBSERVE),
        ({ROW: Mode.QUARANTINE}, (ROW, OTHER_ROW), Mode.QUARANTINE),
        ({ROW: Mode.QUARANTINE, DRA_ROW: Mode.OBSERVE}, (ROW, DRA_ROW), Mode.OBSERVE),
        ({}, (), Mode.OBSERVE),
    ],
)
def test_of_several_rows_the_most_cautious_mode(
    modes: dict[str, Mode], rows: tuple[str, ...], mode: Mode
) -> None:
    assert HealthPolicy(mode=Mode.EVICT, row_modes=modes).mode_of(rows) is mode


@pytest.mark.rule("H6")
def test_a_node_of_no_row_is_not_even_looked_at() -> None:
    assert World([node("n1", SICK, row="unknown")]).step().decisions == ()


@pytest.mark.rule("H4")
def test_the_ledger_counts_a_mark_that_it_does_not_know() -> None:
    """It was lost, and the node's own annotation was not."""
    world = World(fleet(1, 4)).after()
    lost = replace(world, state=replace(world.state, ledger=Ledger()))
    lost = replace(
        lost, nodes=[node("n0", SICK, taints=[TAINT]), node("n1", SICK), *lost.nodes[2:]]
    )
    assert done(lost.step()) == []
    assert about(lost.step(), "node n1").held_back is HeldBack.ROW


@pytest.mark.rule("H4")
@pytest.mark.parametrize(("age", "is_counted"), [(59.0, True), (60.0, False)])
def test_a_quarantine_that_was_decided_counts_until_it_had_to_be_seen(
    age: float, *, is_counted: bool
) -> None:
    """A process may die after it wrote the ledger and before it did anything."""
    ledger = Ledger(quarantined={node_subject("n1"): NOW - age})
    taken = World(fleet(1, 4), state=State(ledger=ledger)).step()
    assert done(taken) == ([] if is_counted else ["taint n0"])


@pytest.mark.rule("H4")
def test_a_taint_of_ours_counts_for_as_long_as_it_is_there() -> None:
    """The node's own annotation was lost."""
    ledger = Ledger(quarantined={node_subject("n1"): NOW - 1e6})
    nodes = [node("n0", SICK), node("n1", taints=[TAINT]), *fleet(0, 3, name="m")]
    assert done(World(nodes, state=State(ledger=ledger)).step()) == []


@pytest.mark.rule("H6")
def test_observe_places_no_rule() -> None:
    policy = replace(POLICY, mode=Mode.OBSERVE)
    sick = device_slice("h1", 4, gpu_1=device_taint("NoSchedule"))
    taken = World([dra_node()], slices=[sick], rules=[], policy=policy).after().step()
    assert done(taken) == []
    assert [one.doing.value for one in taken.decisions[0].actions] == ["rule"]
