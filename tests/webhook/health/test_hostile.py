"""Ways that were thought of to lose Pods or to escape a budget (H4, H5, H7 to H9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from selection_spec.health import Mode
from tests.builders import DRIVER, GPU, Json
from tests.webhook.health.test_fences import DRA, fence, our_rule
from tests.webhook.health.worlds import (
    NOW,
    POLICY,
    ROW,
    TAINT,
    World,
    about,
    claim,
    condition,
    crashed,
    device_slice,
    device_taint,
    done,
    dra_node,
    job,
    node,
    pod,
    told,
    verdicts,
)
from webhook.health.actions import Doing
from webhook.health.cases import Mark
from webhook.health.decisions import HeldBack
from webhook.health.fences import Fence, rule_name
from webhook.health.ledger import Eviction, Ledger
from webhook.health.permits import jobs_needed
from webhook.health.records import State
from webhook.health.shipped import CONDITIONS
from webhook.health.stored import record_of, record_text
from webhook.health.stored_ledger import ledger_of, ledger_text
from webhook.health.subjects import Subject, dra_subject, node_subject
from webhook.inventory.pod_facts import pod_facts
from webhook.inventory.times import written

SICK = condition("GPUIsLost")
WELL = condition("GPUIsLost", "False")
BAD = [one for those in CONDITIONS.values() for one in those if one.bad_status == "True"]


@pytest.mark.rule("H9")
def test_each_eviction_of_a_jobs_pod_counts_against_its_retries() -> None:
    pods = [pod(f"fit-{number}", owner=("Job", "fit")) for number in range(4)]
    world = World([node("n1", SICK, taints=[TAINT])], pods, jobs=[job(backoffLimit=2)])
    taken = world.step()
    assert done(taken) == ["evict fit-0"]
    kept = [one.why for one in about(taken, "node n1").holders or () if one.why]
    assert kept == ["another Pod of its Job goes first: each counts as a failure of the Job"] * 3
    settling = replace(world, paused={"uid-fit"})
    assert done(settling.step()) == []
    leaving = pod("fit-0", owner=("Job", "fit"), metadata={"deletionTimestamp": written(NOW + 30)})
    gone = replace(world, pods=[leaving, *pods[1:]])
    assert done(gone.step()) == []
    # It hangs in its device and may never be gone: it counts as one of the two retries.
    hanging = replace(gone, now=NOW + 3600)
    assert done(hanging.step()) == ["evict fit-1"]
    more = [ending(one, NOW + 30) for one in pods[:2]]
    assert done(replace(hanging, pods=[*more, *pods[2:]]).step()) == []


@pytest.mark.rule("H9")
def test_a_job_that_ignores_disruptions_loses_all_its_pods_at_once() -> None:
    pods = [pod(f"fit-{number}", owner=("Job", "fit")) for number in range(3)]
    disrupted = {"onPodConditions": [{"type": "DisruptionTarget"}]}
    policy = {"rules": [{"action": "Ignore", **disrupted}]}
    jobs = [job(backoffLimit=0, podFailurePolicy=policy)]
    world = World([node("n1", SICK, taints=[TAINT])], pods, jobs=jobs)
    assert len(done(world.step())) == 3


@pytest.mark.rule("H8")
def test_a_pod_whose_replacement_could_come_back_stays() -> None:
    tolerant = pod("web")
    tolerant["spec"]["tolerations"] = [{"operator": "Exists"}]
    taken = World([node("n1", SICK, taints=[TAINT])], [tolerant]).step()
    assert done(taken) == []
    (holder,) = about(taken, "node n1").holders or ()
    assert holder.why.startswith("it tolerates our taint gpuspec.preferred.jp/unhealthy:NoSchedule")


def rule_for(subject: Subject, effect: str) -> Json:
    """A rule of ours for a device, as the controller writes it."""
    found = our_rule(effect, rule_name(subject))
    found["spec"]["deviceSelector"]["device"] = subject.device
    return found


def ending(raw: Json, at: float) -> Json:
    """A Pod that was told to end by then."""
    return {**raw, "metadata": {**raw["metadata"], "deletionTimestamp": written(at)}}


ANY = {"operator": "Exists"}
NVIDIA = {"key": "gpu.nvidia.com/xid", "operator": "Exists", "effect": "NoSchedule"}


@pytest.mark.rule("H8")
@pytest.mark.parametrize(
    ("rules", "toleration"),
    [
        ([our_rule("NoSchedule")], ANY),
        ([our_rule("NoSchedule")], {**TAINT, "operator": "Exists"}),
        (None, NVIDIA),
    ],
    ids=["all", "ours", "the driver's"],
)
def test_a_pod_whose_claim_tolerates_the_devices_taint_stays(
    rules: list[Json] | None, toleration: Json
) -> None:
    sick = [device_slice(gpu_1=device_taint("NoSchedule"))]
    claims = [claim("gpu-1", tolerations=[toleration])]
    world = World([dra_node()], [pod(on="h1")], sick, claims, rules=rules).after()
    assert done(world.step()) == []
    (holder,) = about(world.step(), DRA).holders or ()
    assert holder.why == (
        "its claim tolerates the device's taint, so the next one could get it again"
    )


@pytest.mark.rule("H8")
def test_a_claim_that_tolerates_something_else_is_no_reason_to_stay() -> None:
    sick = [device_slice(gpu_1=device_taint("NoSchedule"))]
    claims = [claim("gpu-1", tolerations=[NVIDIA])]
    rules = [our_rule("NoSchedule")]
    world = World([dra_node()], [pod(on="h1")], sick, claims, rules=rules).after()
    assert done(world.step()) == ["evict train"]


@pytest.mark.rule("H8")
def test_a_pod_that_came_in_spite_of_our_taint_stays() -> None:
    """Its template names the node, or another scheduler does not look at taints."""
    tainted = World([node("n1", SICK)]).after(nodes=[node("n1", SICK, taints=[TAINT])])
    before, under_way = pod("before", created=1.0), pod("under-way", created=-59.0)
    in_spite = pod("in-spite", created=-61.0)
    taken = replace(tainted.after(120.0), pods=[before, under_way, in_spite]).step()
    assert done(taken) == ["evict before", "evict under-way"]
    why = {one.pod.name: one.why for one in about(taken, "node n1").holders or ()}
    assert why["in-spite"] == "it came when node taint kept others away, so the next one could, too"


@pytest.mark.rule("H4")
def test_devices_that_come_and_go_never_hold_more_than_the_rows_share() -> None:
    """What their driver took out of the pool has no rule of ours, and when it is back a turn."""

    def pool(*names: str) -> Json:
        sick: dict[str, Any] = {f"gpu_{n}": device_taint("NoSchedule") for n in range(9)}
        found = device_slice(count=10, **sick)
        kept = [one for one in found["spec"]["devices"] if one["name"] in names]
        found["spec"]["devices"] = [*kept, *({"name": f"well-{n}"} for n in range(10 - len(names)))]
        return found

    def obeyed(world: World) -> World:
        """Take a step; the rules become what it asks for."""
        rules = {one["metadata"]["name"]: one for one in world.rules or ()}
        for action in world.step().actions:
            name = rule_name(action.subject)
            if action.doing is Doing.RULE:
                rules[name] = rule_for(action.subject, action.effect)
            elif action.doing is Doing.UNRULE:
                rules.pop(name, None)
        return world.after(1.0, rules=list(rules.values()))

    world = World([dra_node()], slices=[pool("gpu-0", "gpu-1")], rules=[])
    for names in (("gpu-0", "gpu-1"), ("gpu-2", "gpu-3"), ("gpu-0", "gpu-1", "gpu-2", "gpu-3")):
        world = replace(world, slices=[pool(*names)])
        for _ in range(12):
            world = obeyed(world)
            assert len(world.rules or ()) <= 2
            assert len(world.state.ledger.quarantined) <= 2


@pytest.mark.rule("H4", "H8")
def test_a_template_with_a_nodes_name_costs_one_eviction_and_not_one_a_second() -> None:
    """However soon after the mark its next Pod is there."""
    tainted = World([node("n1", SICK)]).after(nodes=[node("n1", SICK, taints=[TAINT])])
    world = replace(tainted, pods=[pod("first", created=3600.0)])
    assert done(world.step()) == ["evict first"]
    world = world.after(1.0, pods=[pod("second", created=-11.0)])
    assert done(world.step()) == []
    (holder,) = about(world.step(), "node n1").holders or ()
    assert holder.why.startswith("it came in the place of one that was just evicted")


@pytest.mark.rule("H8")
@pytest.mark.parametrize("age", [3600.0, 1.0])
def test_replicas_that_were_there_before_all_go(age: float) -> None:
    """However young they are, and though not all of them may go at once."""
    pods = [pod(f"p{number}", created=age + number) for number in range(4)]
    policy = replace(POLICY, evictions=2)
    world = World([node("n1", SICK, taints=[TAINT])], pods, policy=policy)
    assert done(world.step()) == ["evict p0", "evict p1"]
    replaced = [pod(f"new{number}", created=-2.0) for number in range(2)]
    later = world.after(policy.eviction_window_s - 1.0, pods=[*replaced, *pods[2:]])
    assert done(later.step()) == []
    later = replace(later, policy=replace(policy, evictions=4))
    assert done(later.step()) == ["evict p2", "evict p3"]


@pytest.mark.rule("H8")
def test_devices_of_another_driver_are_no_gpus() -> None:
    nic = claim("nic-0")
    nic["status"]["allocation"]["devices"]["results"][0]["driver"] = "dra.nic"
    cpu_only = pod("train", "h1", gpus=0)
    sick = dra_node("h1", SICK, taints=[TAINT])
    assert done(World([sick], [cpu_only], claims=[nic]).step()) == []


@pytest.mark.rule("H8")
def test_a_toleration_is_of_the_device_that_it_was_asked_with() -> None:
    """A network card's request that tolerates everything says nothing of the GPU."""
    both = claim("gpu-1")
    nic = {"driver": "dra.nic", "pool": "h1", "device": "nic-0", "tolerations": [ANY]}
    both["status"]["allocation"]["devices"]["results"].append(nic)
    sick = [device_slice(gpu_1=device_taint("NoSchedule"))]
    rules = [our_rule("NoSchedule")]
    world = World([dra_node()], [pod(on="h1")], sick, [both], rules=rules).after()
    assert done(world.step()) == ["evict train"]


@pytest.mark.rule("H2", "H8")
def test_a_device_that_is_missing_for_long_makes_no_other_one_dead() -> None:
    """The plugin restarts: all are called Unhealthy, and the kubelet's count falls only later."""
    dead = World([node(allocatable=7)], [pod()]).observing(9)
    restarting = replace(dead, pods=[pod(containerStatuses=told(("GPU-1", "Unhealthy")))])
    for taken in (restarting.step(), restarting.after(5.0).step()):
        assert verdicts(taken)[f"device {GPU}/GPU-1 of node n1"] == "Suspect"
        assert done(taken) == []
    gone = restarting.after(10.0, nodes=[node(allocatable=0)]).after(10.0)
    assert done(gone.step()) == []
    back = gone.after(10.0, nodes=[node(allocatable=7)], pods=[pod()]).observing(40)
    assert verdicts(back.step())[f"device {GPU}/GPU-1 of node n1"] == "Healthy"


@pytest.mark.rule("H7", "H8")
def test_what_is_missing_for_another_device_fences_nothing() -> None:
    dead = World([node(allocatable=7)], [pod()]).observing(9)
    second = replace(dead, pods=[pod(containerStatuses=told(("GPU-1", "Unhealthy")))]).observing(2)
    assert done(second.step()) == ["taint n1"]


@pytest.mark.rule("H2", "H7")
def test_a_second_device_is_withheld_once_one_more_is_missing() -> None:
    dead = World([node(allocatable=7)], [pod()]).observing(9)
    told_ = [pod(containerStatuses=told(("GPU-1", "Unhealthy")))]
    second = replace(dead, pods=told_).after(5.0, nodes=[node(allocatable=6)])
    assert done(second.step()) == ["evict train"]
    assert fence(second.step(), f"device {GPU}/GPU-1 of node n1") == (Fence.KUBELET, True)


@pytest.mark.rule("H10")
def test_who_was_freed_by_a_person_rides_on_nobody_elses_taint() -> None:
    told_ = [pod(containerStatuses=told(("GPU-1", "Unhealthy")))]
    tainted = World([node()], told_).observing(2).after(nodes=[node(taints=[TAINT])]).after()
    freed = tainted.after(nodes=[node()]).after()
    assert about(freed.step(), f"device {GPU}/GPU-1 of node n1").held_back is HeldBack.WAIVED
    node_sick = freed.after(nodes=[node("n1", SICK)])
    assert done(node_sick.step()) == ["taint n1"]
    both = node_sick.after(nodes=[node("n1", SICK, taints=[TAINT])]).after()
    device = about(both.step(), f"device {GPU}/GPU-1 of node n1")
    assert (device.held_back, device.case.mark) == (HeldBack.WAIVED, Mark.NONE)
    well = both
    for _ in range(4):
        well = well.after(150.0, nodes=[node("n1", WELL, taints=[TAINT])])
    assert done(well.step()) == ["untaint n1"]


@pytest.mark.rule("H10")
def test_a_taint_that_stays_for_another_is_not_noted_as_taken_back() -> None:
    """Else it is written down anew at every look."""
    sick = [pod(containerStatuses=told(("GPU-1", "Unhealthy")))]
    both = World([node("n1", SICK)], sick).observing(2).after()
    world = both.after(nodes=[node("n1", WELL, taints=[TAINT])])
    for _ in range(6):
        world = world.after(150.0, nodes=[node("n1", WELL, taints=[TAINT])])
    before, after = (one.step().state.records["n1"] for one in (world, world.after(1.0)))
    marks = [(case.unmarked, case.is_seen, case.mark) for case in before.cases]
    assert marks == [(case.unmarked, case.is_seen, case.mark) for case in after.cases]


@pytest.mark.rule("H4")
def test_anothers_fresh_quarantine_counts_although_something_there_was_freed() -> None:
    told_ = [pod(containerStatuses=told(("GPU-1", "Unhealthy")))]
    tainted = World([node()], told_).observing(2).after(nodes=[node(taints=[TAINT])]).after()
    freed = tainted.after(nodes=[node()]).after(100.0)
    ledger = replace(freed.state.ledger, quarantined={node_subject("n1"): freed.now - 1.0})
    found = replace(freed, state=replace(freed.state, ledger=ledger)).step()
    assert found.state.ledger.quarantined == {node_subject("n1"): freed.now - 1.0}


@pytest.mark.rule("H6")
def test_what_is_only_observed_is_not_held_back_by_what_others_have_spent() -> None:
    spent = tuple(Eviction(f"gone-{n}", f"ns-{n % 3}", NOW - 5.0) for n in range(10))
    policy = replace(POLICY, mode=Mode.OBSERVE)
    world = World([node("n1", SICK)], [pod()], policy=policy, state=State(ledger=Ledger(spent)))
    decision = about(world.step(), "node n1")
    assert [one.doing for one in decision.actions] == [Doing.TAINT, Doing.EVICT]
    assert decision.spent is None
    assert world.step().imagined.evictions_left == 9
    assert world.step().budget.evictions_left == 0


@pytest.mark.rule("H4")
def test_half_a_pool_tells_of_no_device_that_it_is_gone() -> None:
    sick = [device_slice(count=4, gpu_1=device_taint("NoSchedule"))]
    ruled = World([dra_node()], slices=sick, rules=[]).after(rules=[our_rule("NoSchedule")])
    half = device_slice(count=1)
    half["spec"]["pool"]["resourceSliceCount"] = 2
    assert len(ruled.after(slices=[half]).step().state.ledger.quarantined) == 1


@pytest.mark.rule("H7", "H8")
def test_a_kubelet_that_withholds_another_device_fences_nothing() -> None:
    pods = [
        pod(name, owner=("ReplicaSet", name), containerStatuses=crashed(*ages, device="GPU-5"))
        for name, ages in (("a", (30, 20)), ("b", (10, 5)), ("c", (8, 7)))
    ]
    taken = World([node("n1", allocatable=7)], pods).step()
    fence = about(taken, f"device {GPU}/GPU-5 of node n1").fence
    assert fence is not None
    assert (fence.by, fence.is_in_place) == (Fence.TAINT, False)
    assert done(taken) == ["taint n1"]


@pytest.mark.rule("H7", "H8")
def test_one_device_withheld_does_not_fence_two_that_are_unhealthy() -> None:
    pods = [
        pod(f"web-{number}", containerStatuses=told((f"GPU-{number}", "Unhealthy")))
        for number in range(2)
    ]
    world = World([node("n1", allocatable=7)], pods).observing(3)
    assert done(world.step()) == ["taint n1"]


@pytest.mark.rule("H5")
def test_devices_of_another_driver_make_a_row_no_larger() -> None:
    nodes = [dra_node(f"h{number}") for number in range(4)]
    taints = {f"gpu_{number}": device_taint("NoSchedule") for number in range(4)}
    sick = [device_slice(f"h{number}", 4, **taints) for number in range(4)]
    cards = [device_slice(f"h{number}", 128) for number in range(4)]
    for number, one in enumerate(cards):
        one["metadata"]["name"] = f"nic-{number}"
        one["spec"] |= {"driver": "nic.example.com"}
    taken = World(nodes, slices=[*sick, *cards], rules=[]).step()
    assert taken.breakers.rows
    assert done(taken) == []


@pytest.mark.rule("H2")
def test_devices_of_another_kind_are_not_judged() -> None:
    nic = device_slice("h1", gpu_1=device_taint("NoExecute"))
    nic["spec"]["driver"] = "nic.example.com"
    assert World([dra_node()], slices=[nic], rules=[]).step().decisions == ()


@pytest.mark.rule("H5", "H9")
def test_what_is_found_beside_a_forgotten_rule_has_failed_now() -> None:
    waits = pod(
        "train", "h1", gpus=0, annotations={"gpuspec.preferred.jp/on-device-failure": "after=30m"}
    )
    world = World(
        [dra_node()],
        [waits],
        [device_slice(gpu_1=device_taint("NoSchedule"))],
        [claim("gpu-1")],
        [our_rule("NoSchedule")],
    )
    assert done(world.step()) == []
    assert done(world.after(1801.0).step()) == ["evict train"]


@pytest.mark.rule("H8")
def test_a_rule_that_somebody_bent_fences_nothing() -> None:
    bent = our_rule("NoSchedule")
    bent["spec"]["deviceSelector"]["device"] = "gpu-2"
    world = World(
        [dra_node()],
        [pod("train", "h1", gpus=0)],
        [device_slice(gpu_1=device_taint("NoSchedule"))],
        [claim("gpu-1")],
        [bent],
    )
    assert done(world.step()) == ["rule gpu-1 None"]


@pytest.mark.rule("H10")
def test_a_person_who_frees_a_node_frees_it_of_all_that_is_known() -> None:
    crashes = [
        pod(name, owner=("ReplicaSet", name), containerStatuses=crashed(30, 20, device=device))
        for name, device in (("a", "GPU-1"), ("b", "GPU-1"), ("c", "GPU-2"), ("d", "GPU-2"))
    ]
    world = World([node("n1")], crashes, policy=replace(POLICY, evictions=0))
    world = world.after(nodes=[node("n1", taints=[TAINT])]).after()
    freed = replace(world, nodes=[node("n1")])
    assert done(freed.step()) == []
    assert done(freed.after().step()) == []


@pytest.mark.rule("H2", "H10")
def test_a_taint_that_another_controller_placed_is_taken_back_all_the_same() -> None:
    other = World([node("n1", SICK)]).step()
    late = World([node("n1", SICK, taints=[TAINT])])
    late = replace(late, state=replace(late.state, ledger=other.state.ledger)).after()
    well = late.after(nodes=[node("n1", condition("GPUIsLost", "False"), taints=[TAINT])])
    assert done(well.observing(4).after(POLICY.recovery_s).step()) == ["untaint n1"]


@pytest.mark.rule("H9")
@pytest.mark.parametrize("name", ["%zz", "../../../version", "a/b", "x" * 300, "?watch=true"])
def test_an_owner_that_cannot_be_a_job_is_not_looked_up(name: str) -> None:
    forged = pod_facts(pod(owner=("Job", name)))
    assert jobs_needed([forged, pod_facts(pod(owner=("Job", "fit")))]) == {
        ("team", "fit", "uid-fit")
    }
    assert len(forged.program) < 400


@pytest.mark.rule("H9")
def test_a_job_of_another_group_is_an_owner_like_any_other() -> None:
    of_volcano = pod(owner=("Job", "fit"))
    of_volcano["metadata"]["ownerReferences"][0]["apiVersion"] = "batch.volcano.sh/v1alpha1"
    taken = World([node("n1", SICK, taints=[TAINT])], [of_volcano]).step()
    assert done(taken) == ["evict train"]


@pytest.mark.rule("H11")
def test_what_is_written_on_a_node_stays_small() -> None:
    """However much is wrong there: what only people read is left out first."""
    conditions = [condition(one.type, reason="x" * 1000) for one in BAD]
    pods = [
        pod(f"p{number}", owner=("ReplicaSet", "y" * 250), containerStatuses=crashed(10, 5))
        for number in range(200)
    ]
    record = World([node("n1", *conditions)], pods).step().state.records["n1"]
    text = record_text(record, NOW)
    assert len(text) <= 65_536
    kept = record_of(text, "n1")
    assert kept is not None
    assert [one.held for one in kept.cases] == [one.held for one in record.cases]


@pytest.mark.rule("H4")
def test_a_ledger_of_a_large_cluster_fits_one_object() -> None:
    pools = (f"gke-training-a3-megagpu-8g-pool-1-0123abcd-{number:04d}" for number in range(1000))
    marks = {
        dra_subject(pool, DRIVER, pool, f"gpu-{number}"): 1_800_000_000.123
        for pool in pools
        for number in range(8)
    }
    text = ledger_text(Ledger(quarantined=marks))
    assert len(text) < 500_000
    read = ledger_of(text)
    assert read is not None
    assert read.quarantined == marks


@pytest.mark.rule("H4")
def test_one_entry_that_cannot_be_read_loses_no_other() -> None:
    ledger = Ledger((Eviction("a", "team", 1.0),), breakers={ROW: 2.0})
    text = ledger_text(ledger).replace('"evictions":[', '"evictions":[["x","y"],7,')
    assert ledger_of(text) == ledger
