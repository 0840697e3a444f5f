"""What each row of a table has in a cluster right now, and what is wrong with it (design §3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from selection_spec.errors import Problem
from selection_spec.rows import CLAIMS, Row
from selection_spec.table import Table
from webhook.inventory.claim_problems import (
    claim_problems,
    claims_stay,
    class_problems,
    place_problems,
    selector_problems,
    twice_problems,
)
from webhook.inventory.claims import Offered
from webhook.inventory.device_cel import standing_still
from webhook.inventory.facts import NodeFacts
from webhook.inventory.given import Claimed, Given, given
from webhook.inventory.holders import Hold, Holders, holders
from webhook.inventory.kinds import Kinds, Tally
from webhook.inventory.pod_facts import PodFacts
from webhook.inventory.problems import Census, row_problems
from webhook.inventory.recogniser import Recogniser

# What is shown of many, so that the status of a thousand rows stays far below what an API object
# may hold: problems of the whole table, their length, kinds of nodes that no row matches.
_SHOWN_PROBLEMS = 500
_SHOWN_UNMATCHED = 10
_SHOWN_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class RowCounts:
    """What a row has, and what is wrong with it.

    Attributes:
        nodes: Nodes with the row's labels, os and arch.
        devices: Allocatable devices of the row's resource on them; for a row of output
            ResourceClaim, and for nodes that a DRA driver gives the resource, those that its claim
            recognises.
        usable: Those of them on nodes where a Pod could start (D7), occupied or not; without those
            that their driver has tainted.
        most_usable_on_a_node: The most of them on a single node.
        free: Usable ones that no Pod and no claim holds.
        suspect: Nodes that the health module suspects (H7).
        claim_devices: Devices that its claim recognises; None without a claim, or where that is
            not known.
        problems: Errors where the row does not work as written, warnings where it only smells.
        grave: Those of them for which no Pod starts whose claim names the row, or for which cards
            are given out twice.
        is_counted: Whether the numbers of devices are known; they are 0 where not.
    """

    row: Row
    nodes: int
    devices: int
    usable: int
    most_usable_on_a_node: int
    free: int
    suspect: int
    problems: tuple[Problem, ...]
    grave: tuple[Problem, ...] = ()
    claim_devices: int | None = None
    is_counted: bool = True


@dataclass(frozen=True, slots=True)
class UnmatchedNodes:
    """Nodes with GPUs that no row matches, those alike in one.

    Attributes:
        name: The first of them.
        devices: GPUs by resource on each.
        labels: The labels that tell most about them.
    """

    nodes: int
    name: str
    devices: tuple[tuple[str, int], ...]
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TableStatus:
    """The live side of a table: its rows in D8 order, and the GPUs that it does not speak of.

    ``missing_classes`` are DeviceClasses that rows of output ResourceClaim ask for and that do not
    exist (C3).
    """

    digest: str
    rows: tuple[RowCounts, ...]
    unmatched: tuple[UnmatchedNodes, ...]
    missing_classes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return ``digest``, ``rowCount``, ``rows``, ``unmatchedNodes``, ``missingDeviceClasses``.

        Bounded: a table of a thousand rows, each with problems, takes less than half a MiB.
        """
        return {
            "digest": self.digest,
            "rowCount": len(self.rows),
            "rows": _rows_json(self.rows),
            "unmatchedNodes": {
                "count": sum(one.nodes for one in self.unmatched),
                "kinds": [_unmatched_json(one) for one in self.unmatched[:_SHOWN_UNMATCHED]],
            },
            "missingDeviceClasses": list(self.missing_classes),
        }


class Survey:
    """Works out a table's status again and again; nodes that did not change cost next to nothing.

    One for each table; it remembers the nodes of the last time and nothing else.
    """

    def __init__(self, table: Table, clock: Callable[[], float] = standing_still) -> None:
        self._table = table
        self._kinds = Kinds(table)
        self._recogniser = Recogniser(table.rows, clock)

    def status(
        self,
        nodes: Iterable[NodeFacts],
        pods: Iterable[PodFacts],
        offers: Offered | None = None,
    ) -> TableStatus:
        """Return what the table's rows have.

        Args:
            nodes: Every node of the cluster; the same object for a node that did not change.
            pods: Every Pod that may hold devices.
            offers: What DRA drivers offer; None where nobody has looked.
        """
        held = holders(pods, offers, self._table.rows)
        tallies = self._kinds.tallies(nodes, held.on)
        census = Census(self._table, tallies)
        of_row: dict[str, list[Tally]] = {row.id: [] for row in self._table.rows}
        for tally in tallies:
            for row_id in tally.kind.rows:
                of_row[row_id].append(tally)
        claimed = self._claimed(offers, held) if offers is not None else {}
        left = self._left(held)
        return TableStatus(
            digest=self._table.digest,
            rows=tuple(
                _with(_counts(row, of_row[row.id], census, offers, claimed.get(row.id)), left)
                for row in self._table.rows
            ),
            unmatched=_unmatched(tallies),
            missing_classes=offers.missing_classes(self._table.rows) if offers is not None else (),
        )

    def _left(self, held: Holders) -> dict[str, Problem]:
        """Return by row what is wrong where claims hold devices that a device plugin gives out."""
        rows = {row.id: row for row in self._table.rows if row.pool != CLAIMS}
        found: dict[str, tuple[Hold, int]] = {}
        for node, holds in held.claims.items():
            kind = self._kinds.kind_of(node)
            if kind is None:
                continue
            there = dict(kind.built)
            for row in filter(None, map(rows.get, kind.rows)):
                if row.resource in there and row.resource in holds:
                    hold, nodes = found.get(row.id, (Hold(), 0))
                    more = holds[row.resource]
                    total = Hold(hold.devices + more.devices, hold.holders + more.holders)
                    found[row.id] = total, nodes + 1
        return {row: claims_stay(rows[row], *one) for row, one in found.items()}

    def _claimed(self, offers: Offered, held: Holders) -> dict[str, Claimed]:
        """Return by row what its claim recognises, and what it gets of that."""
        found = self._recogniser.recognised(offers, self._can_start)
        return {
            row.id: Claimed(found[row.id], given(row, found[row.id], self._kinds.kind_of, held))
            for row in self._table.rows
            if row.id in found
        }

    def _can_start(self, node: str) -> bool:
        kind = self._kinds.kind_of(node)
        return kind is not None and kind.usable


def table_status(
    table: Table,
    nodes: Iterable[NodeFacts],
    pods: Iterable[PodFacts] = (),
    offers: Offered | None = None,
) -> TableStatus:
    """Return what a table's rows have, worked out once; ``Survey`` is for again and again."""
    return Survey(table).status(nodes, pods, offers)


def _counts(
    row: Row, tallies: list[Tally], census: Census, offers: Offered | None, claimed: Claimed | None
) -> RowCounts:
    """Count a row by its nodes and by what drivers give it."""
    is_claim = row.pool == CLAIMS
    by_drivers = is_claim or (offers is not None and offers.serves(row))
    gets = claimed.given if claimed is not None and by_drivers else Given()
    devices, usable, free, most = gets.devices, gets.usable, gets.free, gets.most_usable
    for tally in () if is_claim else tallies:
        on_a_node = dict(tally.kind.devices).get(row.resource, 0)
        devices += on_a_node * tally.nodes
        if tally.kind.usable:
            usable += on_a_node * tally.nodes
            most = max(most, on_a_node)
            free += tally.free.get(row.resource, 0)
    problems = row_problems(row, tallies, census, gets.largest if by_drivers else None)
    problems += tuple(class_problems(row, offers)) if offers is not None else ()
    grave: tuple[Problem, ...] = ()
    if claimed is not None:
        problems += tuple(claim_problems(row, claimed.found))
        grave = tuple(selector_problems(row, claimed.found))
    if gets.devices:
        problems += tuple(place_problems(row, tallies, gets))
        grave += tuple(twice_problems(row, gets))
    is_read = claimed is not None and not claimed.found.unread
    return RowCounts(
        row=row,
        nodes=sum(tally.nodes for tally in tallies),
        devices=devices,
        usable=usable,
        most_usable_on_a_node=most,
        free=free,
        suspect=sum(tally.nodes for tally in tallies if tally.kind.suspect),
        problems=problems + grave,
        grave=grave,
        claim_devices=claimed.found.devices if claimed is not None and is_read else None,
        is_counted=is_read or not is_claim,
    )


def _with(counts: RowCounts, left: Mapping[str, Problem]) -> RowCounts:
    """Add to a row that claims are left on its nodes, if they are."""
    if counts.row.id not in left:
        return counts
    found = left[counts.row.id]
    problems, grave = (*counts.problems, found), (*counts.grave, found)
    return replace(counts, problems=problems, grave=grave)


def _unmatched(tallies: list[Tally]) -> tuple[UnmatchedNodes, ...]:
    """Return the GPU nodes without a row; those that differ in nothing that is shown are one."""
    found: dict[object, UnmatchedNodes] = {}
    for tally in tallies:
        kind = tally.kind
        if not kind.gpus or kind.rows:
            continue
        key = kind.gpus, kind.unknown
        alike = found.get(key, UnmatchedNodes(0, tally.first, *key))
        found[key] = replace(alike, nodes=alike.nodes + tally.nodes)
    return tuple(sorted(found.values(), key=lambda one: (-one.nodes, one.name)))


def _rows_json(rows: Iterable[RowCounts]) -> list[dict[str, Any]]:
    left = _SHOWN_PROBLEMS
    found = []
    for counts in rows:
        problems = [_shortened(problem.text()) for problem in counts.problems]
        if len(problems) > left:
            problems = [f"{len(problems)} problems; gpuspec table lint --cluster shows them"]
        left = max(0, left - len(problems))
        found.append(
            {
                "id": counts.row.id,
                "nodes": counts.nodes,
                **(_devices_json(counts) if counts.is_counted else {}),
                "suspect": counts.suspect,
                "reserved": counts.row.reserved,
                **({} if counts.claim_devices is None else {"claimDevices": counts.claim_devices}),
                "problems": problems,
            }
        )
    return found


def _devices_json(counts: RowCounts) -> dict[str, int]:
    return {
        "devices": counts.devices,
        "usable": counts.usable,
        "mostUsableOnANode": counts.most_usable_on_a_node,
        "free": counts.free,
    }


def _unmatched_json(one: UnmatchedNodes) -> dict[str, Any]:
    return {
        "nodes": one.nodes,
        "name": one.name,
        "devices": dict(one.devices),
        "labels": dict(one.labels),
    }


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
