"""Every replica follows the table of the cluster, and nothing that happens to it stops Pods."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.cluster.api import Api, path, wait_until
from tests.cluster.configuration import webhook_configuration
from tests.cluster.control_plane import ControlPlane
from tests.cluster.live import tables
from tests.cluster.live.balancer import balancer
from tests.cluster.live.programs import Controller, Replica, agree
from tests.cluster.pods import create_pod, pod
from tests.cluster.versions import ON_NEWEST
from webhook.terms import REQUEST_ANNOTATION

pytestmark = ON_NEWEST

KEY = "preferred.jp/gpu-any"
BUILT_IN_ROWS = 65
FLEETS_DIGEST = "e714847787031e18"
SECONDS = 30.0
AGREE_SECONDS = 2.0
EDITS = 100
CONFIGURATIONS = path("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations")


@contextmanager
def called(plane: ControlPlane, replicas: list[Replica]) -> Iterator[None]:
    """A time in which the API server sends Pods to the replicas in turn."""
    with balancer([one.port for one in replicas]) as port:
        bundle = b"".join(one.ca_bundle for one in replicas)
        created = plane.api.create(CONFIGURATIONS, webhook_configuration(port, bundle))
        try:
            wait_until(
                lambda: digest_of_a_pod(plane.api, "default"), timeout=SECONDS, what="a call"
            )
            yield
        finally:
            plane.api.delete(f"{CONFIGURATIONS}/{created['metadata']['name']}")


def digest_of_a_pod(api: Api, namespace: str) -> str:
    """Create a Pod for no longer than the answer; the digest of the table that decided it."""
    stored = api.create(
        path("v1", "pods", namespace=namespace), pod("probe", limits={KEY: "1"}), dryRun="All"
    )
    annotation = (stored["metadata"].get("annotations") or {}).get(REQUEST_ANNOTATION)
    return str(json.loads(annotation)["table"]) if annotation else ""


def test_without_a_table_the_built_in_one_serves_and_says_so(replicas: list[Replica]) -> None:
    for one in replicas:
        assert one.table["rows"] == BUILT_IN_ROWS
        assert one.table["source"] == "built-in, for the cluster has no SelectionTable default"
        assert one.table["problems"] == []


def test_created_changed_broken_and_deleted_tables_are_followed_by_all(
    plane: ControlPlane, replicas: list[Replica]
) -> None:
    built_in = replicas[0].digest
    tables.apply(plane.api, tables.example())
    agree(replicas, FLEETS_DIGEST)
    assert replicas[0].table["source"] == "SelectionTable default"
    assert replicas[0].table["problems"] == []

    tables.apply(plane.api, tables.with_row("a30-24gb", perNode=0))
    wait_until(lambda: all(one.table["problems"] for one in replicas), timeout=SECONDS, what="news")
    for one in replicas:
        assert one.digest == FLEETS_DIGEST
        (problem,) = one.table["problems"]
        at = "SelectionTable default: spec.devices[2].perNode"
        assert problem == f"{at}: perNode is 0 and should be greater than or equal to 1"
        assert one.metric("gpuspec_table_refused") == 1

    tables.apply(plane.api, tables.example())
    wait_until(
        lambda: not any(one.table["problems"] for one in replicas), timeout=SECONDS, what="peace"
    )
    tables.delete(plane.api)
    agree(replicas, built_in)


@pytest.mark.rule("D7")
def test_the_live_status_reaches_admission(
    table: ControlPlane, controller: Controller, replicas: list[Replica], namespace_of: str
) -> None:
    api = table.api
    with called(table, replicas[:1]):
        tables.apply(api, tables.edited(defaultPolicy="SmallestFit"))
        body = pod("small", limits={"preferred.jp/gpu-any-24gb": "1"})

        def candidates() -> list[str]:
            stored = api.create(path("v1", "pods", namespace=namespace_of), body, dryRun="All")
            request = json.loads(stored["metadata"]["annotations"][REQUEST_ANNOTATION])
            found: list[str] = request["candidates"]
            return found

        wait_until(lambda: candidates() == ["a30-24gb"], timeout=SECONDS, what="the smallest tier")
        nodes = api.list(path("v1", "nodes"), labelSelector="gpu-model=a30-24gb")
        names = [node["metadata"]["name"] for node in nodes]
        for name in names:
            api.patch(path("v1", "nodes", name), {"spec": {"unschedulable": True}})
        wait_until(
            lambda: candidates() == ["v100-32gb"],
            timeout=SECONDS,
            what="the next tier",
            state=lambda: str(tables.status(api)) + controller.process.log_end(),
        )
        for name in names:
            api.patch(path("v1", "nodes", name), {"spec": {"unschedulable": None}})
        wait_until(lambda: candidates() == ["a30-24gb"], timeout=SECONDS, what="the smallest again")


def test_a_hundred_edits_under_load_lose_no_pod_and_every_pod_its_tables(
    table: ControlPlane, replicas: list[Replica], namespace_of: str
) -> None:
    api = table.api
    agree(replicas, FLEETS_DIGEST)
    in_force: list[tuple[float, str]] = [(time.monotonic(), FLEETS_DIGEST)]
    slowest = 0.0
    with called(table, replicas), created_all_the_time(api, namespace_of) as found:
        for edit in range(EDITS):
            former = replicas[0].digest
            tables.apply(api, tables.with_row("a30-24gb", cost=100 + edit))
            wait_until(lambda: replicas[0].digest != former, timeout=SECONDS, what="it", poll=0.01)  # noqa: B023
            digest = replicas[0].digest
            slowest = max(slowest, agree(replicas, digest))
            in_force.append((time.monotonic(), digest))
    print(
        f"\n{len(found)} Pods created during {EDITS} edits; replicas agreed within {slowest:.2f} s"
    )
    assert len(found) > EDITS
    assert slowest < AGREE_SECONDS
    for started, ended, digest in found:
        # In force from the moment at which the former was until all replicas had the next one.
        possible = {
            one
            for number, (_, one) in enumerate(in_force)
            if (number == 0 or in_force[number - 1][0] <= ended)
            and (number + 1 == len(in_force) or in_force[number + 1][0] >= started)
        }
        assert digest in possible


@contextmanager
def created_all_the_time(api: Api, namespace: str) -> Iterator[list[tuple[float, float, str]]]:
    """Create Pods from several clients; what each took, and its table's digest. None may fail."""
    found: list[tuple[float, float, str]] = []
    stopping = threading.Event()

    def create(client: int) -> None:
        number = 0
        while not stopping.is_set():
            started = time.monotonic()
            digest = digest_of_a_stored_pod(api, namespace, f"pod-{client}-{number}")
            found.append((started, time.monotonic(), digest))
            number += 1

    with ThreadPoolExecutor(4) as clients:
        running = [clients.submit(create, client) for client in range(4)]
        try:
            yield found
        finally:
            stopping.set()
        for one in running:
            one.result()


def digest_of_a_stored_pod(api: Api, namespace: str, name: str) -> str:
    body = pod(name, limits={KEY: "1"}, schedulingGates=[{"name": "example.com/never"}])
    stored = create_pod(api, namespace, body)
    return str(json.loads(stored["metadata"]["annotations"][REQUEST_ANNOTATION])["table"])
