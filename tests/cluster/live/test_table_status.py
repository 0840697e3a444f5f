"""What the controller says of each row follows the nodes (design §3, D7)."""

from __future__ import annotations

import pytest

from tests.cluster.api import path, wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import GPU, fake_node
from tests.cluster.live import tables
from tests.cluster.live.programs import Controller
from tests.cluster.live.tables import SEEN_SECONDS as SECONDS
from tests.cluster.live.tables import shows
from tests.cluster.nodes import create_nodes
from tests.cluster.pods import create_pod, pod, wait_decided
from tests.cluster.versions import ON_NEWEST
from webhook.terms import CLASSES_PATH, SLICES_PATH, TABLES_PATH

pytestmark = ON_NEWEST


@pytest.mark.rule("D7")
def test_a_table_is_counted_accepted_and_ready(known: ControlPlane) -> None:
    status = tables.status(known.api)
    assert {row["id"]: (row["nodes"], row["devices"]) for row in status["rows"]} == {
        "v100-16gb": (10, 80),
        "v100-32gb": (3, 24),
        "a30-24gb": (5, 30),
        "a100-80gb": (4, 16),
    }
    assert status["digest"] == "e714847787031e18"
    assert status["observedGeneration"] == 1
    assert tables.condition(known.api, "Accepted")["status"] == "True"
    message = "4 of 4 rows match nodes; 150 of 150 devices are usable"
    assert tables.condition(known.api, "Ready")["message"] == message
    printed = known.kubectl("get", "selectiontables").split()
    assert printed[6:11] == ["default", "4", "True", "True", "e714847787031e18"]


def test_nodes_that_are_added_relabelled_tainted_cordoned_and_removed_show(
    known: ControlPlane,
) -> None:
    api, name = known.api, "new"
    at = path("v1", "nodes", name)
    node = fake_node(
        name,
        labels={"gpu-model": "a30-24gb"},
        taints=({"key": "gpu-model", "value": "a30-24gb", "effect": "NoSchedule"},),
        capacity={GPU: "6"},
    )
    create_nodes(api, [node])
    shows(known, "a30-24gb", nodes=6, devices=36, usable=36)

    api.patch(at, {"metadata": {"labels": {"gpu-model": "a30"}}})
    shows(known, "a30-24gb", nodes=5)
    unmatched = tables.status(api)["unmatchedNodes"]
    assert unmatched["count"] == 1
    assert unmatched["kinds"][0]["labels"] == {"gpu-model": "a30"}

    api.patch(at, {"metadata": {"labels": {"gpu-model": "a30-24gb"}}})
    foreign = [*node["spec"]["taints"], {"key": "dedicated", "value": "x", "effect": "NoSchedule"}]
    api.patch(at, {"spec": {"taints": foreign}})
    taint = "1 of 6 nodes carries taint dedicated=x:NoSchedule that this row does not tolerate"
    shows(known, "a30-24gb", nodes=6, problems=[taint])

    api.patch(at, {"spec": {"taints": node["spec"]["taints"], "unschedulable": True}})
    shows(known, "a30-24gb", nodes=6, devices=36, usable=30, problems=[])

    api.delete(at)
    shows(known, "a30-24gb", nodes=5, devices=30, usable=30)


def test_free_devices_follow_pods(known: ControlPlane, namespace_of: str) -> None:
    taint = {"key": "gpu-model", "operator": "Exists"}
    body = pod(
        "one", limits={GPU: "4"}, tolerations=[taint], nodeSelector={"gpu-model": "a100-80gb"}
    )
    create_pod(known.api, namespace_of, body)
    wait_decided(known.api, namespace_of, ["one"])
    shows(known, "a100-80gb", usable=16, free=12)
    known.api.delete(path("v1", "pods", "one", namespace=namespace_of), gracePeriodSeconds="0")
    shows(known, "a100-80gb", usable=16, free=16)


def test_a_bad_table_that_came_past_validation_is_told_with_every_problem(
    known: ControlPlane,
) -> None:
    tables.apply(known.api, tables.with_row("a30-24gb", perNode=0, cost=-1))
    wait_until(
        lambda: tables.condition(known.api, "Accepted").get("status") == "False",
        timeout=SECONDS,
        what="the table to be refused",
    )
    message = tables.condition(known.api, "Accepted")["message"]
    assert message.splitlines() == [
        "spec.devices[2].cost: cost is -1 and should be greater than or equal to 0",
        "spec.devices[2].perNode: perNode is 0 and should be greater than or equal to 1",
    ]
    tables.apply(known.api, tables.example())
    wait_until(
        lambda: tables.condition(known.api, "Accepted").get("status") == "True",
        timeout=SECONDS,
        what="the table to be accepted again",
    )


def test_a_candidate_under_another_name_is_counted_before_it_serves(known: ControlPlane) -> None:
    candidate = tables.with_row("a30-24gb", nodes={"matchLabels": {"gpu-model": "a30"}})
    candidate["metadata"]["name"] = "candidate"
    tables.apply(known.api, candidate)
    wait_until(
        lambda: tables.status(known.api, "candidate").get("rows"),
        timeout=SECONDS,
        what="the candidate to be counted",
    )
    (a30,) = (
        row for row in tables.status(known.api, "candidate")["rows"] if row["id"] == "a30-24gb"
    )
    assert a30["problems"] == [
        "label gpu-model=a30 matches no node; near: gpu-model=a30-24gb on 5 nodes"
    ]
    tables.delete(known.api, "candidate")


def test_a_status_is_not_written_while_nothing_changes(
    known: ControlPlane, controller: Controller
) -> None:
    def version() -> str:
        found = known.api.get(f"{TABLES_PATH}/default")
        return str(found["metadata"]["resourceVersion"])

    controller.wait_runs("table-status", 1)
    before = version()
    # A label that no row speaks of changes, and the nodes' heartbeats go on.
    known.api.patch(path("v1", "nodes", "mn3-008"), {"metadata": {"labels": {"colour": "blue"}}})
    controller.wait_runs("table-status", 2)
    assert version() == before


def test_what_claims_recognise_follows_resource_slices_and_device_classes(
    known: ControlPlane,
) -> None:
    api = known.api
    claim = {"deviceClassName": "gpu.example.com", "driver": "gpu.example.com"}
    tables.apply(api, tables.with_row("a30-24gb", claim=claim))
    nothing = [
        "DeviceClass gpu.example.com does not exist; there is none",
        (
            "the claim recognises no device of driver gpu.example.com; "
            "it offers no GPU in any ResourceSlice"
        ),
    ]
    shows(known, "a30-24gb", devices=30, claimDevices=0, problems=nothing)
    api.create(CLASSES_PATH, {"metadata": {"name": "gpu.example.com"}, "spec": {}})
    node = "mn2b-a30-030"
    attributes = {"productName": {"string": "NVIDIA A30"}, "type": {"string": "gpu"}}
    memory = {"memory": {"value": "24Gi"}}
    devices = [
        {"name": f"gpu-{number}", "attributes": attributes, "capacity": memory}
        for number in range(6)
    ]
    offer = {
        "metadata": {"name": "slice"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }
    api.create(SLICES_PATH, offer)
    shows(known, "a30-24gb", devices=30, claimDevices=6, problems=[])
    api.delete(f"{SLICES_PATH}/slice")
    api.delete(f"{CLASSES_PATH}/gpu.example.com")
