"""Whether a table gives every GPU of a cluster exactly one row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from selection_spec.table import Table
from webhook.inventory.claims import offered
from webhook.inventory.facts import NodeFacts
from webhook.inventory.generate.claims import measured
from webhook.inventory.generate.sightings import devices_of
from webhook.inventory.matching import Matcher
from webhook.inventory.recogniser import Recogniser
from webhook.inventory.slice_facts import SliceFacts


@dataclass(frozen=True, slots=True)
class Coverage:
    """Names of GPU nodes that no row gives out, and of those that several do.

    Attributes:
        unrecognised: Nodes whose DRA drivers offer more than all claims recognise.
        alike: Pairs of rows whose claims recognise the same devices.
    """

    without: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    unrecognised: tuple[str, ...] = ()
    alike: tuple[tuple[str, str], ...] = ()


def coverage(
    table: Table, nodes: Iterable[NodeFacts], slices: Sequence[SliceFacts] = ()
) -> Coverage:
    """Count for each GPU resource of each node the rows that give it out there, and all claims."""
    matcher = Matcher(table)
    without, doubled = [], []
    for node in nodes:
        rows = matcher.rows_of(node)
        counts = [sum(row.resource == one for row in rows) for one in devices_of(node)]
        if 0 in counts:
            without.append(node.name)
        if any(count > 1 for count in counts):
            doubled.append(node.name)
    return Coverage(tuple(without), tuple(doubled), *_by_claims(table, slices))


def _by_claims(
    table: Table, slices: Sequence[SliceFacts]
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    found = Recogniser(table.rows).recognised(offered(slices), lambda _: True)
    short = [
        node
        for node, here in measured(slices).items()
        if sum(one.places[node].devices for one in found.values() if node in one.places)
        < sum(one.count for one in here)
    ]
    pairs = {(min(row, other), max(row, other)) for row in found for other in found[row].beside}
    return tuple(sorted(short)), tuple(sorted(pairs))
