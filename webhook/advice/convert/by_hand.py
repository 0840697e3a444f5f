"""What a Pod says by hand: devices by their own resource, and nodes by labels and taints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from selection_spec.denial import few
from selection_spec.index import select
from selection_spec.labels import Toleration
from selection_spec.rows import CLAIMS, Row
from selection_spec.table import Table
from webhook.advice.convert.obstacles import for_good, kinds_of, obstacles, places
from webhook.advice.convert.sight import Sight, Stay
from webhook.jsonpatch import Path, write
from webhook.placement.node import covers
from webhook.pods import PodRequest, demand_of, is_mirror, read
from webhook.shapes import unreadable
from webhook.terms import RESERVED_TAINT

# Taints of the other effect keep nobody away.
_HARD = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class HandWritten:
    """A Pod that asks for devices by their own resource, and the rows that it can mean.

    Attributes:
        pod: The Pod, with what ``stays`` names mended.
        stays: Why it stays by hand, whatever spec there may be; empty where nothing is in the way.
        resource: The extended resource.
        places: Where in the Pod each container that asks has its resources, with its name.
        chosen: The rows with that resource, and enough of it, that its selectors admit (N4, D10).
        admitted: Those of them whose taints it tolerates, too.
    """

    pod: dict[str, Any]
    stays: tuple[Stay, ...]
    resource: str
    places: tuple[tuple[str, Path], ...]
    chosen: tuple[Row, ...]
    admitted: tuple[Row, ...]


def read_by_hand(view: Sight, table: Table) -> HandWritten | tuple[Stay, ...] | None:
    """Return what a Pod says by hand; why it has to stay so; None where it says nothing by hand."""
    pod = view.pod
    if unreadable(pod) or is_mirror(pod):
        return None
    request = read(pod, table)
    if not request.neighbours:
        return None
    if stays := tuple(for_good(view, request)):
        return stays
    found = tuple(obstacles(pod, request, table))
    stays = tuple(one.stay for one in found)
    mended = write(pod, (edit for one in found for edit in one.mended)).after
    request = read(mended, table)
    resources = kinds_of(request, table)
    if len(resources) != 1:
        return stays
    (resource,) = resources
    rows = _chosen(mended, request, resource, table)
    asking = tuple(places(mended, resource))
    if no_row := tuple(_no_row(rows, resource, asking[0][1], table)):
        return (*stays, *no_row)
    tolerations = _tolerations(mended)
    admitted = tuple(row for row in rows if not missing(row, tolerations))
    return HandWritten(mended, stays, resource, asking, rows, admitted)


def _no_row(rows: tuple[Row, ...], resource: str, place: Path, table: Table) -> Iterator[Stay]:
    """Yield why none of the rows that a Pod's selectors choose could be meant."""
    claimed = [row.id for row in rows if row.pool == CLAIMS]
    if claimed:
        why = f"table {table.name} hands out {few(claimed)} by claim, not as {resource}"
        yield Stay(place, why)
    if not rows:
        yield Stay(("spec",), f"its selectors and amounts fit no row of table {table.name}")


def missing(row: Row, tolerations: list[object]) -> list[Toleration]:
    """Return what a Pod would have to tolerate besides, to be let on a row's nodes."""
    wanted = [
        replace(one, effect=effect)
        for one in row.tolerations
        for effect in _HARD
        if one.effect in (None, effect)
    ]
    if row.reserved:
        wanted.append(Toleration(RESERVED_TAINT, "Equal", row.id, "NoSchedule"))
    return [one for one in wanted if not any(covers(other, one) for other in tolerations)]


def _tolerations(pod: dict[str, Any]) -> list[object]:
    return list(pod["spec"].get("tolerations") or ())


def _chosen(
    pod: dict[str, Any], request: PodRequest, resource: str, table: Table
) -> tuple[Row, ...]:
    demand, index = demand_of(pod, request, table), table.index
    rows = index.admitted_by(demand.terms) & index.on_platform_of(demand.terms)
    rows &= index.by_os.get(demand.os, 0) & index.per_node(demand.peak(resource))
    return tuple(row for row in select(table.rows, rows) if row.resource == resource)
