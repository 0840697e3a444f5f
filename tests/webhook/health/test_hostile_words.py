"""Ways to have others, or other things, take the blame: forged, moved and misread (H1, H2, H10)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.builders import DRIVER, GPU, Json
from tests.webhook.health.test_fences import DRA, our_rule
from tests.webhook.health.worlds import (
    NOW,
    TAINT,
    World,
    about,
    condition,
    crashed,
    device_slice,
    device_taint,
    done,
    dra_node,
    node,
    pod,
    rejected,
    told,
    verdicts,
)
from webhook.health.gather import remembered
from webhook.health.ledger import Ledger
from webhook.health.stored import record_text
from webhook.inventory.facts import node_facts
from webhook.inventory.pod_facts import pod_facts
from webhook.inventory.times import written

SICK = condition("GPUIsLost")
DEVICE = f"device {GPU}/GPU-1 of node n1"
OF_H1: Json = {"driver": DRIVER, "pool": "h1", "device": "gpu-1", "boot": "boot-1"}


def says(name: str, text: str) -> Json:
    """A node on which somebody has written."""
    found = dra_node(name)
    found["metadata"]["annotations"] = {"gpuspec.preferred.jp/verdicts": text}
    return found


def forged(*cases: Json, mishaps: list[object] | None = None) -> str:
    """What somebody who may write on a node writes there."""
    said = {"version": 1, "uid": "uid-h2", "boot": "boot-1", "cases": cases}
    return json.dumps({**said, "mishaps": mishaps or []})


def taken_up(world: World, *nodes: Json) -> World:
    """The world as a new leader finds it."""
    facts = {one.name: one for one in map(node_facts, nodes)}
    return replace(world, nodes=nodes, state=remembered(facts, world.state.ledger))


def ruled() -> World:
    """A device of h1 that its driver calls dead, and our rule for it."""
    sick = [device_slice(gpu_1=device_taint("NoSchedule"))]
    world = World([dra_node()], slices=sick, rules=[]).after(1.0, rules=[our_rule("None")])
    return world.after(1.0, rules=[our_rule("NoSchedule")]).after(12.0)


@pytest.mark.rule("H10")
@pytest.mark.parametrize(
    "case",
    [
        {"verdict": "Healthy", "recovered": NOW, "mark": "rule", "seen": True},
        {"verdict": "Failed", "failed": NOW, "mark": "rule", "seen": True},
        {"verdict": "Suspect", "mark": "rule"},
    ],
    ids=lambda one: str(one["verdict"]),
)
def test_what_is_written_on_one_node_moves_no_rule_of_another(case: Json) -> None:
    world = ruled()
    h1 = says("h1", record_text(world.state.records["h1"], world.now))
    led = taken_up(world, h1, says("h2", forged({**OF_H1, **case})))
    for _ in range(3):
        assert verdicts(led.step()) == {DRA: "Failed"}
        assert done(led.step()) == []
        assert "h2" not in led.step().state.records
        led = led.after(400.0)


@pytest.mark.rule("H2", "H7")
def test_crashes_that_are_written_on_one_node_rule_no_device_of_another() -> None:
    crashes: list[object] = [
        [NOW - number, "CrashLoop", f"team/{number}", f"uid-{number}", "", DRIVER, "h1", "gpu-2"]
        for number in range(9)
    ]
    evil = says("h2", forged(mishaps=crashes))
    world = World(slices=[device_slice()], rules=[])
    assert taken_up(world, dra_node(), evil).step().decisions == ()


@pytest.mark.rule("H7", "H10")
def test_a_rule_goes_with_a_device_that_moves_to_another_node() -> None:
    moved = device_slice(gpu_1=device_taint("NoSchedule"))
    moved["spec"]["nodeName"] = "h2"
    world = replace(ruled(), nodes=[dra_node("h1"), dra_node("h2")], slices=[moved])
    at_h2 = DRA.replace("of node h1", "of node h2")
    for _ in range(20):
        assert verdicts(world.step()) == {at_h2: "Failed"}
        assert done(world.step()) == []
        world = world.after(60.0)
    moved["spec"]["devices"][1]["taints"] = []
    well = world.observing(4).after(600.0)
    assert done(well.step()) == ["unrule gpu-1"]


@pytest.mark.rule("H3", "H10")
def test_a_rule_stays_while_nobody_offers_its_device() -> None:
    """Whoever speaks of it meanwhile may be anybody."""
    case = {**OF_H1, "verdict": "Healthy", "recovered": NOW, "mark": "rule", "seen": True}
    world = taken_up(replace(ruled(), slices=[]), says("h2", forged(case)))
    assert done(world.step()) == []
    assert [one.case.is_blind for one in world.step().decisions] == [True]
    assert done(world.observing(50).step()) == []


@pytest.mark.rule("H2")
def test_a_pod_that_crashes_in_many_containers_hides_no_other_program() -> None:
    ended = [{"exitCode": 1, "finishedAt": written(NOW - number)} for number in range(110)]
    (named,) = told(("GPU-1", "Healthy"))
    noisy = pod("noisy", owner=None, image="x")
    noisy["status"]["containerStatuses"] = [
        {**named, "state": {"terminated": one}} for one in ended
    ]
    others = [
        pod(f"o{number}", owner=None, image=f"y{number}", containerStatuses=crashed(115, 112))
        for number in range(5)
    ]
    taken = World([node("n1")], [noisy, *others]).step()
    assert verdicts(taken) == {DEVICE: "Failed"}
    kept = taken.state.records["n1"].mishaps
    assert len(kept) == 100
    assert list(kept) == sorted(kept)
    assert sum(one.pod != "uid-noisy" for one in kept) == 10
    newest = max(one.at for one in kept if one.pod == "uid-noisy")
    assert newest == NOW


@pytest.mark.rule("H2")
def test_the_next_try_of_a_program_has_another_tag_and_is_the_same_program() -> None:
    images = ("repo:5000/train:1", "repo:5000/train:2@sha256:0", "repo:5000/train", "train:3")
    programs = [
        pod_facts(pod(owner=None, image=image, containerStatuses=crashed(30))).program
        for image in images
    ]
    assert programs == ["team/Pods of repo:5000/train"] * 3 + ["team/Pods of train"]
    pods = [
        pod(f"try-{tag}", owner=None, image=f"repo/train:{tag}", containerStatuses=crashed(30, 20))
        for tag in range(4)
    ]
    assert verdicts(World([node("n1")], pods).step()) == {}


LACKS = (
    "Pod was rejected: Allocate failed due to requested number of devices unavailable for {}. "
    "Requested: 1, Available: 0, which is unexpected"
)


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("message", "found"),
    [
        (LACKS.format("rdma/hca"), {}),
        (LACKS.format(f"{GPU}.shared"), {}),
        ("Allocate failed due to not enough cpus available to satisfy request", {}),
        (LACKS.format(GPU), {"node n1": "Failed"}),
        ("Allocate failed due to rpc error: no such device", {"node n1": "Failed"}),
    ],
)
def test_a_pod_that_lacked_something_else_says_nothing_of_gpus(
    message: str, found: dict[str, str]
) -> None:
    pods = [rejected(f"r{number}", message=message) for number in range(3)]
    assert verdicts(World([node("n1")], pods).step()) == found


@pytest.mark.rule("H8")
def test_a_pod_holds_the_failed_device_though_its_status_calls_that_healthy() -> None:
    crashes = [
        pod(name, owner=("ReplicaSet", name), containerStatuses=crashed(30, 20)) for name in "abc"
    ]
    world = World([node("n1")], crashes).after(1.0, nodes=[node("n1", taints=[TAINT])])
    holds, other = (
        pod(f"on-{device}", containerStatuses=told((device, "Healthy")))
        for device in ("GPU-1", "GPU-2")
    )
    taken = replace(world, pods=[holds, other]).step()
    assert done(taken) == ["evict on-GPU-1"]
    assert [one.pod.name for one in about(taken, DEVICE).holders or ()] == ["on-GPU-1"]


@pytest.mark.rule("H4", "H10")
def test_marks_that_somebody_wrote_of_devices_that_are_nowhere_remove_nothing() -> None:
    cases = [
        {**OF_H1, "pool": "ghost", "device": f"d{number}", "verdict": "Healthy", "mark": "rule"}
        for number in range(200)
    ]
    world = World(slices=[device_slice()], rules=[our_rule("NoSchedule")])
    led = taken_up(world, says("h2", forged(*cases)))
    assert done(led.step()) == []
    assert done(led.observing(9).step()) == []
    assert led.state.ledger == Ledger()
