"""Ways that were thought of to lose Pods or to escape a budget (H4, H5, H7 to H9)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import DRIVER, GPU, Json
from tests.webhook.health.test_fences import DRA, our_rule
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
)
from webhook.health.fences import Fence
from webhook.health.ledger import Eviction, Ledger
from webhook.health.permits import jobs_needed
from webhook.health.shipped import CONDITIONS
from webhook.health.stored import record_of, record_text
from webhook.health.stored_ledger import ledger_of, ledger_text
from webhook.health.subjects import dra_subject
from webhook.inventory.pod_facts import pod_facts

SICK = condition("GPUIsLost")
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
    leaving = pod("fit-0", owner=("Job", "fit"), metadata={"deletionTimestamp": "x"})
    assert done(replace(world, pods=[leaving, *pods[1:]]).step()) == []


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
def test_devices_that_their_driver_no_longer_offers_hold_no_share() -> None:
    """It has taken the dead one out of the pool: nothing is kept from Pods by us."""
    sick = [device_slice(count=4, gpu_1=device_taint("NoSchedule"))]
    ruled = World([dra_node()], slices=sick, rules=[]).after(rules=[our_rule("NoSchedule")])
    assert len(ruled.step().state.ledger.quarantined) == 1
    gone = device_slice(count=4)
    gone["spec"]["devices"] = [one for one in gone["spec"]["devices"] if one["name"] != "gpu-1"]
    without = ruled.after(slices=[gone])
    assert without.step().state.ledger.quarantined == {}
    assert done(without.step()) == []
    assert len(without.after(slices=sick).step().state.ledger.quarantined) == 1


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
