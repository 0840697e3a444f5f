"""Who holds the devices of nodes: Pods by an extended resource, or claims.

A device plugin does not know what claims hold, and a DRA driver does not know what Pods hold by the
plugin's resource; the cards are the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from selection_spec.drivers import PLUGIN_RESOURCES, WHOLE_TYPES
from selection_spec.rows import Row
from webhook.inventory.claim_facts import Pool
from webhook.inventory.claims import Offered
from webhook.inventory.pod_facts import PodFacts

BOUND: Final = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
"""Field selector of the Pods that may hold devices: on a node, and not done."""


@dataclass(slots=True)
class Hold:
    """How many devices are held, and by how many Pods or claims."""

    devices: int = 0
    holders: int = 0

    def add(self, devices: int) -> None:
        """Count one more who holds some."""
        self.devices += devices
        self.holders += 1


Holds = Mapping[str, Mapping[str, Hold]]
"""By node and extended resource; by what a device plugin calls the devices that claims hold."""


@dataclass(frozen=True, slots=True)
class Holders:
    """What Pods hold of nodes by extended resources, and what claims hold of the same cards.

    Pods that are pending or finished hold nothing, and those which a DRA driver gave an extended
    resource hold it by their claim.
    """

    pods: Holds = field(default_factory=dict)
    claims: Holds = field(default_factory=dict)

    def on(self, node: str, resource: str) -> int:
        """Return how many of the devices that a device plugin has on a node are held."""
        holds = (of.get(node, {}).get(resource) for of in (self.pods, self.claims))
        return sum(hold.devices for hold in holds if hold is not None)

    def by_plugin(self, node: str, row: Row) -> Hold:
        """Return what Pods hold on a node of a row's devices by what device plugins call them."""
        there = self.pods.get(node, {})
        holds = [there[name] for name in plugin_resources(row) if name in there] if there else []
        return Hold(sum(one.devices for one in holds), sum(one.holders for one in holds))


def holders(pods: Iterable[PodFacts], offers: Offered | None, rows: Iterable[Row]) -> Holders:
    """Find who holds devices of nodes.

    Args:
        pods: Every Pod that may.
        offers: What drivers offer and claims hold; None where that is not known.
        rows: They tell what device plugins call the devices of a driver.
    """
    return Holders(_by_pods(pods), {} if offers is None else _by_claims(offers, rows))


def plugin_resources(row: Row) -> tuple[str, ...]:
    """Return what device plugins call a row's devices: its resource, else what its driver tells."""
    if row.resource or row.claim is None:
        return (row.resource,)
    return PLUGIN_RESOURCES.get(row.claim.driver, ())


def _by_pods(pods: Iterable[PodFacts]) -> Holds:
    found: dict[str, dict[str, Hold]] = {}
    for pod in pods:
        if pod.node and pod.devices and not pod.finished:
            for resource, count in pod.devices.items():
                if resource not in pod.by_claim:
                    on_node = found.setdefault(pod.node, {})
                    on_node.setdefault(resource, Hold()).add(count)
    return found


def _by_claims(offers: Offered, rows: Iterable[Row]) -> Holds:
    names = _names(rows)
    nodes, parts = _pools(offers)
    found: dict[str, dict[str, Hold]] = {}
    for claim in offers.claims:
        counts: dict[tuple[str, str], int] = defaultdict(int)
        for driver, pool, device in claim.devices:
            node = nodes.get((driver, pool), claim.node)
            if node and device not in parts.get((driver, pool), ()):
                for resource in names.get(driver, ()):
                    counts[node, resource] += 1
        for (node, resource), count in counts.items():
            found.setdefault(node, {}).setdefault(resource, Hold()).add(count)
    return found


def _names(rows: Iterable[Row]) -> dict[str, frozenset[str]]:
    """Return what device plugins call the devices of each driver."""
    found = {driver: set(names) for driver, names in PLUGIN_RESOURCES.items()}
    for row in rows:
        if row.claim is not None and row.resource:
            found.setdefault(row.claim.driver, set()).add(row.resource)
    return {driver: frozenset(names) for driver, names in found.items()}


def _pools(offers: Offered) -> tuple[dict[Pool, str], dict[Pool, set[str]]]:
    """Return the nodes of pools, and by pool the devices that are parts of a card."""
    nodes: dict[Pool, str] = {}
    parts: dict[Pool, set[str]] = defaultdict(set)
    for one in offers.slices:
        pool = one.driver, one.pool
        if pool in offers.held:
            nodes[pool] = one.node
            parts[pool].update(
                device.name for device in one.devices if device.type not in WHOLE_TYPES
            )
    return nodes, parts
