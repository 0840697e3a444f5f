"""A mix of Pods like the fleet's, and the law that every one of them is held against.

Pure but for :func:`broken`. Which rows a Pod may have is worked out here anew, from what the
fixture says of the fleet and not from the product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from tests.builders import DOMAIN, Json
from tests.cluster.api import Api, path
from tests.cluster.fleet import GPU, load_fixture
from tests.cluster.pods import node_of, pod
from tests.cluster.product.places import model_of, nodes_of
from tests.cluster.product.priorities import HIGH

_HIGH_SHARE = 1 / 3
_NAMES = ("any", "any", "any", "any-16gb", "any-24gb", "v100-32gb", "a30", "a100")
"""In the shares of the fixture: what is named explicitly is less than what is not."""


@dataclass(frozen=True)
class Model:
    """A row as the fixture has it."""

    row: str
    family: str
    vram: int
    per_node: int


@dataclass(frozen=True)
class Wish:
    """A Pod that asks for so many devices.

    Attributes:
        spec: What it asks for, after ``gpu-``.
        rows: The rows that may give them; none where the Pod must be refused.
    """

    name: str
    spec: str
    count: int
    high: bool
    rows: frozenset[str]

    def body(self) -> Json:
        """The Pod."""
        found = pod(self.name, limits={f"{DOMAIN}/gpu-{self.spec}": str(self.count)})
        if self.high:
            found["spec"]["priorityClassName"] = HIGH
        return found


@cache
def models() -> tuple[Model, ...]:
    """The rows of the fleet, cheapest first."""
    fixture = load_fixture()
    per_node = {pool["class"]: pool["gpusPerNode"] for pool in fixture["pools"]}
    classes = sorted(fixture["classes"], key=lambda one: one["costRank"])
    return tuple(
        Model(one["name"], one["family"], one["vramGB"], per_node[one["name"]]) for one in classes
    )


def matching(spec: str) -> tuple[Model, ...]:
    """The models that a spec (``any-24gb``, ``a30``) means."""
    name, _, size = spec.partition("-")
    least = int(size.removesuffix("gb") or 0)
    return tuple(
        model for model in models() if name in ("any", model.family) and model.vram >= least
    )


def allowed(spec: str, count: int, *, high: bool) -> frozenset[str]:
    """The rows that may give so many devices for a spec on one node."""
    fitting = [model for model in matching(spec) if model.per_node >= count]
    smallest = min((model.vram for model in fitting), default=0)
    return frozenset(one.row for one in fitting if not high or one.vram == smallest)


def wishes(seed: int, number: int, counts: Mapping[int, float]) -> list[Wish]:
    """So many Pods that can all be met on an empty fleet; the same seed gives the same.

    Args:
        counts: How many devices a Pod wants, each with its weight.
    """
    random = Random(seed)  # noqa: S311
    found: list[Wish] = []
    while len(found) < number:
        spec = random.choice(_NAMES)
        (count,) = random.choices(list(counts), list(counts.values()))
        high = random.random() < _HIGH_SHARE
        if rows := allowed(spec, count, high=high):
            found.append(Wish(f"p{len(found):04d}", spec, count, high, rows))
    return found


def told(wanted: Sequence[Wish]) -> str:
    """What a mix is made of, in a line."""
    specs = Counter(one.spec for one in wanted)
    high = sum(one.high for one in wanted)
    parts = ", ".join(f"{number} {spec}" for spec, number in specs.most_common())
    devices = sum(one.count for one in wanted)
    return f"{len(wanted)} Pods for {devices} devices, {high} of high priority: {parts}"


Holders = Callable[[Api, str], Mapping[str, int]]


def by_resource(api: Api, namespace: str) -> dict[str, int]:
    """How many devices each bound Pod holds by the device plugin's resource."""
    return {
        one["metadata"]["name"]: sum(
            int(container["resources"]["limits"][GPU]) for container in one["spec"]["containers"]
        )
        for one in api.list(path("v1", "pods", namespace=namespace))
        if node_of(one)
    }


def broken(api: Api, namespace: str, wanted: Sequence[Wish], holders: Holders) -> Iterator[str]:
    """How the law is broken right now: who is where it may not be, and who waits beside free room.

    Args:
        holders: How many devices each bound Pod holds.
    """
    held = holders(api, namespace)
    nodes = {
        one["metadata"]["name"]: node_of(one)
        for one in api.list(path("v1", "pods", namespace=namespace))
    }
    free = {node: model.per_node for model in models() for node in nodes_of(model.row)}
    for one in wanted:
        node = nodes.get(one.name)
        if node is not None:
            free[node] -= held.get(one.name, one.count)
            if model_of(node) not in one.rows:
                yield f"{one} is on {node}"
            if held.get(one.name, one.count) != one.count:
                yield f"{one} holds {held[one.name]} devices"
    yield from (f"{node} gives {-left} devices too many" for node, left in free.items() if left < 0)
    most: Counter[str] = Counter()
    for node, left in free.items():
        row = model_of(node) or ""
        most[row] = max(most[row], left)
    for one in wanted:
        if nodes.get(one.name) is None and any(most[row] >= one.count for row in one.rows):
            yield f"{one} waits, though there is room"
