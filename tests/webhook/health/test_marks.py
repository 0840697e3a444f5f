"""Our marks: who may take them away, and what then (H10)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from selection_spec.health import Mode
from tests.webhook.health.test_fences import our_rule
from tests.webhook.health.worlds import (
    POLICY,
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
)
from webhook.health.decisions import HeldBack
from webhook.terms import HEALTH_LABEL

SICK = condition("GPUIsLost")
WELL = condition("GPUIsLost", "False")
LABEL = {HEALTH_LABEL: "suspect"}


def quarantined() -> World:
    """A node that has failed, and whose taint and label were seen."""
    there = [node("n1", SICK, taints=[TAINT], labels=LABEL)]
    return World([node("n1", SICK)], [pod(owner=None)]).after(nodes=there).after()


def recovered(world: World) -> World:
    """The same once its node has been well for long."""
    world = replace(world, nodes=[node("n1", WELL, taints=[TAINT], labels=LABEL)])
    for _ in range(4):
        world = world.after(150.0)
    return world


@pytest.mark.rule("H10")
def test_a_healthy_node_is_freed() -> None:
    world = recovered(quarantined())
    assert done(world.step()) == ["untaint n1"]
    assert not world.step().state.records["n1"].label
    free = world.after(nodes=[node("n1", WELL)])
    assert done(free.step()) == []
    assert about(free.after().step(), "node n1").case.mark == ""


@pytest.mark.rule("H10")
def test_a_taint_that_a_person_removed_is_not_placed_again() -> None:
    removed = replace(quarantined(), nodes=[node("n1", SICK)])
    taken = removed.step()
    assert done(taken) == []
    assert about(taken, "node n1").held_back is HeldBack.WAIVED
    assert done(removed.observing(20).step()) == []


@pytest.mark.rule("H10")
def test_new_evidence_ends_a_persons_word() -> None:
    removed = replace(quarantined(), nodes=[node("n1", SICK)]).after()
    more = replace(removed, nodes=[node("n1", SICK, condition("DStateProcess"))])
    assert done(more.step()) == ["taint n1"]


@pytest.mark.rule("H10")
def test_the_same_evidence_in_other_words_is_not_new() -> None:
    removed = replace(quarantined(), nodes=[node("n1", SICK)]).after()
    said = condition("GPUIsLost", reason="AnotherReason")
    assert done(replace(removed, nodes=[node("n1", said)]).step()) == []


@pytest.mark.rule("H10")
def test_a_taint_that_never_came_about_is_placed_again() -> None:
    world = World([node("n1", SICK)])
    assert done(world.observing(5).step()) == ["taint n1"]


@pytest.mark.rule("H10")
def test_a_node_that_fails_again_just_as_it_is_freed_is_tainted_again() -> None:
    """That its taint is gone was our doing, and no person's."""
    world = recovered(quarantined())
    assert done(world.step()) == ["untaint n1"]
    relapsed = world.after(nodes=[node("n1", SICK)])
    assert done(relapsed.step()) == ["taint n1"]


@pytest.mark.rule("H10")
def test_a_taint_that_is_still_seen_when_the_node_fails_again_was_taken_back_by_us() -> None:
    """What is seen is a moment old: it is placed again, and that it goes was no person's doing."""
    freed = recovered(quarantined()).after(1.0)
    relapsed = replace(freed, nodes=[node("n1", SICK, taints=[TAINT], labels=LABEL)])
    assert done(relapsed.step()) == ["taint n1"]
    gone = relapsed.after(1.0, nodes=[node("n1", SICK)])
    assert done(gone.step()) == ["taint n1"]
    placed = gone.after(1.0, nodes=[node("n1", SICK, taints=[TAINT])]).after(20.0)
    assert done(placed.after(nodes=[node("n1", SICK)]).step()) == []


@pytest.mark.rule("H10")
def test_a_rule_that_a_person_removed_is_not_placed_again() -> None:
    sick = device_slice(gpu_1=device_taint("NoSchedule"))
    world = World([dra_node()], slices=[sick], rules=[]).after(rules=[our_rule("None")])
    removed = world.after(rules=[])
    assert done(removed.step()) == []
    assert done(removed.observing(9).step()) == []


@pytest.mark.rule("H10")
def test_a_rule_is_removed_when_its_device_is_healthy() -> None:
    sick = device_slice(gpu_1=device_taint("NoSchedule"))
    world = World([dra_node()], slices=[sick], rules=[]).after(rules=[our_rule("NoSchedule")])
    well = world.after(slices=[device_slice()])
    for _ in range(4):
        well = well.after(150.0)
    assert done(well.step()) == ["unrule gpu-1"]


@pytest.mark.rule("H10")
def test_what_others_placed_stays() -> None:
    world = World([node("n1", SICK, taints=[TAINT])]).after()
    assert done(recovered(world).step()) == []
    other = {"key": "maintenance", "effect": "NoSchedule"}
    assert (
        done(replace(recovered(quarantined()), nodes=[node("n1", WELL, taints=[other])]).step())
        == []
    )


@pytest.mark.rule("H10")
def test_a_label_that_a_person_removed_is_not_placed_again() -> None:
    world = quarantined()
    assert world.state.records["n1"].is_label_seen
    removed = world.after(nodes=[node("n1", SICK, taints=[TAINT])])
    assert not removed.after().state.records["n1"].label
    assert not removed.observing(5).state.records["n1"].label
    more = node("n1", SICK, condition("DStateProcess"), taints=[TAINT])
    assert replace(removed.after(), nodes=[more]).after().state.records["n1"].label


@pytest.mark.rule("H7")
@pytest.mark.parametrize(
    ("type_", "label"), [("NTPProblem", True), ("GPUIsLost", True), ("x", False)]
)
def test_a_suspect_has_the_label(type_: str, *, label: bool) -> None:
    records = World([node("n1", condition(type_))]).step().state.records
    assert ("n1" in records and records["n1"].label) is label


@pytest.mark.rule("H6", "H10")
def test_observe_neither_places_nor_removes() -> None:
    observing = replace(POLICY, mode=Mode.OBSERVE)
    placed = replace(quarantined(), policy=observing)
    assert done(placed.step()) == []
    world = recovered(placed)
    assert done(world.step()) == []
    assert world.step().state.records["n1"].label
    fresh = World([node("n1", SICK)], policy=observing).step()
    assert not fresh.state.records["n1"].label
    assert {one.case.mark for one in fresh.decisions} == {""}


@pytest.mark.rule("H10")
def test_unknown_removes_nothing() -> None:
    world = recovered(quarantined())
    for lost in (
        node("n1", taints=[TAINT], ready="Unknown"),
        node("n1", WELL, taints=[TAINT], ready="False"),
    ):
        assert done(replace(world, nodes=[lost]).step()) == []


@pytest.mark.rule("H10")
def test_a_rule_of_ours_that_nobody_remembers_goes_once_all_is_good() -> None:
    """Its node was replaced, or what was written on the node is lost."""
    rules = [our_rule("NoSchedule"), our_rule("NoSchedule", "gpuspec-other")]
    world = World([dra_node()], slices=[device_slice()], rules=rules).after()
    assert done(world.step()) == []
    assert done(world.observing(2).after(300.0).step()) == ["unrule gpu-1"]


@pytest.mark.rule("H10")
def test_a_rule_that_nobody_remembers_stays_while_its_device_is_bad() -> None:
    dead = device_slice(gpu_1=device_taint("NoSchedule"))
    world = World([dra_node()], slices=[dead], rules=[our_rule("NoSchedule")])
    assert done(world.observing(5).after(3600.0).step()) == []
