"""The controller on a large cluster: its memory, its CPU, what it asks, how soon it acts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice

from tests.bench.client import Answer, Question, WrongAnswerError, connected, run
from tests.bench.figures import percentile, table
from tests.bench.followed import LOOPS, Controller, Followed, Runs, followed, writes
from tests.bench.population import MODEL_LABEL, NODES, Population, model, node_name
from tests.bench.reviews import Json
from tests.cluster.api import verify_with, wait_until
from tests.cluster.live.tables import apply
from webhook.terms import RESERVED_TAINT, TABLES_PATH

ROWS = 5
SYNC_TARGET_S, MEMORY_TARGET_MIB, ACTION_TARGET_S = 20, 400, 1

_TABLE = f"{TABLES_PATH}/default"
_CONNECTIONS = 16
_PATIENCE_S = 600.0
_POLL_S = 0.02
_HEARTBEAT_S = 300.0
_REPLACED_PODS_A_SECOND = 10
_RELABELLED = 10


@dataclass(frozen=True)
class Phase:
    """What happened during a time, and what it cost."""

    name: str
    seconds: float
    cpu_seconds: float | None
    mib: float | None
    peak_mib: float | None
    reads: int
    writes: int
    runs: dict[str, Runs]

    def row(self) -> tuple[str, ...]:
        """Return its line of the table."""
        cpu = None if self.cpu_seconds is None else 100 * self.cpu_seconds / self.seconds
        return (
            self.name,
            f"{self.seconds:.1f}",
            _rounded(cpu, "%"),
            _rounded(self.mib),
            _rounded(self.peak_mib),
            f"{self.reads:,}",
            f"{self.writes:,}",
        )

    def loops_row(self) -> tuple[str, ...]:
        """Return its line of the table of loops."""
        return (self.name, *(cell for loop in LOOPS for cell in _runs_cells(self.runs[loop])))


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
        self._phases: list[Phase] = []
        self._version = cluster.api.get(_TABLE)["metadata"]["resourceVersion"]

    def grows(self) -> None:
        """Have all nodes join at once, then all Pods start, while the controller looks on."""
        there = self._population
        self._wait_written()
        with self._phase(f"{there.nodes:,} nodes join"):
            self._ask(there.node_requests())
            self._wait_row_sum("nodes", there.nodes)
        with self._phase(f"{there.pods:,} Pods start"):
            self._ask(there.pod_requests())
            self._wait_row_sum("free", there.gpus - there.pods)
        self._print()

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
        print(
            f"\n  first sync: {time.monotonic() - led:.1f} s from leading to a status, target at "
            f"most {SYNC_TARGET_S}\n  (and {led - started:.1f} s from the process' start to "
            f"leading); most memory {_rounded(self._controller.memory_mib('VmHWM'))} MiB\n",
            flush=True,
        )
        with self._phase("at rest, heartbeats"):
            self._ask(_paced(there.heartbeats(), there.nodes / _HEARTBEAT_S, seconds), 1)
        with self._phase(f"{_REPLACED_PODS_A_SECOND} Pods/s replaced"):
            rate = 2 * _REPLACED_PODS_A_SECOND
            self._ask(_paced(there.replacements(), rate, seconds), 1)
        with self._phase(f"{there.members:,} nodes reserved"):
            self._switch(reserved=True)
        with self._phase(f"{_RELABELLED} nodes relabelled"):
            latencies = self._relabel()
        with self._phase(f"{there.members:,} nodes released"):
            self._switch(reserved=False)
        self._print()
        print(f"  target: at most {MEMORY_TARGET_MIB} MiB\n\n{_told(latencies)}", flush=True)
        if self._controller.failures:
            raise WrongAnswerError(f"{self._controller.failures:g} runs of loops failed")

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
        """Move nodes into the reserved row and out of it; return what took how long."""
        tainted: list[float] = []
        written: list[float] = []
        for number in range(_RELABELLED):
            at = f"{NODES}/{node_name(number // 2 * ROWS + 1)}"
            joins = number % 2 == 0
            label = {MODEL_LABEL: model(0 if joins else 1)}
            started = time.monotonic()
            self._cluster.api.patch(at, {"metadata": {"labels": label}})
            self._wait(
                lambda at=at, joins=joins: _is_reserved(self._cluster.api.get(at)) is joins,  # type: ignore[misc]
                f"{at} to be {'tainted' if joins else 'untainted'}",
            )
            tainted.append(time.monotonic() - started)
            members = self._population.members + joins
            self._wait(
                lambda members=members: self._rows()[0]["nodes"] == members,  # type: ignore[misc]
                f"the status to say {members} nodes",
            )
            written.append(time.monotonic() - started)
        return {"taint": tainted, "status": written}

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

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        controller = self._controller
        asked, cpu, runs = self._cluster.asked.counts(), controller.cpu_seconds, controller.runs()
        started = time.monotonic()
        yield
        seconds = time.monotonic() - started
        spent = controller.cpu_seconds
        later = controller.runs()
        new = self._cluster.asked.counts() - asked
        self._phases.append(
            Phase(
                name=name,
                seconds=seconds,
                cpu_seconds=None if cpu is None or spent is None else spent - cpu,
                mib=controller.memory_mib("VmRSS"),
                peak_mib=controller.memory_mib("VmHWM"),
                reads=new.total() - writes(new),
                writes=writes(new),
                runs={
                    loop: Runs(
                        later[loop].count - runs[loop].count,
                        later[loop].seconds - runs[loop].seconds,
                    )
                    for loop in LOOPS
                },
            )
        )

    def _print(self) -> None:
        head = ("", "s", "CPU", "MiB", "peak", "reads", "writes")
        print(table(head, [phase.row() for phase in self._phases]))
        of_loops = ("", *(cell for loop in LOOPS for cell in (f"{loop} runs", "ms")))
        print("\n" + table(of_loops, [phase.loops_row() for phase in self._phases]), flush=True)


def _paced(requests: Iterator[bytes], rate: float, seconds: float) -> Iterator[bytes]:
    """Yield so many requests a second for so long, at least two; waits in between."""
    started = time.monotonic()
    for number, request in enumerate(islice(requests, max(2, round(rate * seconds)))):
        time.sleep(max(0.0, started + number / rate - time.monotonic()))
        yield request


def _require_success(answer: Answer) -> None:
    if answer.status not in (HTTPStatus.OK, HTTPStatus.CREATED):
        raise WrongAnswerError(f"{answer.status} {answer.body!r}")


def _is_reserved(node: Json) -> bool:
    return any(taint["key"] == RESERVED_TAINT for taint in node["spec"].get("taints", ()))


def _sizes(node: Json, there: Population) -> str:
    kib = len(json.dumps(node, separators=(",", ":"))) / 1000
    return (
        f"\n{there.nodes:,} nodes of {kib:.1f} KB with {len(node['metadata']['labels'])} labels, "
        f"{there.gpus:,} GPUs; {there.pods:,} Pods"
    )


def _told(latencies: Mapping[str, Sequence[float]]) -> str:
    head = ("from a node's label to", "median s", "most s", "target s")
    targets = {"taint": str(ACTION_TARGET_S), "status": "a few"}
    return table(
        head,
        [
            (name, f"{percentile(took, 0.5):.2f}", f"{max(took):.2f}", targets[name])
            for name, took in latencies.items()
        ],
    )


def _runs_cells(runs: Runs) -> tuple[str, str]:
    each = f"{1000 * runs.seconds / runs.count:.1f}" if runs.count else "-"
    return f"{runs.count:.0f}", each


def _rounded(value: float | None, unit: str = "") -> str:
    return "?" if value is None else f"{value:.0f}{unit}"
