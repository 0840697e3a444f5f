"""Trouble in a Pod's status: Unhealthy devices, crashes, rejections (H2 e, f, g)."""

from __future__ import annotations

import pytest

from tests.builders import GPU, Json
from webhook.inventory.pod_trouble import Trouble, pod_trouble

ENDED = {"exitCode": 1, "reason": "Error", "finishedAt": "2027-01-15T08:00:00Z"}
AT = 1_800_000_000.0


def status(**fields: object) -> Json:
    return {"metadata": {}, "status": {"phase": "Running", **fields}}


def named(*devices: tuple[object, object], of: object = GPU) -> Json:
    resources = [{"resourceID": identity, "health": health} for identity, health in devices]
    return {"allocatedResourcesStatus": [{"name": of, "resources": resources}]}


@pytest.mark.rule("H2")
def test_a_pod_without_trouble_and_devices_keeps_nothing() -> None:
    assert pod_trouble({}) is None
    assert pod_trouble(status(containerStatuses=[{"state": {"running": {}}}])) is None


@pytest.mark.rule("H8")
def test_the_devices_of_a_pod_are_known_while_it_runs() -> None:
    said = [named(("GPU-1", "Healthy"))]
    assert pod_trouble(status(containerStatuses=said)) == Trouble(devices=((GPU, "GPU-1"),))
    for phase in ("Failed", "Succeeded"):
        assert pod_trouble(status(phase=phase, containerStatuses=said)) is None


@pytest.mark.rule("H8")
def test_pods_share_the_names_of_their_resources() -> None:
    first, second = (
        pod_trouble(status(containerStatuses=[named(("GPU-1", "Healthy"), of="".join(GPU))]))
        for _ in range(2)
    )
    assert first is not None
    assert second is not None
    assert first.devices[0][0] is second.devices[0][0]


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("message", "lacking"),
    [
        (
            "requested number of devices unavailable for nvidia.com/gpu. Requested: 1",
            ("nvidia.com/gpu",),
        ),
        (
            "cannot allocate unhealthy devices rdma/hca_shared-1.a, which is unexpected",
            ("rdma/hca_shared-1.a",),
        ),
        ("cannot allocate unregistered device example.com/fpga", ("example.com/fpga",)),
        ("not enough cpus available to satisfy request: requested=4, available=1", ("cpu",)),
        ("[memorymanager] failed to get the default NUMA affinity", ("memory",)),
        ("Allocate failed due to rpc error: read/write of /dev/nvidia0", ()),
        ("x" * 5000 + "unavailable for rdma/hca.", ()),
        (None, ()),
        (7, ()),
        ([], ()),
        ({}, ()),
    ],
    ids=lambda one: str(one)[:40],
)
def test_what_a_rejected_pod_lacked_is_named_by_its_kubelet(
    message: object, lacking: tuple[str, ...]
) -> None:
    found = pod_trouble(status(phase="Failed", reason="UnexpectedAdmissionError", message=message))
    assert found == Trouble(rejected=1.0, lacking=lacking)


@pytest.mark.rule("H2")
def test_unhealthy_devices_are_told_from_the_others() -> None:
    said = [named(("GPU-1", "Healthy"), ("GPU-2", "Unhealthy"), ("GPU-3", "Unknown"))]
    found = pod_trouble(status(containerStatuses=said, initContainerStatuses=said))
    assert found == Trouble(
        unhealthy=((GPU, "GPU-2"), (GPU, "GPU-2")),
        devices=((GPU, "GPU-1"), (GPU, "GPU-2"), (GPU, "GPU-3")),
    )


@pytest.mark.rule("H2")
@pytest.mark.parametrize("part", ["state", "lastState"])
@pytest.mark.parametrize("of", ["containerStatuses", "initContainerStatuses"])
def test_a_crash_is_a_container_that_ended_with_an_error(part: str, of: str) -> None:
    assert pod_trouble(status(**{of: [{part: {"terminated": ENDED}}]})) == Trouble(crashes=(AT,))


@pytest.mark.rule("H2")
def test_crashes_are_in_order_and_each_once() -> None:
    earlier = {**ENDED, "finishedAt": "2027-01-15T07:59:00Z"}
    both = {"state": {"terminated": ENDED}, "lastState": {"terminated": earlier}}
    found = pod_trouble(status(containerStatuses=[both, both]))
    assert found == Trouble(crashes=(AT - 60, AT))


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    "ended",
    [
        {**ENDED, "exitCode": 0},
        {**ENDED, "exitCode": "1"},
        {**ENDED, "exitCode": True},
        {**ENDED, "reason": "OOMKilled"},
        {},
        None,
        [],
    ],
    ids=str,
)
def test_what_is_no_crash(ended: object) -> None:
    assert pod_trouble(status(containerStatuses=[{"state": {"terminated": ended}}])) is None


@pytest.mark.rule("H2")
def test_a_pod_that_is_being_deleted_does_not_crash() -> None:
    pod = status(containerStatuses=[{"state": {"terminated": ENDED}}])
    pod["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    assert pod_trouble(pod) is None


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("start", "created", "at"),
    [
        ("2027-01-15T08:00:00Z", "2027-01-15T07:00:00Z", AT),
        (None, "2027-01-15T07:00:00Z", AT - 3600),
        (None, None, 1.0),
    ],
)
def test_a_rejected_pod_was_rejected_when_it_started(
    start: str | None, created: str | None, at: float
) -> None:
    pod = status(phase="Failed", reason="UnexpectedAdmissionError", startTime=start)
    pod["metadata"]["creationTimestamp"] = created
    assert pod_trouble(pod) == Trouble(rejected=at)


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("phase", "reason"),
    [("Failed", "Evicted"), ("Running", "UnexpectedAdmissionError"), ("Failed", None)],
)
def test_what_is_no_rejection(phase: str, reason: str | None) -> None:
    assert pod_trouble(status(phase=phase, reason=reason)) is None


@pytest.mark.parametrize("odd", [None, 7, "x", [], {}, [None], [[]], [{"name": 1}], {"a": []}])
def test_odd_shapes_are_no_trouble(odd: object) -> None:
    for of in ("containerStatuses", "initContainerStatuses", "phase", "reason", "startTime"):
        assert pod_trouble(status(**{of: odd})) is None
    for part in ("allocatedResourcesStatus", "state", "lastState"):
        assert pod_trouble(status(containerStatuses=[{part: odd}])) is None
    assert pod_trouble(status(containerStatuses=[named((odd, "Unhealthy"))])) in (
        None,
        Trouble(((GPU, "x"),), ((GPU, "x"),)),
    )
    crash = {"state": {"terminated": {**ENDED, "reason": odd, "finishedAt": odd}}}
    assert pod_trouble(status(containerStatuses=[crash])) == Trouble(crashes=(0.0,))
