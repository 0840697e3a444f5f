"""Whether a table gives every GPU of a cluster exactly one row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from selection_spec.table import Table
from webhook.inventory.facts import NodeFacts
from webhook.inventory.generate.sightings import devices_of
from webhook.inventory.matching import Matcher


@dataclass(frozen=True, slots=True)
class Coverage:
    """Names of GPU nodes that no row gives out, and of those that several do."""

    without: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()


def coverage(table: Table, nodes: Iterable[NodeFacts]) -> Coverage:
    """Count for each GPU resource of each node the rows that give it out there."""
    matcher = Matcher(table)
    without, doubled = [], []
    for node in nodes:
        rows = matcher.rows_of(node)
        counts = [sum(row.resource == one for row in rows) for one in devices_of(node)]
        if 0 in counts:
            without.append(node.name)
        if any(count > 1 for count in counts):
            doubled.append(node.name)
    return Coverage(tuple(without), tuple(doubled))
