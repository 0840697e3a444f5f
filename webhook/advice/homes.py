"""Which rows' devices nodes have: by labels, and for rows that are taken by claims by devices (C4).

A node is taken as it was built, whatever ails it now.
"""

from __future__ import annotations

from selection_spec.rows import CLAIMS, Row
from selection_spec.table import Table
from webhook.inventory.claims import Offered
from webhook.inventory.facts import NodeFacts
from webhook.inventory.matching import Matcher
from webhook.inventory.recogniser import Recogniser


class Homes:
    """Finds the rows of nodes; made once a table.

    Attributes:
        devices: By row id and node, what the row's claim recognises; a row is missing where that
            is not known.
    """

    def __init__(self, table: Table, offers: Offered | None = None) -> None:
        self._matcher, self._offers = Matcher(table), offers
        self.devices = {} if offers is None else _recognised(table, offers)
        self._claimed = [row for row in table.rows if row.pool == CLAIMS and row.id in self.devices]

    def rows_of(self, node: NodeFacts) -> tuple[Row, ...]:
        """Return the rows that a Pod may come to a node for, in D8 order."""
        return tuple(self.counts_of(node))

    def counts_of(self, node: NodeFacts) -> dict[Row, int]:
        """Return how many devices of each of its rows a node has.

        Where it is not known what a claim recognises, a node with the row's labels has as many as
        its device plugin says, or as the row says at most.
        """
        found = {}
        for row in self._matcher.rows_of(node):
            if row.pool != CLAIMS:
                found[row] = node.capacity.get(row.resource, 0) or self._served(row, node)
            elif row.id not in self.devices:
                found[row] = node.capacity.get(row.resource, 0) or row.per_node
        here = {
            row: self.devices[row.id][node.name]
            for row in self._claimed
            if node.name in self.devices[row.id]
        }
        return dict(sorted({**found, **here}.items(), key=_order)) if here else found

    def _served(self, row: Row, node: NodeFacts) -> int:
        """Return how many devices a driver gives as a row's extended resource there."""
        if self._offers is None or not self._offers.serves(row):
            return 0
        return self.devices.get(row.id, {}).get(node.name, 0)


def _order(counted: tuple[Row, int]) -> tuple[int, int, str]:
    return counted[0].order


def _recognised(table: Table, offers: Offered) -> dict[str, dict[str, int]]:
    """Return what claims get; nothing from a DeviceClass that does not exist (C3)."""
    missing = offers.missing_classes(table.rows)
    classless = {row.id for row in table.rows if row.claim and row.claim.device_class in missing}
    found = Recogniser(table.rows).recognised(offers, lambda _: True)
    return {
        row: {}
        if row in classless
        else {node: here.devices for node, here in one.places.items() if here.devices}
        for row, one in found.items()
        if not one.unread
    }
