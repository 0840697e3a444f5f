"""What is wrong with a row in a live cluster, in words with numbers and near misses (design §3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from selection_spec.denial import few
from selection_spec.errors import Level, Problem
from selection_spec.labels import Operator, Requirement
from selection_spec.rows import CLAIMS, Row
from selection_spec.table import Table
from webhook.inventory.facts import Taint
from webhook.inventory.kinds import Tally, plain, tells
from webhook.inventory.matching import fulfils
from webhook.inventory.memory import contradicts, nominal_gb
from webhook.inventory.taints import is_own, is_transient, tolerated
from webhook.inventory.vendors import NVIDIA

_SHOWN = 3

# Beyond these, the most frequent count: a label that every node has another value of is no clue.
_COMPARED_VALUES = 50
_LEAST_LIKENESS = 0.75

Near = tuple[str, str, int]


class Census:
    """What the nodes of a cluster say by the labels that a table speaks of."""

    def __init__(self, table: Table, tallies: Sequence[Tally]) -> None:
        self.nodes = sum(tally.nodes for tally in tallies)
        self._pools = {row.id: row.pool for row in table.rows}
        self.strangers: dict[str, Counter[str]] = {}
        self._together: Counter[tuple[str, ...]] = Counter()
        self._by_key: dict[str, Counter[str]] = {}
        self._by_value: dict[str, Counter[str]] = {}
        self._listed = {
            (one.key, value)
            for row in table.rows
            for one in row.nodes
            if one.operator is Operator.IN
            for value in one.values
        }
        for tally in tallies:
            if len(tally.kind.rows) > 1:
                self._together[tally.kind.rows] += tally.nodes
            for row_id in tally.kind.strangers:
                platforms = self.strangers.setdefault(row_id, Counter())
                platforms[tally.kind.platform] += tally.nodes
            for key, value in tally.kind.labels:
                self._by_key.setdefault(key, Counter())[value] += tally.nodes
                self._by_value.setdefault(value, Counter())[key] += tally.nodes

    def beside(self, row: Row) -> Counter[str]:
        """Return the other rows of its resource that share nodes with a row, and how many.

        Rows with claims are told apart by devices, not by nodes.
        """
        others: Counter[str] = Counter()
        if row.pool == CLAIMS:
            return others
        for rows, nodes in self._together.items():
            if row.id in rows:
                others.update({other: nodes for other in rows if self._pools[other] == row.pool})
        del others[row.id]
        return others

    def fulfilling(self, requirement: Requirement) -> int:
        """Return how many nodes fulfil a requirement, whatever else is asked of them."""
        values = self._by_key.get(requirement.key, Counter())
        if requirement.operator is Operator.IN:
            return sum(values[value] for value in requirement.values)
        missing = self.nodes - values.total() if fulfils({}, requirement) else 0
        return missing + sum(
            count
            for value, count in values.items()
            if fulfils({requirement.key: value}, requirement)
        )

    def near(self, requirement: Requirement) -> list[Near]:
        """Return labels that may be what a requirement meant: key, value and how many nodes.

        The first of these that there is: the same value under a key spelt alike; under the same
        key, a value that no row lists and that is spelt alike; the same value under any key; any
        value under a key spelt alike.
        """
        key = requirement.key
        values = requirement.values if requirement.operator is Operator.IN else ()
        elsewhere = [
            (other, value, count)
            for value in values
            for other, count in self._by_value.get(value, Counter()).most_common()
            if other != key
        ]
        there = self._by_key.get(key, Counter())
        free = [one for one, _ in there.most_common() if (key, one) not in self._listed]
        found = (
            [one for one in elsewhere if plain(one[0]) == plain(key)]
            or [(key, value, there[value]) for value in _like(values, free[:_COMPARED_VALUES])]
            or [one for one in elsewhere if tells(one[1])]
            or ([] if there else self._spelt_alike(key))
        )
        return found[:_SHOWN]

    def _spelt_alike(self, key: str) -> list[Near]:
        return [
            (other, value, count)
            for other, values in sorted(self._by_key.items())
            if plain(other) == plain(key)
            for value, count in values.most_common(_SHOWN)
        ]


def row_problems(
    row: Row, tallies: Sequence[Tally], census: Census, by_drivers: int | None = None
) -> tuple[Problem, ...]:
    """Return what is wrong with a row that has these nodes.

    Args:
        row: The row.
        tallies: Its nodes.
        census: What all nodes say.
        by_drivers: The most devices of DRA drivers that the row has on a node; None where only a
            device plugin can bring it any.
    """
    nodes = sum(tally.nodes for tally in tallies)
    return (
        *_on_another_platform(row, nodes, census),
        *(_of_nodes(row, tallies, census, by_drivers) if tallies else _without_nodes(row, census)),
    )


def _of_nodes(
    row: Row, tallies: Sequence[Tally], census: Census, by_drivers: int | None
) -> Iterator[Problem]:
    nodes = sum(tally.nodes for tally in tallies)
    yield from _taints(row, tallies, nodes)
    if by_drivers is None:
        yield from _without_devices(row, tallies, nodes)
    yield from _per_node(row, tallies, by_drivers or 0)
    yield from _memory(row, tallies, nodes)
    yield from _shared(row, nodes, census)
    yield from _idle_tolerations(row, tallies)


def _without_nodes(row: Row, census: Census) -> Iterator[Problem]:
    missing = [one for one in row.nodes if not census.fulfilling(one)]
    for one in missing:
        near = few(f"{key}={value} on {in_nodes(count)}" for key, value, count in census.near(one))
        # Without a near miss it may be a pool that an autoscaler keeps at nothing for now.
        yield Problem(
            f"label {_said(one)} matches no node",
            hint=f"near: {near}" if near else "",
            level=Level.ERROR if near else Level.WARNING,
        )
    if not missing and row.id not in census.strangers:
        each = " and ".join(
            f"{_said(one)} ({in_nodes(census.fulfilling(one))})" for one in row.nodes
        )
        yield Problem(f"no node has all of {each}")


def _on_another_platform(row: Row, nodes: int, census: Census) -> Iterator[Problem]:
    for platform, count in sorted(census.strangers.get(row.id, Counter()).items()):
        has = "has" if count == 1 else "have"
        is_on = "is" if count == 1 else "are"
        yield Problem(
            f"{in_nodes(count)} {has} this row's labels but {is_on} {platform}; "
            f"the row says {row.os}/{row.arch}",
            rule="D10",
            level=severity(count, nodes + count),
        )


def _taints(row: Row, tallies: Sequence[Tally], nodes: int) -> Iterator[Problem]:
    found: Counter[Taint] = Counter()
    for tally in tallies:
        for taint in set(tally.kind.taints):
            if not tolerated(taint, row.tolerations):
                found[taint] += tally.nodes
    for taint, count in sorted(found.items(), key=lambda one: (-one[1], str(one[0])))[:_SHOWN]:
        carry = "carries" if count == 1 else "carry"
        text = f"{share(count, nodes)} {carry} taint {taint} that this row does not tolerate"
        yield Problem(text, level=severity(count, nodes))
    if len(found) > _SHOWN:
        text = f"its nodes carry {len(found) - _SHOWN} more such taints, each on fewer of them"
        yield Problem(text, level=Level.WARNING)


def _without_devices(row: Row, tallies: Sequence[Tally], nodes: int) -> Iterator[Problem]:
    bare = [tally for tally in tallies if row.resource not in dict(tally.kind.built)]
    count = sum(tally.nodes for tally in bare)
    if not count:
        return
    others = sorted({name for tally in bare for name, _ in tally.kind.gpus})
    hint = f"there is {few(others)} instead" if others else "does the device plugin run there?"
    have = "has" if count == 1 else "have"
    yield Problem(
        f"{share(count, nodes)} {have} no {row.resource}", hint=hint, level=severity(count, nodes)
    )


def _per_node(row: Row, tallies: Sequence[Tally], by_drivers: int) -> Iterator[Problem]:
    by_plugin = (dict(tally.kind.built).get(row.resource, 0) for tally in tallies)
    largest = by_drivers if row.pool == CLAIMS else max(by_drivers, *by_plugin)
    if largest and largest != row.per_node:
        # Too small a number wastes what is there; too large a one may wait for a larger machine.
        yield Problem(
            f"perNode is {row.per_node}, the largest node has {largest}",
            rule="D2",
            level=Level.ERROR if row.per_node < largest else Level.WARNING,
        )


def _memory(row: Row, tallies: Sequence[Tally], nodes: int) -> Iterator[Problem]:
    """Hold the gigabytes on the box against what the driver of whole cards says."""
    found: Counter[int] = Counter()
    for tally in tallies:
        mib = tally.kind.card_mib
        if mib and row.resource == NVIDIA and contradicts(row.vram_gb, mib):
            found[mib] += tally.nodes
    for mib, count in found.most_common(_SHOWN):
        say = "says" if count == 1 else "say"
        who = "its nodes say" if count == nodes > 1 else f"{share(count, nodes)} {say}"
        text = f"vram is {row.vram_gb}gb, {who} {mib} MiB: {nominal_gb(mib)}gb"
        yield Problem(text, rule="G3", level=Level.WARNING)


def _shared(row: Row, nodes: int, census: Census) -> Iterator[Problem]:
    """Rows of one resource on the same nodes count the same devices twice."""
    others = census.beside(row)
    for other, count in others.most_common(_SHOWN):
        yield Problem(f"{share(count, nodes)} {_belong(count)} to row {other} too")
    if len(others) > _SHOWN:
        yield Problem(f"its nodes belong to {len(others) - _SHOWN} more rows")


def _idle_tolerations(row: Row, tallies: Sequence[Tally]) -> Iterator[Problem]:
    taints = {taint for tally in tallies for taint in tally.kind.taints}
    for toleration in row.tolerations:
        said = Taint(toleration.key, toleration.value or "", toleration.effect or "")
        if is_own(said) or is_transient(said):
            continue
        if not any(tolerated(taint, (toleration,)) for taint in taints):
            text = f"tolerates {str(said).rstrip(':')}, a taint that none of its nodes has"
            yield Problem(text, level=Level.WARNING)


def _like(wanted: Iterable[str], values: Sequence[str]) -> list[str]:
    """Return those of the values that are spelt much like a wanted one, the likest first."""
    likeness: dict[str, float] = {}
    for value in values:
        parts = _parts(value)
        matcher = SequenceMatcher(b=value.lower())
        for one in wanted:
            mine = _parts(one)
            matcher.set_seq1(one.lower())
            alike = 1.0 if parts <= mine or mine <= parts else matcher.ratio()
            likeness[value] = max(alike, likeness.get(value, 0.0))
    fitting = [value for value in likeness if likeness[value] >= _LEAST_LIKENESS]
    return sorted(fitting, key=lambda value: -likeness[value])


def _parts(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", text.lower()))


def _said(one: Requirement) -> str:
    """Write a requirement as messages do: ``gpu-model=a30``, ``gpu-model in (a30, a40)``."""
    if one.is_plain:
        return f"{one.key}={one.values[0]}"
    listed = f" [{few(one.values)}]" if one.values else ""
    return f"{one.key} {one.operator}{listed}"


def counted(count: int, noun: str) -> str:
    """Say how many there are: ``1 node``, ``2 nodes``."""
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def in_nodes(count: int) -> str:
    """Say how many nodes there are."""
    return counted(count, "node")


def share(count: int, nodes: int) -> str:
    """Say how many of so many nodes: ``2 of 5 nodes``, ``5 nodes`` where it is all of them."""
    return in_nodes(count) if count == nodes else f"{count} of {in_nodes(nodes)}"


def _belong(count: int) -> str:
    return "belongs" if count == 1 else "belong"


def severity(count: int, nodes: int) -> Level:
    """Return how bad a thing is: what all of a row have is the table's mistake, else theirs."""
    return Level.ERROR if count == nodes else Level.WARNING
