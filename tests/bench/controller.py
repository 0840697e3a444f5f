"""The controller on a large cluster: its memory, its CPU, what it asks, how soon it acts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import cycle, islice

from tests.bench.client import Answer, Question, WrongAnswerError, connected, run
from tests.bench.devices import allocations, claim_requests, slice_requests
from tests.bench.figures import percentile, table
from tests.bench.followed import Controller, Followed, followed
from tests.bench.phases import Phases, rounded
from tests.bench.population import MODEL_LABEL, NODES, Population, model, node_name
from tests.bench.reviews import Json
from tests.cluster.api import verify_with, wait_until
from tests.cluster.live.tables import apply
from webhook.terms import RESERVED_TAINT, TABLES_PATH, UNHEALTHY_TAINT

ROWS = 5
SYNC_TARGET_S, MEMORY_TARGET_MIB, ACTION_TARGET_S = 20, 400, 1

_TABLE = f"{TABLES_PATH}/default"
_MOVED = f"{NODES}/{node_name(1)}"
_CONNECTIONS = 16
_PATIENCE_S = 600.0
_POLL_S = 0.05
_HEARTBEAT_S = 300.0
_REPLACED_PODS_A_SECOND = 10
_RELABELLED = 6
# One of every row: the budget lets that many go however small the rows are (semantics H4).
_FAILING = ROWS


def bench(seconds: float, *, nodes: int, pods: int, version: str) -> None:
    """Measure and print what the controller does while a cluster grows, rests and changes.

    Args:
        seconds: How long to look at a cluster at rest, and at one whose Pods come and go.
        nodes: How many nodes it gets, eight GPUs each.
        pods: How many Pods hold a GPU each.
        version: The minor version of Kubernetes.
    """
    population = Population(nodes, pods, ROWS)
    print(f"Kubernetes {version}, API server and etcd alone: nobody schedules, no kubelets.")
    with followed(version, population) as cluster:
        with cluster.controller() as controller:
            grown = _Bench(cluster, controller, population)
            grown.grows()
        print(_sizes(cluster.api.get(f"{NODES}/{node_name(0)}"), population), flush=True)
        started = time.monotonic()
        with cluster.controller() as controller:
            _Bench(cluster, controller, population).lives(started, seconds)


class _Bench:
    """One controller on one cluster."""

    def __init__(self, cluster: Followed, controller: Controller, population: Population) -> None:
        self._cluster = cluster
        self._controller = controller
        self._population = population
        self._phases = Phases(cluster.asked, controller)
        self._version = cluster.api.get(_TABLE)["metadata"]["resourceVersion"]

    def grows(self) -> None:
        """Have all nodes join at once, then all Pods start, while the controller looks on."""
        there = self._population
        self._wait_written()
        with self._phases.of(f"{there.nodes:,} nodes join"):
            self._ask(there.node_requests())
            self._wait_row_sum("nodes", there.nodes)
        with self._phases.of(f"{there.gpus:,} devices published"):
            self._ask(slice_requests(there))
            self._wait_row_sum("claimDevices", there.gpus)
        with self._phases.of(f"{there.pods:,} Pods start"):
            self._ask(there.pod_requests())
            self._ask(claim_requests(there))
            self._ask(allocations(there))
            self._wait_row_sum("free", there.gpus - there.pods)
        print(self._phases, flush=True)

    def lives(self, started: float, seconds: float) -> None:
        """Take over a cluster that is there; see it at rest, with Pods that change, and switched.

        Args:
            started: When the process was started.
            seconds: How long each of the first two.
        """
        there = self._population
        self._controller.wait_leads()
        led = time.monotonic()
        self._wait_written()
        print(_synced(led - started, time.monotonic() - led, self._controller), flush=True)
        with self._phases.of("at rest, heartbeats"):
            self._ask(_paced(there.heartbeats(), there.nodes / _HEARTBEAT_S, seconds), 1)
        with self._phases.of(f"{_REPLACED_PODS_A_SECOND} Pods/s replaced"):
            rate = 2 * _REPLACED_PODS_A_SECOND
            self._ask(_paced(there.replacements(), rate, seconds), 1)
        with self._phases.of(f"{there.members:,} nodes reserved"):
            self._switch(reserved=True)
        with self._phases.of(f"a node relabelled {_RELABELLED}x"):
            latencies = self._relabel()
        with self._phases.of(f"{there.members:,} nodes released"):
            self._switch(reserved=False)
        with self._phases.of(f"{_FAILING} nodes fail in turn"):
            latencies["unhealthy taint, of its condition"] = self._fail()
        if self._controller.failures:
            raise WrongAnswerError(f"{self._controller.failures:g} runs of loops failed")
        with self._phases.of("API server restarted"):
            self._cluster.plane.restart("kube-apiserver")
            latencies["status, API server just back"] = [self._told_after(joins=True)]
        print(self._phases, flush=True)
        print(f"  target: at most {MEMORY_TARGET_MIB} MiB\n\n{_told(latencies)}", flush=True)

    def _switch(self, *, reserved: bool) -> None:
        """Reserve the first row, or take it back, and wait until its last node has followed."""
        before = self._cluster.asked.counts()
        apply(self._cluster.api, self._population.table(reserved=reserved))
        self._wait(
            lambda: (
                (self._cluster.asked.counts() - before)["patch", "nodes"]
                >= self._population.members
            ),
            "every node of the row to be tainted, or untainted",
        )

    def _relabel(self) -> dict[str, list[float]]:
        """Move a node into the reserved row and out of it; return what took how long."""
        took: dict[str, list[float]] = {"taint": [], "status": []}
        for joins in islice(cycle((True, False)), _RELABELLED):
            started = time.monotonic()
            self._label(joins=joins)
            self._wait(
                lambda joins=joins: _is_reserved(self._cluster.api.get(_MOVED)) is joins,  # type: ignore[misc]
                f"{_MOVED} to be {'tainted' if joins else 'untainted'}",
            )
            took["taint"].append(time.monotonic() - started)
            self._wait_members(self._population.members + joins)
            took["status"].append(time.monotonic() - started)
        return took

    def _fail(self) -> list[float]:
        """Have nodes fail one after the other; return the seconds until each is tainted."""
        took = []
        lost = {"type": "GPUIsLost", "status": "True", "reason": "Bench"}
        for number in range(_FAILING):
            at = f"{NODES}/{node_name(2 + number)}"
            started = time.monotonic()
            status = {"status": {"conditions": [lost]}}
            self._cluster.api.patch(f"{at}/status", status, kind="strategic")
            self._wait(
                lambda at=at: UNHEALTHY_TAINT in json.dumps(self._cluster.api.get(at)["spec"]),  # type: ignore[misc]
                f"{at} to be tainted",
            )
            took.append(time.monotonic() - started)
        return took

    def _told_after(self, *, joins: bool) -> float:
        """Move the node; return the seconds until the status says so."""
        started = time.monotonic()
        self._label(joins=joins)
        self._wait_members(self._population.members + joins)
        return time.monotonic() - started

    def _label(self, *, joins: bool) -> None:
        """Move a node of the second row into the first, or back."""
        label = {MODEL_LABEL: model(0 if joins else 1)}
        self._cluster.api.patch(_MOVED, {"metadata": {"labels": label}})

    def _wait_members(self, wanted: int) -> None:
        self._wait(
            lambda: self._rows()[0]["nodes"] == wanted, f"the first row to have {wanted} nodes"
        )

    def _ask(self, requests: Iterable[bytes], connections: int = _CONNECTIONS) -> None:
        """Send requests to the API server, each of which has to go well."""

        async def work() -> None:
            tls = verify_with(self._cluster.plane.ca_file)
            port = self._cluster.port
            async with connected(port, tls, connections=connections) as client:
                await client.drive(Question(request, _require_success) for request in requests)

        run(work())

    def _rows(self) -> list[Json]:
        rows: list[Json] = self._cluster.api.get(_TABLE).get("status", {}).get("rows", [])
        return rows

    def _wait_written(self) -> None:
        """Wait until the status was written by this controller for the first time."""
        self._wait(
            lambda: self._cluster.api.get(_TABLE)["metadata"]["resourceVersion"] != self._version,
            "the status to be written",
        )

    def _wait_row_sum(self, field: str, wanted: int) -> None:
        self._wait(
            lambda: sum(row[field] for row in self._rows()) == wanted,
            f"the status to say {wanted} {field}",
        )

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        wait_until(holds, timeout=_PATIENCE_S, what=what, poll=_POLL_S)


def _paced(requests: Iterator[bytes], rate: float, seconds: float) -> Iterator[bytes]:
    """Yield so many requests a second for so long, at least one; waits in between."""
    started = time.monotonic()
    for number, request in enumerate(islice(requests, max(1, round(rate * seconds)))):
        time.sleep(max(0.0, started + number / rate - time.monotonic()))
        yield request


def _require_success(answer: Answer) -> None:
    if answer.status not in (HTTPStatus.OK, HTTPStatus.CREATED):
        raise WrongAnswerError(f"{answer.status} {answer.body!r}")


def _is_reserved(node: Json) -> bool:
    return any(taint["key"] == RESERVED_TAINT for taint in node["spec"].get("taints", ()))


def _sizes(node: Json, there: Population) -> str:
    kilobytes = len(json.dumps(node, separators=(",", ":"))) / 1000
    labels = len(node["metadata"]["labels"])
    return (
        f"\n{there.nodes:,} nodes of {kilobytes:.1f} KB with {labels} labels, "
        f"{there.gpus:,} GPUs; {there.pods:,} Pods"
    )


def _synced(to_lead_s: float, to_status_s: float, controller: Controller) -> str:
    cpu = controller.cpu_seconds
    spent = "?" if cpu is None else f"{cpu:.1f}"
    return (
        f"\n  first sync: {to_status_s:.1f} s from leading to a status, target at most "
        f"{SYNC_TARGET_S}\n  before it, from the process' start: {to_lead_s:.1f} s\n"
        f"  until then: {spent} s of CPU, {rounded(controller.memory_mib('VmHWM'))} MiB at most\n"
    )


def _told(latencies: Mapping[str, Sequence[float]]) -> str:
    head = ("from a node's label to", "median s", "most s", "target s")
    action = str(ACTION_TARGET_S)
    targets = {"taint": action, "unhealthy taint, of its condition": action}
    return table(
        head,
        [
            (name, f"{percentile(took, 0.5):.2f}", f"{max(took):.2f}", targets.get(name, "a few"))
            for name, took in latencies.items()
        ],
    )
