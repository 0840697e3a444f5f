"""What keeps new Pods from what has failed, and who goes (H7, H8)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from selection_spec.health import Mode
from tests.builders import DRIVER, GPU, Json
from tests.webhook.health.worlds import (
    DRA_ROW,
    POLICY,
    TAINT,
    World,
    about,
    claim,
    condition,
    crashed,
    daemon,
    device_slice,
    device_taint,
    done,
    dra_node,
    node,
    pod,
    rejected,
    told,
)
from webhook.health.fences import Fence, rule_name
from webhook.health.records import State
from webhook.health.step import Step
from webhook.health.subjects import dra_subject
from webhook.terms import RULE_LABEL

SICK = condition("GPUIsLost")
ONE = f"device {GPU}/GPU-1 of node n1"
DRA = "device gpu.nvidia.com/h1/gpu-1 of node h1"
NAME = rule_name(dra_subject("h1", DRIVER, "h1", "gpu-1"))


def unhealthy(
    name: str = "train", *, of: str = GPU, identity: str = "GPU-1", on: str = "n1"
) -> Json:
    return pod(name, on, containerStatuses=told((identity, "Unhealthy"), of=of))


def our_rule(effect: str, name: str = NAME, *, is_ours: bool = True) -> Json:
    """A DeviceTaintRule for ``gpu-1``."""
    return {
        "metadata": {"name": name, "labels": {RULE_LABEL: "unhealthy"} if is_ours else {}},
        "spec": {
            "deviceSelector": {"driver": DRIVER, "pool": "h1", "device": "gpu-1"},
            "taint": {"key": TAINT["key"], "effect": effect},
        },
    }


def fence(taken: Step, subject: str) -> tuple[Fence, bool]:
    found = about(taken, subject).fence
    assert found is not None
    return found.by, found.is_in_place


@pytest.mark.rule("H7")
def test_a_node_at_fault_is_tainted() -> None:
    taken = World([node("n1", SICK)]).step()
    assert done(taken) == ["taint n1"]
    assert fence(taken, "node n1") == (Fence.TAINT, False)


@pytest.mark.rule("H7", "H8")
def test_a_withheld_device_needs_no_mark_and_its_holder_goes() -> None:
    """Only the soft label: the kubelet hands the device to nobody."""
    world = World([node(allocatable=7)], [unhealthy(), pod("other")])
    taken = world.step()
    assert fence(taken, ONE) == (Fence.KUBELET, True)
    assert done(taken) == ["evict train"]
    assert taken.state.records["n1"].label
    assert taken.state.ledger.quarantined == {}


@pytest.mark.rule("H7")
@pytest.mark.parametrize(
    "pods",
    [
        [unhealthy()],
        [rejected(f"p{number}") for number in range(3)],
        [
            pod(name, owner=("StatefulSet", name), containerStatuses=crashed(60.0, 30.0))
            for name in ("a", "b")
        ],
    ],
    ids=["told without being withheld", "rejected Pods", "crashes"],
)
def test_what_no_kubelet_withholds_takes_the_whole_node(pods: list[Json]) -> None:
    taken = World([node()], pods).observing(2).step()
    assert done(taken) == ["taint n1"]


@pytest.mark.rule("H7", "H8")
def test_only_the_holder_leaves_a_node_that_is_tainted_for_one_device() -> None:
    world = World([node(taints=[TAINT])], [unhealthy(), pod("other")]).observing(2)
    assert done(world.step()) == ["evict train"]


@pytest.mark.rule("H7", "H8")
def test_a_device_gets_a_rule_without_effect_first_then_one_that_keeps_pods_away() -> None:
    sick = device_slice(gpu_1=device_taint("NoSchedule"))
    world = World([dra_node()], [pod(on="h1")], [sick], [claim("gpu-1")], rules=[])
    assert done(world.step()) == ["rule gpu-1 None"]
    assert fence(world.step(), DRA) == (Fence.RULE, False)
    harmless = world.after(1.0, rules=[our_rule("None")])
    assert done(harmless.step()) == ["rule gpu-1 NoSchedule"]
    # Nobody goes before it was read back.
    assert fence(harmless.step(), DRA) == (Fence.RULE, False)
    there = harmless.after(1.0, rules=[our_rule("NoSchedule")])
    assert done(there.step()) == ["evict train"]
    assert fence(there.step(), DRA) == (Fence.RULE, True)


@pytest.mark.rule("H7")
@pytest.mark.parametrize(
    "rule", [our_rule("NoSchedule", is_ours=False), our_rule("NoSchedule", "another")]
)
def test_the_rule_of_somebody_else_is_not_ours(rule: Json) -> None:
    sick = device_slice(gpu_1=device_taint("NoSchedule"))
    assert done(World([dra_node()], slices=[sick], rules=[rule]).step()) == ["rule gpu-1 None"]


@pytest.mark.rule("H7", "H8")
@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_without_rules_the_drivers_own_taint_does(effect: str) -> None:
    sick = device_slice(gpu_1=device_taint(effect))
    world = World([dra_node()], [pod(on="h1")], [sick], [claim("gpu-1")])
    assert fence(world.step(), DRA) == (Fence.DRIVER, True)
    assert done(world.step()) == ["evict train"]


@pytest.mark.rule("H7", "H10")
def test_a_kubelet_that_withholds_the_device_later_takes_the_place_of_our_taint() -> None:
    """Seven healthy devices of eight are no less usable than without us."""
    tainted = World([node()], [unhealthy()]).observing(2).after(nodes=[node(taints=[TAINT])])
    assert done(tainted.step()) == ["evict train"]
    withheld = tainted.after(nodes=[node(allocatable=7, taints=[TAINT])])
    assert done(withheld.step()) == ["evict train"]  # it may be back in a moment
    withheld = withheld.observing(4)
    assert done(withheld.step()) == ["untaint n1", "evict train"]
    free = withheld.after(nodes=[node(allocatable=7)])
    assert done(free.step()) == ["evict train"]
    assert fence(free.step(), ONE) == (Fence.KUBELET, True)
    assert done(free.observing(9).step()) == ["evict train"]
    assert free.observing(9).step().state.ledger.quarantined == {}


@pytest.mark.rule("H3", "H7")
@pytest.mark.parametrize(("ready", "actions"), [("True", ["untaint n1"]), ("Unknown", [])])
def test_our_taint_makes_way_also_once_nobody_tells_of_the_device(
    ready: str, actions: list[str]
) -> None:
    """Its Pod has left, so that its case is blind; stale counts are no reason."""
    tainted = World([node()], [unhealthy()]).observing(2).after(nodes=[node(taints=[TAINT])])
    left = tainted.after(pods=[])
    assert done(left.step()) == []
    withheld = replace(left, nodes=[node(allocatable=7, taints=[TAINT])]).observing(4)
    withheld = replace(withheld, nodes=[node(allocatable=7, taints=[TAINT], ready=ready)])
    assert done(withheld.step()) == actions


@pytest.mark.rule("H7")
def test_a_node_whose_kubelet_hands_the_device_out_again_is_tainted_again() -> None:
    tainted = World([node()], [unhealthy()]).observing(2).after(nodes=[node(taints=[TAINT])])
    withheld = replace(tainted, nodes=[node(allocatable=7, taints=[TAINT])]).observing(4)
    free = withheld.after(nodes=[node(allocatable=7)]).after(nodes=[node()])
    assert done(free.step()) == ["taint n1"]


@pytest.mark.rule("H3", "H7")
def test_a_count_that_flaps_moves_no_taint() -> None:
    world = World([node()], [unhealthy()]).observing(2).after(nodes=[node(taints=[TAINT])])
    for number in range(20):
        left = 7 if number % 2 else 8
        world = world.after(nodes=[node(allocatable=left, taints=[TAINT])])
        assert done(world.step()) == ["evict train"]


@pytest.mark.rule("H7")
def test_a_taint_that_the_node_itself_needs_stays_when_a_device_is_withheld() -> None:
    both = World([node("n1", SICK)], [unhealthy()]).observing(2)
    withheld = both.after(nodes=[node("n1", SICK, allocatable=7, taints=[TAINT])])
    assert done(withheld.step()) == ["evict train"]


@pytest.mark.rule("H6", "H7")
def test_observe_leaves_a_taint_whose_place_a_kubelet_has_taken() -> None:
    tainted = World([node()], [unhealthy()]).observing(2).after(nodes=[node(taints=[TAINT])])
    withheld = tainted.after(nodes=[node(allocatable=7, taints=[TAINT])])
    assert done(replace(withheld, policy=replace(POLICY, mode=Mode.OBSERVE)).step()) == []


@pytest.mark.rule("H7", "H10")
def test_a_driver_that_taints_the_device_later_takes_the_place_of_our_taint() -> None:
    sick = unhealthy(of="claim:gpus", identity="gpu.nvidia.com/h1/gpu-1", on="h1")
    world = World([dra_node()], [sick], [device_slice()], [claim("gpu-1")])
    there = world.after(nodes=[dra_node(taints=[TAINT])])
    tainted = there.after(slices=[device_slice(gpu_1=device_taint("NoSchedule"))])
    assert done(tainted.step()) == ["untaint h1", "evict train"]


@pytest.mark.rule("H7", "H8")
@pytest.mark.parametrize("slices", [[device_slice()], [device_slice(gpu_1=device_taint("None"))]])
def test_without_rules_and_where_the_driver_keeps_nobody_away_the_node_is_tainted(
    slices: list[Json],
) -> None:
    sick = unhealthy(of="claim:gpus", identity="gpu.nvidia.com/h1/gpu-1", on="h1")
    world = World([dra_node()], [sick], slices, [claim("gpu-1")])
    assert done(world.step()) == ["taint h1"]
    there = world.after(nodes=[dra_node(taints=[TAINT])])
    assert done(there.step()) == ["evict train"]


@pytest.mark.rule("H7")
def test_a_rule_that_kubernetes_no_longer_has_was_removed_by_nobody() -> None:
    """The next best thing keeps Pods away then, as on any cluster without rules."""
    sick = unhealthy(of="claim:gpus", identity="gpu.nvidia.com/h1/gpu-1", on="h1")
    world = World([dra_node()], [sick], [device_slice()], [claim("gpu-1")], rules=[])
    ruled = world.after(rules=[our_rule("NoSchedule")]).after()
    assert done(ruled.step()) == ["evict train"]
    assert done(replace(ruled, rules=None).step()) == ["taint h1"]


@pytest.mark.rule("H7")
def test_daemonsets_that_a_taint_would_lock_out_are_named() -> None:
    tolerant = {"key": TAINT["key"], "operator": "Exists"}
    others = {"key": "other", "operator": "Exists"}
    daemons = [daemon("driver"), daemon("plugin", others), daemon("kind", tolerant)]
    taken = World([node("n1", SICK)], daemons=daemons).step()
    assert about(taken, "node n1").locked_out == ("kube-system/driver", "kube-system/plugin")
    placed = World([node("n1", SICK, taints=[TAINT])], daemons=daemons).step()
    assert about(placed, "node n1").locked_out == ()


@pytest.mark.rule("H7")
def test_another_subject_keeps_the_taint_of_a_node() -> None:
    """The node recovers, one of its devices does not, and for it nothing new was placed."""
    lost = node("n1", SICK)
    world = World([lost], [unhealthy()]).after()
    tainted = node("n1", SICK, taints=[TAINT])
    world = replace(world, nodes=[tainted]).after().after()
    well = node("n1", condition("GPUIsLost", "False"), taints=[TAINT])
    world = replace(world, nodes=[well])
    for _ in range(5):
        world = world.after(200.0)
    taken = world.step()
    assert about(taken, "node n1").case.held == "Healthy"
    assert fence(taken, ONE) == (Fence.TAINT, True)
    assert not [one for one in done(taken) if one.startswith("untaint")]
    cured = replace(world, nodes=[well], pods=[pod()])
    for _ in range(5):
        cured = cured.after(200.0)
    assert done(cured.step()) == ["untaint n1"]


@pytest.mark.rule("H8")
def test_of_a_node_everybody_goes_who_has_devices_there() -> None:
    pods = [
        pod("gpu"),
        pod("cpu", gpus=0),
        pod("done", phase="Succeeded"),
        pod("elsewhere", on="n2"),
        pod("leaving", metadata={"deletionTimestamp": "2027-01-15T08:00:00Z"}),
    ]
    world = World([node("n1", SICK, taints=[TAINT]), node("n2")], pods)
    assert done(world.step()) == ["evict gpu"]


@pytest.mark.rule("H8")
def test_of_a_dra_node_everybody_goes_who_holds_a_claim() -> None:
    pods = [pod("holds", "h1", gpus=0), pod("none", "h1", gpus=0)]
    sick = node("h1", SICK, row=DRA_ROW, gpus=None, taints=[TAINT])
    world = World([sick], pods, [device_slice()], [claim("gpu-2", pods=["holds"])], [])
    assert done(world.step()) == ["evict holds"]


@pytest.mark.rule("H8")
def test_a_claim_that_kubernetes_made_for_an_extended_resource_names_its_pod() -> None:
    """By whom it is reserved for, like every other claim."""
    mapped = {"resourceClaimName": "x", "requestMappings": [{"resourceName": GPU}]}
    holder = pod("holds", "h1", extendedResourceClaimStatus=mapped)
    sick = device_slice(gpu_1=device_taint("NoExecute"))
    world = World([dra_node()], [holder, pod("b", "h1")], [sick], [claim("gpu-1", pods=["holds"])])
    assert done(world.step()) == ["evict holds"]


@pytest.mark.rule("H8")
def test_a_device_that_several_claims_share_is_left_by_all_of_them() -> None:
    pods = [pod(name, "h1", gpus=0) for name in ("a", "b")]
    sick = device_slice(gpu_1=device_taint("NoSchedule"))
    claims = [claim("gpu-1", pods=[name]) for name in ("a", "b")]
    world = World([dra_node()], pods, [sick], claims)
    assert done(world.step()) == ["evict a", "evict b"]


@pytest.mark.rule("H8")
def test_a_claim_that_outlives_its_pods_would_give_the_next_ones_the_same_device() -> None:
    """It is never free: the next Pod has reserved it before the last one is gone."""
    willing = {"gpuspec.preferred.jp/on-device-failure": "evict"}
    pods = [pod("a", "h1", gpus=0), pod("b", "h1", gpus=0, annotations=willing)]
    sick = device_slice(gpu_1=device_taint("NoSchedule"))
    world = World([dra_node()], pods, [sick], [claim("gpu-1", pods=["a", "b"])])
    assert done(world.step()) == ["evict b"]
    why = {one.pod.name: one.why for one in about(world.step(), DRA).holders or ()}
    assert why["a"].startswith("its claim was not made for it alone and keeps the device")


@pytest.mark.rule("H7", "H10")
def test_a_rule_takes_the_place_of_a_nodes_taint_as_soon_as_there_are_rules() -> None:
    sick = unhealthy(of="claim:gpus", identity="gpu.nvidia.com/h1/gpu-1", on="h1")
    world = World([dra_node()], [sick], [device_slice()], [claim("gpu-1")])
    tainted = world.after(nodes=[dra_node(taints=[TAINT])])
    served = tainted.after(rules=[])
    assert done(served.step()) == ["rule gpu-1 None"]
    placed = served.after(rules=[our_rule("None")]).after(rules=[our_rule("NoSchedule")])
    assert done(placed.step()) == ["untaint h1", "evict train"]
    free = placed.after(nodes=[dra_node()]).after()
    assert done(free.step()) == ["evict train"]
    assert about(free.step(), DRA).case.mark == "rule"


@pytest.mark.rule("H7", "H10")
@pytest.mark.parametrize("rules", [None, [our_rule("NoSchedule")]], ids=["taint", "rule"])
def test_a_device_that_its_driver_took_out_of_its_pool_needs_no_mark_of_ours(
    rules: list[Json] | None,
) -> None:
    sick = unhealthy(of="claim:gpus", identity="gpu.nvidia.com/h1/gpu-1", on="h1")
    start = World([dra_node()], [sick], [device_slice()], [claim("gpu-1")], rules=rules and [])
    marked = start.after(nodes=[dra_node(taints=[] if rules else [TAINT])], rules=rules).after()
    gone = device_slice()
    gone["spec"]["devices"] = [one for one in gone["spec"]["devices"] if one["name"] != "gpu-1"]
    without = marked.after(slices=[gone], pods=[])
    assert done(without.step()) == ["unrule gpu-1" if rules else "untaint h1"]


@pytest.mark.rule("H8")
def test_where_it_cannot_be_told_who_holds_a_device_nobody_goes() -> None:
    world = World([node(allocatable=7)], [pod()]).observing(2)
    assert about(world.step(), f"some {GPU} of node n1").holders is None
    assert done(world.step()) == []


@pytest.mark.rule("H8")
def test_nobody_goes_from_what_is_not_fenced() -> None:
    world = World([node("n1", SICK)], [pod()]).observing(5)
    assert done(world.step()) == ["taint n1"]
    elsewhere = {**TAINT, "effect": "PreferNoSchedule"}
    weak = replace(world, nodes=[node("n1", SICK, taints=[elsewhere])])
    assert done(weak.step()) == ["taint n1"]


@pytest.mark.rule("H8")
def test_nobody_goes_before_evict_after() -> None:
    policy = replace(POLICY, evict_after_s=3.0)
    world = World([node("n1", SICK)], [pod()], policy=policy)
    there = [node("n1", SICK, taints=[TAINT])]
    assert done(world.after(2.0, nodes=there).step()) == []
    assert done(world.after(3.0, nodes=there).step()) == ["evict train"]


@pytest.mark.rule("H9")
def test_an_eviction_that_was_refused_is_not_repeated_at_once() -> None:
    world = World([node("n1", SICK, taints=[TAINT])], [pod()], paused={"uid-train"})
    assert done(world.step()) == []
    holders = about(world.step(), "node n1").holders
    assert holders is not None
    assert [one.why for one in holders] == ["its eviction was refused and is tried again"]


@pytest.mark.rule("H9")
def test_rejected_pods_are_removed_once_their_node_is_fenced() -> None:
    dead = [rejected(f"p{number}") for number in range(3)]
    dead.append(rejected("lone", owner=None))
    assert done(World([node()], dead).step()) == ["taint n1"]
    placed = World([node(taints=[TAINT])], dead).step()
    assert done(placed) == ["remove p0", "remove p1", "remove p2"]
    cautious = World([node(taints=[TAINT])], dead, policy=replace(POLICY, mode=Mode.QUARANTINE))
    assert done(cautious.step()) == []


@pytest.mark.rule("H7")
def test_one_thing_for_two_subjects_is_done_once() -> None:
    pods = [pod(containerStatuses=told(("GPU-1", "Unhealthy"), ("GPU-2", "Unhealthy")))]
    world = World([node()], pods, state=State()).observing(2)
    assert done(world.step()) == ["taint n1"]
    tainted = world.after(nodes=[node(taints=[TAINT])])
    assert done(tainted.step()) == ["evict train"]
