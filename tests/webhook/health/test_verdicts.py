"""From observations to verdicts: N bad ones, M good ones, relapses, reboots (H3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import Json
from tests.webhook.health.worlds import NOW, POLICY, World, about, condition, done, node, verdicts
from webhook.health.verdicts import recovery_s

NODE = "node n1"
GOOD = [node("n1", condition("KernelDeadlock", "False"))]
BAD = [node("n1", condition("KernelDeadlock", "True"))]
BLIND = [node("n1", condition("KernelDeadlock", "Unknown"))]


def played(nodes: list[Json], seconds: float, world: World) -> World:
    """The world observed every 10 seconds for so long, while the nodes are so."""
    world = replace(world, nodes=nodes)
    for _ in range(int(seconds // 10)):
        world = world.after(10.0)
    return world


def verdict(world: World) -> str:
    return verdicts(world.step()).get(NODE, "Healthy")


@pytest.mark.rule("H3")
@pytest.mark.parametrize("bad", [1, 2, 3, 5])
def test_so_many_bad_observations_fail(bad: int) -> None:
    world = World(BAD, policy=replace(POLICY, bad_observations=bad))
    assert [verdict(world.observing(n)) for n in range(bad)] == [*["Suspect"] * (bad - 1), "Failed"]


@pytest.mark.rule("H3")
def test_looking_more_often_is_not_another_observation() -> None:
    world = World(BAD)
    for _ in range(100):
        world = world.after(0.09)
    assert verdict(world) == "Suspect"
    assert about(world.step(), NODE).case.bad == 1


@pytest.mark.rule("H3")
def test_recovery_takes_good_observations_and_time() -> None:
    failed = played(BAD, 30, World(BAD))
    assert verdict(played(GOOD, 290, failed)) == "Failed"
    assert verdict(played(GOOD, 310, failed)) == "Healthy"
    few = replace(failed, nodes=GOOD).after(1e5)
    assert verdict(few) == "Failed"  # two good observations, however far apart
    assert verdict(few.after()) == "Healthy"


@pytest.mark.rule("H3")
def test_every_relapse_doubles_the_time_to_recover() -> None:
    world = played(BAD, 30, World(BAD))
    for relapses, needed in enumerate((300, 600, 1200)):
        assert about(world.step(), NODE).case.relapses == relapses
        assert verdict(played(GOOD, needed - 10, world)) == "Failed"
        well = played(GOOD, needed + 10, world)
        assert verdict(well) == "Healthy"
        world = played(BAD, 30, well)


@pytest.mark.rule("H3")
def test_turning_bad_while_it_recovers_is_a_relapse_too() -> None:
    world = played(BAD, 10, played(GOOD, 100, played(BAD, 30, World(BAD))))
    assert about(world.step(), NODE).case.relapses == 1


@pytest.mark.rule("H3")
@pytest.mark.parametrize(("relapses", "seconds"), [(0, 300), (1, 600), (8, 76_800), (9, 86_400)])
def test_the_doubling_has_an_end(relapses: int, seconds: float) -> None:
    case = about(World(BAD).step(), NODE).case
    assert recovery_s(replace(case, relapses=relapses), POLICY) == seconds
    assert recovery_s(replace(case, relapses=999_999), POLICY) == 86_400


@pytest.mark.rule("H3")
def test_a_recovered_node_is_forgotten_after_the_longest_recovery() -> None:
    well = played(GOOD, 330, played(BAD, 30, World(BAD, policy=replace(POLICY, mode=POLICY.mode))))
    freed = well.after()
    assert about(freed.step(), NODE).case.recovered > NOW
    late = freed.after(POLICY.longest_recovery_s)
    assert late.step().decisions == ()


@pytest.mark.rule("H3")
def test_blind_neither_acts_nor_clears() -> None:
    failed = played(BAD, 30, World(BAD))
    blind = played(BLIND, 1000, failed)
    assert verdict(blind) == "Unknown"
    assert done(blind.step()) == []
    # What was good before does not count: recovery begins anew.
    nearly = played(GOOD, 290, blind)
    again = played(BLIND, 10, nearly)
    assert verdict(played(GOOD, 290, again)) == "Failed"
    assert verdict(played(GOOD, 310, again)) == "Healthy"
    # One bad observation that is due, and it is acted upon.
    assert done(replace(blind, nodes=BAD).step()) == ["taint n1"]


@pytest.mark.rule("H3")
def test_blindness_is_no_relapse_and_no_observation() -> None:
    world = played(BLIND, 100, played(BAD, 10, World(BAD)))
    case = about(replace(world, nodes=BAD).step(), NODE).case
    assert (case.bad, case.relapses) == (2, 0)


@pytest.mark.rule("H3")
def test_what_was_never_bad_and_is_unknown_is_forgotten_when_good() -> None:
    blind = World(BLIND).after()
    assert verdict(blind) == "Unknown"
    assert replace(blind, nodes=GOOD).step().decisions == ()


@pytest.mark.rule("H3")
def test_another_boot_starts_afresh() -> None:
    suspect = played(BAD, 20, World(BAD))
    rebooted = [node("n1", condition("KernelDeadlock"), boot="boot-2")]
    assert about(suspect.step(), NODE).case.bad == 3
    assert about(replace(suspect, nodes=rebooted).step(), NODE).case.bad == 1


@pytest.mark.rule("H3", "H10")
def test_a_reboot_leaves_our_mark_until_the_node_is_seen_to_be_good() -> None:
    taint = {"key": "gpuspec.preferred.jp/unhealthy", "effect": "NoSchedule"}
    failed = played(BAD, 30, World(BAD))
    said = condition("KernelDeadlock", "False")
    back = [node("n1", said, taints=[taint], boot="boot-2")]
    assert verdict(played(back, 290, failed)) == "Failed"
    assert done(played(back, 310, failed).step()) == ["untaint n1"]


@pytest.mark.rule("H3")
def test_another_node_of_the_same_name_starts_afresh() -> None:
    failed = played(BAD, 30, World(BAD))
    other = [node("n1", uid="another")]
    assert replace(failed, nodes=other).step().decisions == ()


@pytest.mark.rule("H3")
def test_a_fatal_signal_fails_at_once() -> None:
    taken = World([node("n1", condition("GPUIsLost"))]).step()
    assert verdicts(taken) == {NODE: "Failed"}
