"""The requests that matter: every spec and count at which tables may answer otherwise than before.

A bound between two sizes of memory asks for the larger one, and a count between two sizes of node
for the larger node, so that a few requests stand for all that can be written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from selection_spec.availability import Availability
from selection_spec.demand import Demand, Kind, Need
from selection_spec.grammar import ANY, Spec
from selection_spec.narrowing import MAX_DEVICES
from selection_spec.resolution import Resolution
from selection_spec.resolve import NOTHING_KNOWN, resolve
from selection_spec.rows import CLAIMS, Policy, Row
from selection_spec.table import Table


@dataclass(frozen=True, slots=True)
class Ask:
    """A spec, and the first and the last of the counts that are answered alike."""

    spec: Spec
    least: int
    most: int


def specs_that_matter(*tables: Table) -> tuple[Spec, ...]:
    """Return ``any`` and every name, each without a bound and with every bound that tells.

    A bound that the smallest device of a name meets says nothing and is left out.
    """
    names = sorted(frozenset().union(*(table.names for table in tables)))
    return tuple(spec for name in (ANY, *names) for spec in _bounds(name, tables))


def asks_that_matter(*tables: Table, sizes: Collection[int] = ()) -> tuple[Ask, ...]:
    """Return those specs with every range of counts that some table tells apart.

    Args:
        tables: The tables.
        sizes: Numbers of devices that single nodes have, where they are to tell counts apart, too.
    """
    return tuple(ask for spec in specs_that_matter(*tables) for ask in _counts(spec, tables, sizes))


def answer(
    table: Table,
    spec: Spec,
    count: int,
    policy: Policy,
    availability: Availability = NOTHING_KNOWN,
) -> Resolution:
    """Resolve a Pod of one container that asks for nothing else."""
    need = Need("main", Kind.MAIN, "spec.containers[0]", spec, count)
    return resolve(table, Demand((need,)), policy, availability)


def rows_meant(table: Table, spec: Spec) -> tuple[Row, ...]:
    """Return the rows that a spec alone stands for (G2, G3, D6), whatever the count."""
    index = table.index
    named = index.open_to_any if spec.is_any else index.by_name.get(spec.name, 0)
    return table.select(named & index.vram(spec.min_gb or 0))


def _bounds(name: str, tables: tuple[Table, ...]) -> Iterator[Spec]:
    sizes = {row.vram_gb for table in tables for row in rows_meant(table, Spec(name))}
    yield Spec(name)
    for size in sorted(sizes)[1:]:
        yield Spec(name, size)


def _counts(spec: Spec, tables: tuple[Table, ...], sizes: Collection[int]) -> Iterator[Ask]:
    rows = [row for table in tables for row in rows_meant(table, spec)]
    bounds = {row.per_node for row in rows}
    # A claim holds no more, whatever a node has (C6).
    bounds |= {min(row.per_node, MAX_DEVICES) for row in rows if row.pool == CLAIMS}
    most = max(bounds, default=0)
    least = 1
    for size in sorted(bounds.union(size for size in sizes if 0 < size < most)):
        yield Ask(spec, least, size)
        least = size + 1
