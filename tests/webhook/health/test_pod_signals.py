"""Pods that were rejected or that crash: whose fault is it (H2 f, g)."""

from __future__ import annotations

import pytest

from tests.builders import GPU
from tests.webhook.health.worlds import (
    ROW,
    World,
    claim,
    crashed,
    device_slice,
    done,
    dra_node,
    node,
    pod,
    rejected,
    verdicts,
)

NODE = "node n1"
ONE = f"device {GPU}/GPU-1 of node n1"


@pytest.mark.rule("H2")
@pytest.mark.parametrize(("count", "verdict"), [(1, "Suspect"), (2, "Suspect"), (3, "Failed")])
def test_each_rejected_pod_is_an_observation(count: int, verdict: str) -> None:
    world = World([node()], [rejected(f"p{number}") for number in range(count)])
    assert verdicts(world.step()) == {NODE: verdict}
    # However often the same Pods are looked at.
    assert verdicts(world.observing(9).step()) == {NODE: verdict}


@pytest.mark.rule("H2")
def test_rejected_pods_are_remembered_for_the_window_only() -> None:
    world = World([node()], [rejected(f"p{number}") for number in range(2)]).after(pods=[])
    assert verdicts(World([node()], [rejected("p3")], state=world.state).step()) == {NODE: "Failed"}
    assert verdicts(World([node()], [rejected("old", age=601.0)]).step()) == {}


@pytest.mark.rule("H2")
def test_only_the_kubelets_rejection_of_our_resource_counts() -> None:
    evicted = pod("p1", phase="Failed", reason="Evicted")
    running = pod("p2", phase="Running", reason="UnexpectedAdmissionError")
    foreign = rejected("p3", gpus=0)
    assert verdicts(World([node()], [evicted, running, foreign]).step()) == {}


@pytest.mark.rule("H2")
def test_two_programs_that_crash_on_one_device() -> None:
    first = pod("p1", owner=("StatefulSet", "a"), containerStatuses=crashed(60.0))
    second = pod("p2", owner=("StatefulSet", "b"), containerStatuses=crashed(50.0))
    assert verdicts(World([node()], [first, second]).step()) == {ONE: "Suspect"}
    again = pod("p2", owner=("StatefulSet", "b"), containerStatuses=crashed(50.0, 20.0))
    third = pod("p3", owner=("StatefulSet", "c"), containerStatuses=crashed(10.0))
    assert verdicts(World([node()], [first, again, third]).step()) == {ONE: "Failed"}


@pytest.mark.rule("H2")
def test_the_first_crash_of_a_second_program_is_one_observation() -> None:
    """However often the first one crashed before."""
    often = pod("p1", owner=("StatefulSet", "a"), containerStatuses=crashed(90.0, 80.0))
    more = pod("p2", owner=("StatefulSet", "a"), containerStatuses=crashed(70.0, 60.0))
    once = pod("p3", owner=("StatefulSet", "b"), containerStatuses=crashed(5.0))
    assert verdicts(World([node()], [often, more, once]).step()) == {ONE: "Suspect"}


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    ("one", "other", "labels"),
    [
        (("StatefulSet", "a"), ("StatefulSet", "a"), {}),
        (("ReplicaSet", "web-5d4"), ("ReplicaSet", "web-7f9"), {"hash": "yes"}),
        (("Job", "nightly-28394850"), ("Job", "nightly-28394910"), {}),
        (("Job", "fit-1"), ("Job", "fit-2"), {}),
        (("Workflow", "fit-x7k2p"), ("Workflow", "fit-q9d4z"), {}),
        (None, None, {}),
    ],
    ids=[
        "one owner",
        "ReplicaSets of a Deployment",
        "Jobs of a CronJob",
        "Jobs that somebody submits again",
        "Workflows that somebody submits again",
        "bare Pods that somebody submits again",
    ],
)
def test_one_program_that_crashes_is_a_bug_of_that_program(
    one: tuple[str, str] | None, other: tuple[str, str] | None, labels: dict[str, str]
) -> None:
    pods = [
        pod(
            f"p{number}",
            owner=owner,
            labels={"pod-template-hash": owner[1].rpartition("-")[2]} if owner and labels else {},
            containerStatuses=crashed(60.0, 30.0),
        )
        for number, owner in enumerate((one, other))
    ]
    assert verdicts(World([node()], pods).step()) == {}


@pytest.mark.rule("H2")
@pytest.mark.parametrize("owner", [None, ("Job", "fit")])
def test_what_runs_once_is_told_by_its_images_and_namespace(
    owner: tuple[str, str] | None,
) -> None:
    pods = [
        pod("one", owner=owner, image="repo/fit:1", containerStatuses=crashed(60.0)),
        pod("two", owner=owner, image="repo/render:4", containerStatuses=crashed(60.0)),
    ]
    assert verdicts(World([node()], pods).step()) == {ONE: "Suspect"}
    others = pod("one", owner=owner, namespace="others", containerStatuses=crashed(60.0))
    here = pod("two", owner=owner, containerStatuses=crashed(60.0))
    assert verdicts(World([node()], [here, others]).step()) == {ONE: "Suspect"}
    assert verdicts(World([node()], pods).step()) == {ONE: "Suspect"}


@pytest.mark.rule("H2")
def test_a_program_that_crashes_on_many_devices_is_named_and_no_device_blamed() -> None:
    pods = [
        pod(
            f"p{number}",
            owner=("StatefulSet", "a"),
            containerStatuses=crashed(60.0, device=f"GPU-{number}"),
        )
        for number in range(10)
    ]
    taken = World([node(gpus=10)], pods).step()
    assert verdicts(taken) == {}
    assert taken.notes == ("team/StatefulSet/a crashed on 10 devices, so the program is to blame",)


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    "status",
    [
        {"containerStatuses": crashed(60.0, reason="OOMKilled", code=137)},
        {"containerStatuses": crashed(60.0, code=0, reason="Completed")},
        {"containerStatuses": crashed(601.0)},
        {
            "containerStatuses": crashed(60.0),
            "metadata": {"deletionTimestamp": "2027-01-15T08:00:00Z"},
        },
    ],
    ids=["out of memory", "done", "long ago", "being deleted"],
)
def test_what_no_device_is_to_blame_for(status: dict[str, object]) -> None:
    pods = [
        pod(f"p{number}", owner=("StatefulSet", f"s{number}"), **status)  # type: ignore[arg-type]
        for number in range(3)
    ]
    assert verdicts(World([node()], pods).step()) == {}


@pytest.mark.rule("H2")
def test_crashes_join_the_device_by_the_claim() -> None:
    pods = [
        pod(name, "h1", gpus=0, owner=("StatefulSet", name), containerStatuses=[_ended()])
        for name in ("p1", "p2")
    ]
    world = World([dra_node()], pods, [device_slice()], [claim("gpu-2", pods=("p1", "p2"))], [])
    assert verdicts(world.step()) == {"device gpu.nvidia.com/h1/gpu-2 of node h1": "Suspect"}


def _ended() -> dict[str, object]:
    return {"state": crashed(30.0)[0]["lastState"]}


@pytest.mark.rule("H2")
def test_crashes_of_pods_whose_device_is_not_known_blame_nobody() -> None:
    pods = [
        pod(name, owner=("StatefulSet", name), containerStatuses=[_ended()])
        for name in ("p1", "p2")
    ]
    assert verdicts(World([node()], pods).step()) == {}


@pytest.mark.rule("H3")
def test_another_boot_starts_afresh_whatever_befell_pods_before() -> None:
    pods = [rejected(f"p{number}") for number in range(3)]
    world = World([node()], pods).after()
    assert world.state.records["n1"].cases
    rebooted = World([node(row=ROW, boot="boot-2")], pods, now=world.now, state=world.state)
    assert done(rebooted.step()) == []
