"""Devices: withheld by a kubelet, tainted by a driver, Unhealthy in a Pod's status (H1, H2)."""

from __future__ import annotations

import pytest

from tests.builders import GPU, Json
from tests.webhook.health.worlds import (
    World,
    about,
    claim,
    device_slice,
    device_taint,
    done,
    dra_node,
    node,
    pod,
    told,
    verdicts,
)
from webhook.health.records import QUIET_S, is_reported

SOME = f"some {GPU} of node n1"
ONE = f"device {GPU}/GPU-1 of node n1"
DRA = "device gpu.nvidia.com/h1/gpu-1 of node h1"


def unhealthy(*devices: str, name: str = "train", of: str = GPU, on: str = "n1") -> Json:
    """A Pod that is told that its devices are Unhealthy."""
    said = told(*((one, "Unhealthy") for one in devices), of=of)
    return pod(name, on, gpus=len(devices), containerStatuses=said)


@pytest.mark.rule("H1", "H2")
@pytest.mark.parametrize(
    ("gpus", "allocatable", "verdict"),
    [
        (8, 8, None),
        (8, 7, "Suspect"),
        (8, 1, "Suspect"),
        (8, 0, "Unknown"),
        (1, 0, "Unknown"),
        (0, 0, "Unknown"),
        (None, None, None),
    ],
)
def test_allocatable_below_capacity(
    gpus: int | None, allocatable: int | None, verdict: str | None
) -> None:
    found = verdicts(World([node(gpus=gpus, allocatable=allocatable)]).step())
    assert found.get(SOME) == verdict


@pytest.mark.rule("H2", "H3")
def test_withheld_devices_fail_after_several_observations_and_are_fenced_by_the_kubelet() -> None:
    world = World([node(allocatable=7)])
    assert [verdicts(world.observing(n).step())[SOME] for n in range(3)] == [
        *("Suspect", "Suspect", "Failed"),
    ]
    failed = about(world.observing(2).step(), SOME)
    assert failed.fence is not None
    assert failed.fence.is_in_place
    assert failed.holders is None  # nobody can tell which one it is, so nobody goes (H8)
    assert done(world.observing(2).step()) == []


@pytest.mark.rule("H2")
def test_a_plugin_that_restarts_is_told_after_six_minutes() -> None:
    world = World([node(allocatable=0)])
    early, late = (world.after(seconds).step() for seconds in (QUIET_S - 1, QUIET_S))
    assert not is_reported(about(early, SOME).case, world.now + QUIET_S - 1)
    assert is_reported(about(late, SOME).case, world.now + QUIET_S)
    assert done(late) == []


@pytest.mark.rule("H2", "H3")
def test_a_plugin_that_restarts_changes_no_verdict() -> None:
    """All of its devices are Unhealthy meanwhile, and nothing is allocatable."""
    pods = [unhealthy("GPU-0", name="p0"), unhealthy("GPU-1", name="p1")]
    taken = World([node(gpus=2, allocatable=0)], pods).observing(9).step()
    assert set(verdicts(taken).values()) == {"Unknown"}
    assert done(taken) == []


@pytest.mark.rule("H2", "H3")
@pytest.mark.parametrize("gone", [None, 0])
def test_counts_that_are_gone_do_not_clear(gone: int | None) -> None:
    world = World([node(allocatable=7)]).observing(3)
    lost = World([node(gpus=gone)], now=world.now + 1e5, state=world.state)
    assert verdicts(lost.step()) == {SOME: "Unknown"}


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("taint", "verdict"),
    [
        (device_taint("NoSchedule"), "Failed"),
        (device_taint("NoExecute"), "Failed"),
        (device_taint("None"), "Suspect"),
        (device_taint("Odd"), "Suspect"),
        (device_taint("NoSchedule", "gpu.nvidia.com/unmonitored"), "Unknown"),
        (device_taint("NoSchedule", "gpuspec.preferred.jp/unhealthy"), None),
    ],
    ids=str,
)
def test_device_taints_of_a_driver(taint: Json, verdict: str | None) -> None:
    world = World([dra_node()], slices=[device_slice(gpu_1=taint)], rules=[])
    assert verdicts(world.step()).get(DRA) == verdict


@pytest.mark.rule("H2")
def test_a_driver_that_only_warns_never_makes_more_than_suspect() -> None:
    world = World([dra_node()], slices=[device_slice(gpu_1=device_taint("None"))], rules=[])
    assert verdicts(world.observing(9).step()) == {DRA: "Suspect"}


@pytest.mark.rule("H3")
@pytest.mark.parametrize("half", ["gone", "incomplete"])
def test_a_device_that_is_in_no_slice_is_unknown(half: str) -> None:
    world = World([dra_node()], slices=[device_slice(gpu_1=device_taint("NoSchedule"))], rules=[])
    left = device_slice()
    left["spec"]["pool"]["resourceSliceCount"] = 2
    lost = world.after(1e5, slices=[] if half == "gone" else [left])
    assert verdicts(lost.step()) == {DRA: "Unknown"}
    assert done(lost.step()) == []


@pytest.mark.rule("H1", "H2")
def test_an_unhealthy_device_of_a_pod_fails_slowly_without_its_kubelet() -> None:
    world = World([node()], [unhealthy("GPU-1")])
    assert verdicts(world.step()) == {ONE: "Suspect"}
    assert verdicts(world.observing(2).step()) == {ONE: "Failed"}


@pytest.mark.rule("H1", "H2")
def test_an_unhealthy_device_that_is_withheld_fails_at_once() -> None:
    world = World([node(allocatable=7)], [unhealthy("GPU-1")])
    assert verdicts(world.step()) == {SOME: "Suspect", ONE: "Failed"}


@pytest.mark.rule("H2")
def test_more_unhealthy_devices_than_are_withheld_prove_nothing_at_once() -> None:
    world = World([node(allocatable=7)], [unhealthy("GPU-1", "GPU-2")])
    assert set(verdicts(world.step()).values()) == {"Suspect"}


@pytest.mark.rule("H2")
@pytest.mark.parametrize("health", ["Healthy", "Unknown", "", None, 7])
def test_only_unhealthy_is_unhealthy(health: object) -> None:
    said = told(("GPU-1", health))  # type: ignore[arg-type]
    assert verdicts(World([node()], [pod(containerStatuses=said)]).step()) == {}


@pytest.mark.rule("H2")
def test_init_containers_devices_count_and_those_of_finished_pods_do_not() -> None:
    said = told(("GPU-1", "Unhealthy"))
    assert verdicts(World([node()], [pod(initContainerStatuses=said)]).step()) == {ONE: "Suspect"}
    over = pod(containerStatuses=said, phase="Succeeded")
    assert verdicts(World([node()], [over]).step()) == {}


@pytest.mark.rule("H1", "H2")
def test_a_dra_device_is_named_by_driver_pool_and_device() -> None:
    sick = unhealthy("gpu.nvidia.com/h1/gpu-1", of="claim:gpus", on="h1")
    world = World([dra_node()], [sick], [device_slice()], [claim("gpu-1")], rules=[])
    assert verdicts(world.step()) == {DRA: "Failed"}


@pytest.mark.rule("H1")
@pytest.mark.parametrize("identity", ["gpu-1", "h1/gpu-1", "", "//", "gpu.nvidia.com//gpu-1"])
def test_a_name_of_another_form_is_about_nothing(identity: str) -> None:
    sick = unhealthy(identity, of="claim:gpus", on="h1")
    assert verdicts(World([dra_node()], [sick], [device_slice()], rules=[]).step()) == {}


@pytest.mark.rule("H1")
def test_a_pool_may_have_slashes_in_its_name() -> None:
    sick = unhealthy("gpu.nvidia.com/rack/h1/gpu-1", of="claim:gpus", on="h1")
    taken = World([dra_node()], [sick], rules=[]).step()
    assert verdicts(taken) == {"device gpu.nvidia.com/rack/h1/gpu-1 of node h1": "Failed"}


@pytest.mark.rule("H3")
def test_a_dead_device_does_not_live_because_its_pod_is_gone() -> None:
    world = World([node(allocatable=7)], [unhealthy("GPU-1")]).after(1e5, pods=[])
    assert verdicts(world.step())[ONE] == "Unknown"
    whole = world.after(nodes=[node()])
    assert verdicts(whole.observing(4).step())[ONE] == "Failed"
    late = whole.observing(4).after(1e3)
    assert verdicts(late.step())[ONE] == "Healthy"


@pytest.mark.rule("H3")
def test_what_is_told_of_devices_on_a_node_that_is_not_ready_is_stale() -> None:
    down = node("n1", allocatable=7, ready="Unknown")
    gone = dra_node()
    gone["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    sick = device_slice(gpu_1=device_taint("NoSchedule"))
    world = World([down, gone], [unhealthy("GPU-1")], [sick], rules=[])
    assert world.step().decisions == ()
