"""Nodes that are alike to a table: thousands of nodes become a few kinds, judged once each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from selection_spec.labels import ARCH_LABEL, OS_LABEL, Operator
from selection_spec.table import Table
from webhook.inventory.facts import NodeFacts, Taint
from webhook.inventory.matching import Matcher
from webhook.inventory.memory import card_mib
from webhook.inventory.taints import is_own, is_transient, keeps_pods_away, tells_a_fault
from webhook.inventory.vendors import gpus, telling_labels
from webhook.terms import HEALTH_LABEL, SUSPECT

_REMEMBERED_KEYS = 10_000
_DECORATION = re.compile(r"[^a-z0-9]+")

Pairs = tuple[tuple[str, str], ...]
Amounts = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """All that a table's status needs to know of a node; equal for nodes that are alike.

    Attributes:
        rows: Ids of the rows that it belongs to.
        strangers: Ids of the rows whose labels it has, but not their os or arch (D10).
        platform: ``linux/amd64``, as far as its labels tell.
        gpus: Its GPUs by resource, whether a row matches it or not.
        devices: What is allocatable of the table's resources.
        built: What is there of them, the sick among them.
        taints: Those that keep Pods away and say what the node is, not how it fares.
        usable: Whether a Pod could start there now, were there room (D7): Ready, not cordoned,
            without our unhealthy taint and Kubernetes' own.
        card_mib: What the driver says a whole card of NVIDIA's has, 0 where labels don't tell.
        labels: The labels by which the table's rows could know it, or nearly so.
        unknown: What tells most about its GPUs, where it has some and belongs to no row.
    """

    rows: tuple[str, ...]
    strangers: tuple[str, ...]
    platform: str
    gpus: Amounts
    devices: Amounts
    built: Amounts
    taints: tuple[Taint, ...]
    usable: bool
    suspect: bool
    card_mib: int
    labels: Pairs
    unknown: Pairs


@dataclass(slots=True)
class Tally:
    """Nodes of one kind: how many, the first of them, and what Pods leave free on each.

    ``free`` counts by resource what is usable and not held, on all nodes together.
    """

    kind: Kind
    nodes: int = 0
    first: str = ""
    free: dict[str, int] = field(default_factory=dict)


Held = Callable[[str, str], int]
"""How many devices of a node, and of an extended resource, are held."""


class Kinds:
    """Sorts nodes by kind, again and again; a node that did not change is not judged again.

    Facts are frozen: the same object under the same name is a node that did not change.
    """

    def __init__(self, table: Table) -> None:
        self._matcher = Matcher(table)
        self._resources = table.resources
        requirements = [one for row in table.rows for one in row.nodes]
        self._key_names = {plain(one.key) for one in requirements}
        self._keys: dict[str, bool] = {}
        self._values = frozenset(
            value
            for one in requirements
            if one.operator is Operator.IN
            for value in filter(tells, one.values)
        )
        self._seen: dict[str, tuple[NodeFacts, Kind]] = {}
        self._known: dict[Kind, Kind] = {}

    def tallies(self, nodes: Iterable[NodeFacts], held: Held) -> list[Tally]:
        """Count nodes by kind, in the order of each kind's first.

        Args:
            nodes: Every node of the cluster.
            held: Tells how many of a node's devices are held, whoever does.
        """
        seen: dict[str, tuple[NodeFacts, Kind]] = {}
        tallies: dict[int, Tally] = {}
        for node in nodes:
            entry = self._seen.get(node.name)
            if entry is None or entry[0] is not node:
                kind = self._kind(node)
                entry = node, self._known.setdefault(kind, kind)
            seen[node.name] = entry
            kind = entry[1]
            tally = tallies.get(id(kind))
            if tally is None:
                tally = tallies[id(kind)] = Tally(kind, first=node.name)
            tally.nodes += 1
            if kind.usable:
                _count_free(tally, node.name, held)
        self._seen = seen
        self._known = {tally.kind: tally.kind for tally in tallies.values()}
        return list(tallies.values())

    def kind_of(self, name: str) -> Kind | None:
        """Return what a node was in the last count, None where there is no such node."""
        entry = self._seen.get(name)
        return None if entry is None else entry[1]

    def _kind(self, node: NodeFacts) -> Kind:
        labels = node.labels
        rows = tuple(row.id for row in self._matcher.rows_of(node))
        its_gpus = tuple(gpus(node, self._resources).items())
        return Kind(
            rows=rows,
            strangers=tuple(row.id for row in self._matcher.strangers_of(node)),
            platform=f"{labels.get(OS_LABEL, 'linux')}/{labels.get(ARCH_LABEL, 'amd64')}",
            gpus=its_gpus,
            devices=self._amounts(node.allocatable),
            built=self._amounts(node.capacity),
            taints=tuple(
                taint
                for taint in node.taints
                if keeps_pods_away(taint) and not is_own(taint) and not is_transient(taint)
            ),
            usable=node.ready and not node.cordoned and not any(map(tells_a_fault, node.taints)),
            suspect=labels.get(HEALTH_LABEL) == SUSPECT,
            card_mib=card_mib(labels),
            labels=tuple(
                (key, value)
                for key, value in sorted(labels.items())
                if value in self._values or self._is_telling(key)
            ),
            unknown=telling_labels(labels) if its_gpus and not rows else (),
        )

    def _amounts(self, amounts: Mapping[str, int]) -> Amounts:
        return tuple(
            (name, count)
            for name, count in sorted(amounts.items())
            if count and name in self._resources
        )

    def _is_telling(self, key: str) -> bool:
        """Tell whether a label is one that rows speak of, or is spelt like one."""
        if len(self._keys) > _REMEMBERED_KEYS:  # some put a new key on a node for every job
            self._keys.clear()
        telling = self._keys.get(key)
        if telling is None:
            telling = self._keys[key] = plain(key) in self._key_names
        return telling


def plain(key: str) -> str:
    """Return what a label's name sounds like: ``example.com/GPU_Model`` and ``gpu-model`` alike."""
    return _DECORATION.sub("", key.rpartition("/")[2].lower())


def tells(value: str) -> bool:
    """Tell whether a label's value says something by itself: ``8`` and ``true`` stand anywhere."""
    return not value.isdigit() and value not in ("", "true", "false")


def _count_free(tally: Tally, node: str, held: Held) -> None:
    for resource, count in tally.kind.devices:
        free = max(0, count - held(node, resource))
        tally.free[resource] = tally.free.get(resource, 0) + free
