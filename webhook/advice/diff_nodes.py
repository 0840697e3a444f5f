"""Which nodes could serve a request by each of two tables, were there room on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selection_spec.denial import few
from selection_spec.rows import CLAIMS, Row
from selection_spec.table import Table
from webhook.advice.homes import Homes
from webhook.advice.words import counted, number
from webhook.inventory.claims import Offered
from webhook.inventory.facts import NodeFacts, Taint
from webhook.inventory.taints import is_own, is_transient, keeps_pods_away, tolerated
from webhook.inventory.vendors import gpus


@dataclass(frozen=True, slots=True)
class Served:
    """How many nodes could serve a request before and after.

    Attributes:
        lost: Those that could before and could not any more.
        gained: Those that could not before.
        reasons: Why nodes are lost though their row is not, each with how many nodes.
    """

    before: int
    after: int
    lost: int = 0
    gained: int = 0
    reasons: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """Say what becomes of the nodes, as far as the rows do not say it already."""
        if not self.reasons:
            return ""
        lost = sum(count for _, count in self.reasons)
        of_all = "" if lost == self.before else f"{number(lost)} of "
        why = (f"{reason} ({number(count)})" for reason, count in self.reasons)
        said = self.reasons[0][0] if len(self.reasons) == 1 else "; ".join(why)
        return f"loses {of_all}its {counted(self.before, 'node')}: {said}"


@dataclass(frozen=True, slots=True)
class Matched:
    """How many rows a table has, how many of them match a node, and how many GPU nodes they do."""

    rows: int
    with_nodes: int
    gpu_nodes: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Nodes that are alike to both tables.

    Attributes:
        rows: By table, the old one's first: ids of its rows, and how many devices they have there.
    """

    rows: tuple[frozenset[tuple[str, int]], frozenset[tuple[str, int]]]
    taints: tuple[Taint, ...]
    has_gpus: bool


class Grounds:
    """A cluster's nodes as two tables see them.

    A node is taken as it was built, whatever ails it now: capacity counts, and taints that come and
    go with a node's state, or that we place ourselves, do not.
    """

    def __init__(
        self, old: Table, new: Table, nodes: Iterable[NodeFacts], offers: Offered | None = None
    ) -> None:
        self._tables = old, new
        homes = Homes(old, offers), Homes(new, offers)
        resources = old.resources | new.resources
        self._groups = Counter(_group(node, homes, resources) for node in nodes)
        self._of_row: tuple[dict[str, list[tuple[_Group, int]]], ...] = ({}, {})
        for group in self._groups:
            for rows, of_row in zip(group.rows, self._of_row, strict=True):
                for row, devices in rows:
                    of_row.setdefault(row, []).append((group, devices))

    @property
    def gpu_nodes(self) -> int:
        """How many nodes have GPUs."""
        return sum(count for group, count in self._groups.items() if group.has_gpus)

    @property
    def sizes(self) -> frozenset[int]:
        """How many devices single nodes have: counts beyond one find fewer nodes."""
        return frozenset(
            count for group in self._groups for rows in group.rows for _, count in rows if count
        )

    def matched(self) -> tuple[Matched, Matched]:
        """Return what each table matches, the old one's first."""
        old, new = (
            Matched(
                rows=len(table.rows),
                with_nodes=len(of_row),
                gpu_nodes=sum(
                    count
                    for group, count in self._groups.items()
                    if group.has_gpus and group.rows[side]
                ),
            )
            for side, (table, of_row) in enumerate(zip(self._tables, self._of_row, strict=True))
        )
        return old, new

    def served(
        self,
        before: Sequence[Row],
        after: Sequence[Row],
        count: int,
        successors: Mapping[str, str],
    ) -> Served:
        """Compare the nodes that could serve a request for so many devices.

        Args:
            before: The rows that the old table answers with.
            after: Those of the new one.
            count: Devices of one node.
            successors: For each old row id the new one (``row_changes``).
        """
        then = set(self._usable(0, before, count))
        now = set(self._usable(1, after, count))
        lost = then - now
        return Served(
            before=self._nodes(then),
            after=self._nodes(now),
            lost=self._nodes(lost),
            gained=self._nodes(now - then),
            reasons=self._reasons(lost, before, after, successors),
        )

    def _nodes(self, groups: Iterable[_Group]) -> int:
        return sum(self._groups[group] for group in groups)

    def _usable(self, side: int, rows: Sequence[Row], count: int) -> Iterator[_Group]:
        """Yield the nodes of rows that have the devices and keep nobody away who gets the rows."""
        for row in rows:
            for group, devices in self._of_row[side].get(row.id, ()):
                if devices >= count and not _barrier(group.taints, row, rows):
                    yield group

    def _reasons(
        self,
        lost: Iterable[_Group],
        before: Sequence[Row],
        after: Sequence[Row],
        successors: Mapping[str, str],
    ) -> tuple[tuple[str, int], ...]:
        kept = {row.id: row for row in after}
        found: Counter[str] = Counter()
        for group in lost:
            there = dict(group.rows[0])
            mine = (successors.get(row.id, "") for row in before if row.id in there)
            still = [kept[row] for row in mine if row in kept]
            if still:
                found[_reason(group, still, after)] += self._groups[group]
        return tuple(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def _group(node: NodeFacts, homes: tuple[Homes, Homes], resources: frozenset[str]) -> _Group:
    old, new = (
        frozenset((row.id, devices) for row, devices in one.counts_of(node).items())
        for one in homes
    )
    return _Group(
        rows=(old, new),
        taints=tuple(
            taint
            for taint in node.taints
            if keeps_pods_away(taint) and not is_own(taint) and not is_transient(taint)
        ),
        has_gpus=bool(gpus(node, resources)) or any(count for _, count in old | new),
    )


def _reason(group: _Group, still: Sequence[Row], after: Sequence[Row]) -> str:
    """Say why nodes of rows that stayed cannot serve a request any more."""
    there = dict(group.rows[1])
    rows = [row for row in after if row.id in there]
    if not rows:
        if any(row.pool == CLAIMS for row in still):
            return f"claims for {few(row.id for row in still)} recognise no device there"
        return f"their labels are not those of {few(row.id for row in still)}"
    taint = _barrier(group.taints, rows[0], after)
    if taint is not None:
        return f"taint {taint} is not tolerated"
    if rows[0].pool == CLAIMS:
        return "they do not have that many devices for one claim"
    return f"they do not have the {rows[0].resource}"


def _barrier(taints: Iterable[Taint], row: Row, rows: Sequence[Row]) -> Taint | None:
    """Return a taint that keeps away a Pod which gets the tolerations of all these rows (N5)."""
    return next(
        (
            taint
            for taint in taints
            if not tolerated(taint, row.tolerations)
            and not any(tolerated(taint, other.tolerations) for other in rows)
        ),
        None,
    )
