"""What a cluster has to give right now, in pools of nodes that are alike to those who ask."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from selection_spec.availability import Availability, RowStatus
from selection_spec.rows import CLAIMS, Row
from selection_spec.table import Table
from webhook.advice.dead import dead_devices, is_dead
from webhook.inventory.broken import broken_rows
from webhook.inventory.claims import Here, Offered
from webhook.inventory.facts import NodeFacts, Taint, mappings, whole
from webhook.inventory.holders import Holders, holders, plugin_resources
from webhook.inventory.matching import Matcher
from webhook.inventory.pod_facts import PodFacts
from webhook.inventory.recogniser import Recogniser
from webhook.inventory.reservation import reserve_taint
from webhook.inventory.taints import keeps_pods_away, tells_a_fault

Json = dict[str, Any]

TAINTED_DEVICES: Final = "tainted by their driver"
"""Reason for devices that are away by themselves, whatever their node is."""

_NOT_TOLD = "the table's status does not tell them"


@dataclass(slots=True)
class Pool:
    """Nodes of the same rows behind the same taints, and what they have of one resource.

    Of devices that DRA drivers offer: those that the same rows recognise. What a single node has
    for a row, though other rows may recognise some of it too, is in the pool of that row alone.

    Attributes:
        rows: Ids of the rows of this resource that the nodes belong to.
        resource: The extended resource that is counted, or ``CLAIMS``.
        taints: What a Pod has to tolerate there; what says how a node fares is not among it.
        total: Devices on all its nodes.
        free: Those that nobody holds, on nodes that are fine.
        largest: The most free ones on a single node.
        node: That node.
        most_usable: The most devices on a single node that is fine, occupied or not (D7).
        away: Devices on nodes where nothing starts for now, by the reason; and tainted ones.
        dead: Free ones that health calls Failed; nothing keeps Pods away from them.
    """

    rows: tuple[str, ...]
    resource: str
    taints: tuple[Taint, ...] = ()
    total: int = 0
    free: int = 0
    largest: int = 0
    node: str = ""
    most_usable: int = 0
    away: dict[str, int] = field(default_factory=dict)
    dead: int = 0


@dataclass(frozen=True, slots=True)
class Supply:
    """All pools of a cluster.

    ``exact`` is False where the pools were told by a table's status, which does not say how free
    devices lie: ``largest`` is then the most that it can be. ``missing_classes`` are DeviceClasses
    that claims ask for and that do not exist (C3). ``unread`` says of rows whose devices are not
    counted why, ``broken`` why no Pod starts whose claim names them. ``classes`` are the
    DeviceClasses that are known, each with the extended resource that it serves or "".
    """

    pools: tuple[Pool, ...]
    exact: bool = True
    missing_classes: frozenset[str] = frozenset()
    unread: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    classes: Mapping[str, str] = field(default_factory=dict)

    @property
    def availability(self) -> Availability:
        """The same as admission sees it (D7, C3)."""
        devices: dict[str, int] = {}
        most: dict[str, int] = {}
        for pool in self.pools:
            for row in pool.rows:
                devices[row] = devices.get(row, 0) + pool.total
                most[row] = max(most.get(row, 0), pool.most_usable)
        rows = {row: RowStatus(devices[row], most[row]) for row in devices}
        return Availability(rows, self.missing_classes)


@dataclass(frozen=True, slots=True)
class _Place:
    """A node, or a pool of devices that is on none."""

    node: str
    pool: str


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The nodes of a cluster, the rows that they belong to, and who holds what of them."""

    by_name: Mapping[str, NodeFacts]
    matcher: Matcher
    held: Holders

    def served(self, name: str, rows: Iterable[str], resource: str) -> tuple[str, ...]:
        """Return those of some rows whose extended resource a node has from drivers.

        That is where no device plugin has it (k8s), and on the row's own nodes: devices decide the
        node for claims only (C4).
        """
        node = self.by_name.get(name)
        if node is None or node.capacity.get(resource):
            return ()
        homes = {row.id for row in self.matcher.rows_of(node)}
        return tuple(row for row in rows if row in homes)


class _Pools:
    """Pools while they are counted."""

    def __init__(self) -> None:
        self.found: dict[object, Pool] = {}

    def of(self, rows: tuple[str, ...], resource: str, taints: tuple[Taint, ...]) -> Pool:
        """Return a pool, a new one where there was none like it."""
        return self.found.setdefault((rows, taints), Pool(rows, resource, taints))


def supply_of_nodes(
    table: Table,
    nodes: Iterable[NodeFacts],
    pods: Iterable[PodFacts],
    offers: Offered | None = None,
) -> Supply:
    """Count what nodes and DRA drivers have and what Pods and claims leave.

    Args:
        table: Whose rows the nodes belong to.
        nodes: Every node of the cluster.
        pods: Every Pod that may hold devices.
        offers: What drivers offer and claims hold; None where no row is recognised by a claim.
    """
    held = holders(pods, offers, table.rows)
    matcher = Matcher(table)
    pools = _Pools()
    seen: dict[str, NodeFacts] = {}
    for node in nodes:
        seen[node.name] = node
        rows = [row for row in matcher.rows_of(node) if row.pool != CLAIMS]
        for resource in dict.fromkeys(row.resource for row in rows):
            ids = tuple(row.id for row in rows if row.resource == resource)
            pool = pools.of(ids, resource, _barriers(node))
            _add(pool, node, held.on(node.name, resource))
    if offers is None:
        return Supply(tuple(pools.found.values()))
    unread = _add_offered(pools, table, offers, _Nodes(seen, matcher, held))
    missing = frozenset(offers.missing_classes(table.rows))
    return Supply(
        tuple(pools.found.values()),
        missing_classes=missing,
        unread=unread,
        broken=broken_rows(table.rows, offers),
        classes=offers.classes or {},
    )


def supply_of_status(table: Table, status: Json) -> Supply:
    """Read a table's status, for those who may not see nodes and Pods."""
    rows = {str(row.get("id")): row for row in mappings(status.get("rows"))}
    missing = status.get("missingDeviceClasses")
    there = [row for row in table.rows if row.id in rows]
    return Supply(
        tuple(_of_status(row, rows[row.id]) for row in there if "devices" in rows[row.id]),
        exact=False,
        missing_classes=frozenset(map(str, missing if isinstance(missing, list) else ())),
        unread={row.id: _NOT_TOLD for row in there if "devices" not in rows[row.id]},
        broken=broken_rows(table.rows, None),
    )


def _of_status(row: Row, status: Json) -> Pool:
    free, most = whole(status.get("free")), whole(status.get("mostUsableOnANode"))
    total, usable = whole(status.get("devices")), whole(status.get("usable"))
    return Pool(
        rows=(row.id,),
        resource=row.pool,
        taints=(reserve_taint(row.id),) if row.reserved else (),
        total=total,
        free=free,
        largest=min(free, most),
        most_usable=most,
        away={"not usable": total - usable} if total > usable else {},
    )


def _add(pool: Pool, node: NodeFacts, held: int) -> None:
    devices = node.allocatable.get(pool.resource, 0)
    pool.total += devices
    fault = _fault(node)
    if fault:
        pool.away[fault] = pool.away.get(fault, 0) + devices
        return
    pool.most_usable = max(pool.most_usable, devices)
    free = max(0, devices - held)
    pool.free += free
    pool.dead += min(free, dead_devices(node, pool.resource))
    if free > pool.largest:
        pool.largest, pool.node = free, node.name


def _add_offered(pools: _Pools, table: Table, offers: Offered, nodes: _Nodes) -> Mapping[str, str]:
    """Count what drivers offer; return by row why its devices are not counted, if they are not."""
    rows = {row.id: row for row in table.rows if row.pool == CLAIMS or offers.serves(row)}
    recogniser = Recogniser(rows.values())
    for place, found in _places(recogniser, rows, offers, nodes).items():
        node = nodes.by_name.get(place.node)
        fault = "" if not place.node else "gone" if node is None else _fault(node)
        taints = () if node is None else _barriers(node)
        taken = _taken(found, rows, nodes.held, place.node)
        for ids, here in found.items():
            pool = pools.of(ids, rows[ids[0]].pool, taints)
            pool.total += here.devices
            if fault:
                pool.away[fault] = pool.away.get(fault, 0) + here.devices
                continue
            free = here.free - taken[ids]
            pool.free += free
            pool.dead += free if node is not None and is_dead(node) else 0
            if tainted := here.devices - here.usable:
                pool.away[TAINTED_DEVICES] = pool.away.get(TAINTED_DEVICES, 0) + tainted
        for row in () if fault else dict.fromkeys(row for ids in found for row in ids):
            together = [here for ids, here in found.items() if row in ids]
            pool = pools.of((row,), rows[row].pool, taints)
            pool.most_usable = max(pool.most_usable, sum(here.usable for here in together))
            by_pods = nodes.held.by_plugin(place.node, rows[row]).devices
            free = max(0, sum(here.free for here in together) - by_pods)
            if free > pool.largest:
                pool.largest, pool.node = free, place.node
    return recogniser.unread


def _places(
    recogniser: Recogniser, rows: Mapping[str, Row], offers: Offered, nodes: _Nodes
) -> Mapping[_Place, Mapping[tuple[str, ...], Here]]:
    """Return what drivers have on each node, or in a pool of no node, by the rows that mean it."""
    places: dict[_Place, dict[tuple[str, ...], Here]] = defaultdict(dict)
    for one, ids, blocked, names in recogniser.alike(offers.slices):
        held = offers.held.get((one.driver, one.pool), frozenset())
        for resource in dict.fromkeys(rows[row].pool for row in ids):
            own = tuple(row for row in ids if rows[row].pool == resource)
            if resource != CLAIMS:
                own = nodes.served(one.node, own, resource)
            if not own:
                continue
            place = _Place(one.node, "" if one.node else one.pool)
            here = places[place].setdefault(own, Here())
            here.devices += len(names)
            if not blocked:
                here.usable += len(names)
                here.free += len(names - held)
    return places


def _taken(
    found: Mapping[tuple[str, ...], Here], rows: Mapping[str, Row], held: Holders, node: str
) -> dict[tuple[str, ...], int]:
    """Return what Pods hold by a device plugin's resource of the free devices of a node.

    Which of several kinds they hold cannot be told; that there are so many less of all can.
    """
    taken: dict[tuple[str, ...], int] = {}
    by_resource: Counter[tuple[str, ...]] = Counter()
    for ids, here in found.items():
        row = rows[ids[0]]
        resources = plugin_resources(row)
        left = held.by_plugin(node, row).devices - by_resource[resources]
        taken[ids] = max(0, min(left, here.free))
        by_resource[resources] += taken[ids]
    return taken


def _barriers(node: NodeFacts) -> tuple[Taint, ...]:
    """Return what a Pod has to tolerate on a node."""
    return tuple(one for one in node.taints if keeps_pods_away(one) and not tells_a_fault(one))


def _fault(node: NodeFacts) -> str:
    """Say why nothing starts on a node for now (D7), "" where it is fine."""
    if not node.ready:
        return "not ready"
    if node.cordoned:
        return "cordoned"
    return next((f"tainted {taint.key}" for taint in node.taints if tells_a_fault(taint)), "")
