"""``reserved: true`` taints a row's nodes, and takes its taint and no other away again (D6, H7)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.api import Json, path, wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import GPU, model_taint
from tests.cluster.live import tables
from tests.cluster.live.programs import Controller
from tests.cluster.pods import create_pod, pod, wait_decided
from tests.cluster.versions import ON_NEWEST
from webhook.terms import REQUEST_ANNOTATION

pytestmark = ON_NEWEST

SECONDS = 30.0
ROW = "a100-80gb"
OURS = {"key": "gpuspec.preferred.jp/reserved", "value": ROW, "effect": "NoSchedule"}
FOREIGN = {"key": "example.com/foreign", "value": "x", "effect": "PreferNoSchedule"}
DAEMONS = path("apps/v1", "daemonsets", namespace="default")


def members(plane: ControlPlane) -> list[Json]:
    return plane.api.list(path("v1", "nodes"), labelSelector=f"gpu-model={ROW}")


def tainted(plane: ControlPlane) -> int:
    return sum(
        OURS in (node["spec"].get("taints") or []) for node in plane.api.list(path("v1", "nodes"))
    )


def wait_tainted(plane: ControlPlane, count: int) -> None:
    wait_until(
        lambda: tainted(plane) == count,
        timeout=SECONDS,
        what=f"{count} nodes to carry the reserve taint",
        state=lambda: str(tables.status(plane.api)),
    )


def blocked(plane: ControlPlane) -> Json:
    return tables.condition(plane.api, "ReserveBlocked")


@pytest.fixture
def reservable(table: ControlPlane, controller: Controller) -> Iterator[ControlPlane]:
    controller.wait_runs("reserve", 1)
    yield table
    tables.apply(table.api, tables.example())
    wait_tainted(table, 0)


@pytest.mark.rule("D6", "H7")
def test_foreign_taints_and_a_cordon_outlive_the_switch(reservable: ControlPlane) -> None:
    api = reservable.api
    first = members(reservable)[0]["metadata"]["name"]
    at = path("v1", "nodes", first)
    api.patch(at, {"spec": {"taints": [model_taint(ROW), FOREIGN]}})
    tables.apply(api, tables.with_row(ROW, reserved=True))
    wait_tainted(reservable, 4)
    api.patch(at, {"spec": {"unschedulable": True}})
    api.wait_for(
        at,
        lambda node: any("unschedulable" in one["key"] for one in node["spec"]["taints"]),
        what="Kubernetes to add its own taint",
    )
    wait_until(
        lambda: tables.status(api).get("reserved") == {"nodes": 4, "pendingPods": 0},
        timeout=SECONDS,
        what="the status to say so",
    )
    tables.apply(api, tables.example())
    wait_tainted(reservable, 0)
    spec = api.get(at)["spec"]
    kept = [{k: v for k, v in one.items() if k != "timeAdded"} for one in spec["taints"]]
    assert kept == [
        model_taint(ROW),
        FOREIGN,
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
    ]
    assert spec["unschedulable"] is True
    api.patch(at, {"spec": {"unschedulable": None, "taints": [model_taint(ROW)]}})


@pytest.mark.rule("D6", "N9")
def test_it_acts_on_pods_that_pass_admission_by_and_running_pods_stay(
    reservable: ControlPlane, namespace_of: str
) -> None:
    raw = {
        "limits": {GPU: "1"},
        "tolerations": [model_taint(ROW)],
        "nodeSelector": {"gpu-model": ROW},
    }
    create_pod(reservable.api, namespace_of, pod("before", **raw))  # type: ignore[arg-type]
    assert wait_decided(reservable.api, namespace_of, ["before"])["before"] is not None
    tables.apply(reservable.api, tables.with_row(ROW, reserved=True))
    wait_tainted(reservable, 4)
    create_pod(reservable.api, namespace_of, pod("raw", **raw))  # type: ignore[arg-type]
    named = raw | {"tolerations": [model_taint(ROW), OURS]}
    create_pod(reservable.api, namespace_of, pod("named", **named))  # type: ignore[arg-type]
    decided = wait_decided(reservable.api, namespace_of, ["raw", "named"])
    assert decided["raw"] is None
    assert decided["named"] is not None
    before = reservable.api.get(path("v1", "pods", "before", namespace=namespace_of))
    assert before["status"]["phase"] == "Running"


@pytest.mark.rule("H7")
def test_it_waits_for_daemon_sets_that_would_be_locked_out(reservable: ControlPlane) -> None:
    template = {
        "metadata": {"labels": {"app": "driver"}},
        "spec": {
            "containers": [{"name": "main", "image": "x"}],
            "tolerations": [{"key": "gpu-model", "operator": "Exists"}],
        },
    }
    driver = {
        "metadata": {"name": "driver"},
        "spec": {"selector": {"matchLabels": {"app": "driver"}}, "template": template},
    }
    reservable.api.create(DAEMONS, driver)
    tables.apply(reservable.api, tables.with_row(ROW, reserved=True))
    wait_until(
        lambda: blocked(reservable).get("status") == "True",
        timeout=SECONDS,
        what="the switch to be blocked",
    )
    assert blocked(reservable)["message"] == (
        "not tainted yet: a100-80gb for default/driver; their Pods would not come back to these "
        "nodes, so give each DaemonSet the toleration key gpuspec.preferred.jp/reserved, "
        "operator Exists, effect NoSchedule"
    )
    assert tainted(reservable) == 0
    toleration = {"key": OURS["key"], "operator": "Exists", "effect": "NoSchedule"}
    tolerations = [{"key": "gpu-model", "operator": "Exists"}, toleration]
    at = f"{DAEMONS}/driver"
    reservable.api.patch(at, {"spec": {"template": {"spec": {"tolerations": tolerations}}}})
    wait_tainted(reservable, 4)
    wait_until(
        lambda: blocked(reservable).get("status") == "False",
        timeout=SECONDS,
        what="the switch to be free",
    )
    reservable.api.delete(at)


@pytest.mark.rule("D6")
def test_pending_pods_without_a_device_left_get_an_event_and_are_counted(
    reservable: ControlPlane, namespace_of: str
) -> None:
    request = '{"containers": [], "policy": "EveryFit", "candidates": ["a100-80gb"], "table": "x"}'
    body = pod(
        "waiting", limits={GPU: "4"}, tolerations=[model_taint(ROW)], nodeSelector={"no": "where"}
    )
    body["metadata"]["annotations"] = {REQUEST_ANNOTATION: request}
    create_pod(reservable.api, namespace_of, body)
    assert wait_decided(reservable.api, namespace_of, ["waiting"])["waiting"] is None
    tables.apply(reservable.api, tables.with_row(ROW, reserved=True))
    events = path("v1", "events", namespace=namespace_of)

    def told() -> list[Json]:
        return reservable.api.list(events, fieldSelector="reason=DevicesReserved")

    wait_until(told, timeout=SECONDS, what="an Event")
    wait_until(
        lambda: tables.status(reservable.api).get("reserved", {}).get("pendingPods") == 1,
        timeout=SECONDS,
        what="the Pod to be counted",
    )
    (event,) = told()
    assert event["type"] == "Warning"
    assert event["involvedObject"]["name"] == "waiting"
    assert event["message"] == (
        "every device that this Pod may use is reserved now (a100-80gb); "
        "create it again with the name of one, such as preferred.jp/gpu-a100-80gb"
    )
