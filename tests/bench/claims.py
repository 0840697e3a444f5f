"""A mix of Pods on the whole fleet, by claims and by the device plugin's resource."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill

from tests.bench.client import WrongAnswerError
from tests.bench.figures import WIDTH, table
from tests.bench.reviews import Json
from tests.cluster.api import Api, path
from tests.cluster.claims.allocated import by_claim
from tests.cluster.claims.fleet import (
    CLASSES,
    device_class,
    fleets_table,
    publishing,
    slices_of,
)
from tests.cluster.claims.mix import Wish, broken, by_resource, models, told, wishes
from tests.cluster.claims.running import Gpuspec, running
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import fleet
from tests.cluster.live.tables import install_resource
from tests.cluster.namespaces import create_namespace, empty_namespace
from tests.cluster.pods import create_pod, node_of
from tests.cluster.product.places import in_parallel, model_of
from tests.cluster.product.priorities import HIGH, HIGH_VALUE, priority_class

_COUNTS = {1: 70, 2: 15, 4: 10, 8: 5}
_POLL_S = 0.5
_QUIET_S = 10.0
_SHOWN = 3


@dataclass(frozen=True)
class Way:
    """One way to get devices.

    Attributes:
        output: What the table says.
        held: How many devices each bound Pod holds.
    """

    name: str
    output: str
    held: Callable[[Api, str], Mapping[str, int]]


@dataclass(frozen=True)
class Took:
    """What came of the mix.

    Attributes:
        created_s: Until the last Pod was created.
        bound_s: Until the last Pod that has a place was bound, both from the first creation.
        rows: How many Pods run on each row.
    """

    created_s: float
    bound_s: float
    rows: Counter[str]

    @property
    def ms_a_pod(self) -> float:
        """How long each Pod that runs took."""
        return 1000 * self.bound_s / max(1, self.rows.total())

    def row(self, name: str) -> tuple[str, ...]:
        """Return its line of the table."""
        return (
            name,
            f"{self.rows.total():,}",
            f"{self.created_s:.1f}",
            f"{self.bound_s:.1f}",
            f"{self.ms_a_pod:.1f}",
        )

    def shares(self, name: str) -> tuple[str, ...]:
        """Return its line of the table of rows."""
        return (name, *(f"{self.rows[one.row]:,}" for one in models()))


WAYS = (
    Way("device plugin", "ExtendedResource", by_resource),
    Way("claims", "ResourceClaim", by_claim),
)


def bench(*, seed: int, pods: int, version: str) -> None:
    """Create the mix in each way on an empty fleet and print how long it took.

    Args:
        seed: Of the mix; the same gives the same Pods.
        pods: How many.
        version: The minor version of Kubernetes.

    Raises:
        WrongAnswerError: A Pod is where it may not be, or waits though there is room for it.
    """
    wanted = wishes(seed, pods, _COUNTS)
    nodes = fleet()
    print(f"Kubernetes {version}, all of it; {len(nodes)} nodes and gpuspec on this machine.")
    print(fill(f"seed {seed}: {told(wanted)}", WIDTH, subsequent_indent="  "), flush=True)
    with _stand(version, nodes) as gpuspec:
        took = [_run(gpuspec, way, wanted) for way in WAYS]
    named = [(one, way.name) for way, one in zip(WAYS, took, strict=True)]
    head = ("of these Pods", "run", "created, s", "bound, s", "ms/Pod")
    print("\n" + table(head, [one.row(name) for one, name in named]))
    rows = ("on rows", *(one.row for one in models()))
    print("\n" + table(rows, [one.shares(name) for one, name in named]) + "\n")
    plugin, claims = took
    print(f"  ms/Pod of claims to device plugin: {claims.ms_a_pod / plugin.ms_a_pod:.2f}")


@contextmanager
def _stand(version: str, nodes: Sequence[Json]) -> Iterator[Gpuspec]:
    """A control plane with the fleet, whose devices both ways offer, and gpuspec."""
    with (
        TemporaryDirectory(prefix="gpuspec-bench-") as folder,
        ControlPlane.start(version, nodes=nodes) as plane,
    ):
        install_resource(plane.api)
        plane.api.create(CLASSES, device_class())
        with (
            publishing(plane.api, slices_of(nodes)),
            priority_class(plane.api, HIGH, HIGH_VALUE),
            running(plane, fleets_table(), Path(folder)) as gpuspec,
        ):
            yield gpuspec


def _run(gpuspec: Gpuspec, way: Way, wanted: Sequence[Wish]) -> Took:
    api, namespace = gpuspec.api, way.output.lower()
    create_namespace(api, namespace)
    gpuspec.use(fleets_table(output=way.output))
    bodies = {one.name: one.body() for one in wanted}
    started = time.monotonic()
    in_parallel(lambda name: create_pod(api, namespace, bodies[name]), bodies)
    created = time.monotonic()
    bound = _all_bound(api, namespace)
    faults = list(broken(api, namespace, wanted, way.held))
    if faults:
        raise WrongAnswerError(f"{way.name}: {len(faults)}, such as {faults[:_SHOWN]}")
    rows = _rows(api, namespace)
    # One by one: the API server takes longer for a collection of so many than a request may take.
    pods = path("v1", "pods", namespace=namespace)
    in_parallel(lambda name: api.delete(f"{pods}/{name}", gracePeriodSeconds="0"), bodies)
    empty_namespace(api, namespace)
    return Took(created - started, bound - started, rows)


def _rows(api: Api, namespace: str) -> Counter[str]:
    pods = api.list(path("v1", "pods", namespace=namespace))
    return Counter(model_of(node) or "" for node in map(node_of, pods) if node is not None)


def _all_bound(api: Api, namespace: str) -> float:
    """Return when the last Pod was bound; it is known after nothing has happened for a while."""
    pods = path("v1", "pods", namespace=namespace)
    waiting, changed = -1, time.monotonic()
    while time.monotonic() < changed + _QUIET_S:
        now = len(api.list(pods, fieldSelector="spec.nodeName="))
        if now != waiting:
            waiting, changed = now, time.monotonic()
        if not now:
            break
        time.sleep(_POLL_S)
    return changed
