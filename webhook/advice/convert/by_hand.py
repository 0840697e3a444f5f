"""What a Pod says by hand: devices by their own resource, and nodes by labels and taints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from selection_spec.demand import Need
from selection_spec.denial import few, who
from selection_spec.index import select
from selection_spec.labels import Toleration
from selection_spec.rows import CLAIMS, Row
from selection_spec.table import Table
from webhook.advice.convert.sight import Sight, Stay
from webhook.amounts import raw_amount
from webhook.jsonpatch import Path
from webhook.placement.node import covers
from webhook.pods import PodRequest, daemon_set_of, demand_of, is_mirror, read
from webhook.selectors import required_terms
from webhook.shapes import CONTAINER_LISTS, SIDES, unreadable
from webhook.terms import RESERVED_TAINT

# Taints of the other effect keep nobody away.
_HARD = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class HandWritten:
    """A Pod that asks for devices by their own resource, and the rows that it can mean.

    Attributes:
        resource: The extended resource.
        places: Where in the Pod each container that asks has its resources, with its name.
        chosen: The rows with that resource, and enough of it, that its selectors admit (N4, D10).
        admitted: Those of them whose taints it tolerates, too.
    """

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
    stays = tuple(_obstacles(view, request, table))
    if stays:
        return stays
    resource = request.neighbours[0][1]
    places = tuple(_places(pod, resource))
    chosen = _chosen(pod, request, resource, table)
    claimed = [row.id for row in chosen if row.pool == CLAIMS]
    if claimed:
        why = f"table {table.name} hands out {few(claimed)} by claim, not as {resource}"
        return (Stay(places[0][1], why),)
    if not chosen:
        return (Stay(("spec",), f"its selectors and amounts fit no row of table {table.name}"),)
    tolerations = _tolerations(pod)
    admitted = tuple(row for row in chosen if not missing(row, tolerations))
    return HandWritten(resource, places, chosen, admitted)


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


def _obstacles(view: Sight, request: PodRequest, table: Table) -> Iterator[Stay]:
    """Yield why a Pod cannot be looked at as one that says everything by hand."""
    spec = view.pod["spec"]
    first = _resources_of(request.neighbours[0][0])
    if view.kind == "DaemonSet" or daemon_set_of(view.pod) is not None:
        why = "a DaemonSet picks its nodes before admission, so it needs what it says"
        yield Stay(first, why, is_right=True)
        return
    asking = [ask.key for ask in request.asks]
    if asking or request.problems:
        keys = few(dict.fromkeys(asking)) or "a spec"
        yield Stay(first, f"the Pod asks by {keys} already: write that in this container, too")
        return
    if spec.get("nodeName"):
        yield Stay(("spec", "nodeName"), "it names its node, and a spec would choose nothing")
    if required_terms(spec) == []:
        yield Stay(("spec", "affinity"), "its required node affinity is empty, which is refused")
    yield from _for_a_while(spec, table)
    yield from _odd_resources(view.pod, request, table)


def _for_a_while(spec: dict[str, Any], table: Table) -> Iterator[Stay]:
    """Yield tolerations with an end: the Pod may come to such nodes, and may not stay."""
    known = {"", RESERVED_TAINT, *(one.key for row in table.rows for one in row.tolerations)}
    for number, one in enumerate(spec.get("tolerations") or ()):
        if isinstance(one, dict) and one.get("tolerationSeconds") is not None:
            key = one.get("key") or ""
            if key in known:
                why = f"it tolerates {key or 'all taints'} for a while, which no spec does"
                yield Stay(("spec", "tolerations", number), why)


def _odd_resources(pod: dict[str, Any], request: PodRequest, table: Table) -> Iterator[Stay]:
    """Yield what a Pod asks for that is no whole device of one kind, or is refused anyway."""
    for need, name in request.neighbours:
        if name not in table.rivals:
            why = f"{who(need)} asks for {name}, a part or a share of a device: no spec means that"
            yield Stay(_resources_of(need), why)
        elif name not in table.resources:
            why = f"{who(need)} asks for {name}, which no row of table {table.name} has"
            yield Stay(_resources_of(need), why)
    names = (name for _, name in request.neighbours)
    resources = list(dict.fromkeys(name for name in names if name in table.resources))
    if len(resources) > 1:
        why = f"a spec means one kind of resource, and it asks for {few(resources)}"
        yield Stay(("spec",), why)
    for resource in resources:
        for name, path in _places(pod, resource):
            yield from _one_sided(pod, resource, name, path)


def _one_sided(pod: dict[str, Any], resource: str, name: str, path: Path) -> Iterator[Stay]:
    resources = pod["spec"][path[1]][path[2]]["resources"]
    limits, requests = (resources.get(side) or {} for side in SIDES)
    if resource not in limits:
        yield Stay(path, f'container "{name}" has {resource} only under requests, which is refused')
    elif resource in requests and str(requests[resource]) != str(limits[resource]):
        why = f'container "{name}": limits and requests differ in {resource}, which is refused'
        yield Stay(path, why)


def _places(pod: dict[str, Any], resource: str) -> Iterator[tuple[str, Path]]:
    for name in CONTAINER_LISTS:
        for number, container in enumerate(pod["spec"].get(name) or ()):
            resources = container.get("resources") or {}
            sides = [resources.get(side) or {} for side in SIDES]
            if any(resource in side and raw_amount(side[resource]) for side in sides):
                yield container["name"], ("spec", name, number, "resources")


def _resources_of(need: Need) -> Path:
    """Return the path that a need's text names: ``spec.containers[0]`` has its resources there."""
    name, _, number = need.path.removeprefix("spec.").partition("[")
    return ("spec", name, int(number.rstrip("]")), "resources")
