"""What a cluster has to give right now, in pools of nodes that are alike to those who ask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from selection_spec.availability import Availability, RowStatus
from selection_spec.rows import Row
from selection_spec.table import Table
from webhook.inventory.facts import NodeFacts, Taint, mappings, whole
from webhook.inventory.matching import Matcher
from webhook.inventory.pod_facts import PodFacts
from webhook.inventory.reservation import reserve_taint
from webhook.inventory.status import held_devices
from webhook.inventory.taints import keeps_pods_away, tells_a_fault

Json = dict[str, Any]


@dataclass(slots=True)
class Pool:
    """Nodes of the same rows behind the same taints, and what they have of one resource.

    Attributes:
        rows: Ids of the rows of this resource that the nodes belong to.
        resource: The extended resource that is counted.
        taints: What a Pod has to tolerate there; what says how a node fares is not among it.
        total: Devices on all its nodes.
        free: Those that no Pod holds, on nodes that are fine.
        largest: The most free ones on a single node.
        node: That node.
        most_usable: The most devices on a single node that is fine, occupied or not (D7).
        away: Devices on nodes where nothing starts for now, by the reason.
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


@dataclass(frozen=True, slots=True)
class Supply:
    """All pools of a cluster.

    ``exact`` is False where the pools were told by a table's status, which does not say how free
    devices lie: ``largest`` is then the most that it can be.
    """

    pools: tuple[Pool, ...]
    exact: bool = True

    @property
    def availability(self) -> Availability:
        """The same as admission sees it (D7)."""
        devices: dict[str, int] = {}
        most: dict[str, int] = {}
        for pool in self.pools:
            for row in pool.rows:
                devices[row] = devices.get(row, 0) + pool.total
                most[row] = max(most.get(row, 0), pool.most_usable)
        return Availability({row: RowStatus(devices[row], most[row]) for row in devices})


def supply_of_nodes(table: Table, nodes: Iterable[NodeFacts], pods: Iterable[PodFacts]) -> Supply:
    """Count what nodes have and Pods leave.

    Args:
        table: Whose rows the nodes belong to.
        nodes: Every node of the cluster.
        pods: Every Pod that may hold devices.
    """
    held = held_devices(pods)
    matcher = Matcher(table)
    pools: dict[object, Pool] = {}
    for node in nodes:
        rows = matcher.rows_of(node)
        taints = tuple(
            one for one in node.taints if keeps_pods_away(one) and not tells_a_fault(one)
        )
        for resource in dict.fromkeys(row.resource for row in rows):
            ids = tuple(row.id for row in rows if row.resource == resource)
            pool = pools.setdefault((ids, taints), Pool(ids, resource, taints))
            _add(pool, node, held.get(node.name, {}).get(resource, 0))
    return Supply(tuple(pools.values()))


def supply_of_status(table: Table, rows: object) -> Supply:
    """Read the rows of a table's status, for those who may not see nodes and Pods."""
    status = {str(row.get("id")): row for row in mappings(rows)}
    pools = (_of_status(row, status[row.id]) for row in table.rows if row.id in status)
    return Supply(tuple(pools), exact=False)


def _of_status(row: Row, status: Json) -> Pool:
    free, most = whole(status.get("free")), whole(status.get("mostUsableOnANode"))
    total, usable = whole(status.get("devices")), whole(status.get("usable"))
    return Pool(
        rows=(row.id,),
        resource=row.resource,
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
    if free > pool.largest:
        pool.largest, pool.node = free, node.name


def _fault(node: NodeFacts) -> str:
    """Say why nothing starts on a node for now (D7), "" where it is fine."""
    if not node.ready:
        return "not ready"
    if node.cordoned:
        return "cordoned"
    return next((f"tainted {taint.key}" for taint in node.taints if tells_a_fault(taint)), "")
