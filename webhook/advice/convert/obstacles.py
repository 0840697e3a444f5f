"""What an author has to mend before a spec can say what a Pod says by hand.

Each such thing comes with the edits that would mend it, so that whatever else stands in the way can
be told at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from selection_spec.demand import Need
from selection_spec.denial import few, who
from selection_spec.table import Table
from webhook.advice.convert.sight import Sight, Stay
from webhook.amounts import raw_amount
from webhook.jsonpatch import Drop, Edit, Path, Put
from webhook.pods import PodRequest, daemon_set_of
from webhook.selectors import REQUIRED, required_terms
from webhook.shapes import CONTAINER_LISTS, SIDES
from webhook.terms import RESERVED_TAINT

_RULE = "convert"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps a Pod by hand until its author mends it.

    Attributes:
        stay: Where it is and why.
        mended: The edits of the Pod that stand for mending it.
    """

    stay: Stay
    mended: tuple[Edit, ...]


def for_good(view: Sight, request: PodRequest) -> Iterator[Stay]:
    """Yield why there is nothing to convert in a Pod, whatever else is mended."""
    asking = [resources_of(need) for need in dict.fromkeys(need for need, _ in request.neighbours)]
    if view.kind == "DaemonSet" or daemon_set_of(view.pod) is not None:
        why = "a DaemonSet picks its nodes before admission, so it needs what it says"
        yield Stay(asking[0], why, is_right=True)
        return
    keys = [ask.key for ask in request.asks]
    if keys or request.problems:
        said = few(dict.fromkeys(keys)) or "a spec"
        why = f"the Pod asks by {said} already: write that in this container, too"
        yield from (Stay(path, why) for path in asking)


def obstacles(pod: dict[str, Any], request: PodRequest, table: Table) -> Iterator[Obstacle]:
    """Yield everything for which a Pod cannot be looked at as it is.

    Args:
        pod: The Pod, which can be read.
        request: What it asks for.
        table: The table.
    """
    spec = pod["spec"]
    if spec.get("nodeName"):
        path: Path = ("spec", "nodeName")
        yield _obstacle(path, "it names its node, and a spec would choose nothing", _drop(path))
    if required_terms(spec) == []:
        why = "its required node affinity is empty, which is refused"
        empty = _drop(("spec", "affinity", "nodeAffinity", REQUIRED))
        yield _obstacle(("spec", "affinity"), why, empty)
    yield from _for_a_while(spec, table)
    yield from _odd_resources(pod, request, table)


def kinds_of(request: PodRequest, table: Table) -> list[str]:
    """Return the resources of a table's rows that a Pod asks for by hand, each once."""
    names = dict.fromkeys(name for _, name in request.neighbours)
    return [name for name in names if name in table.resources]


def places(pod: dict[str, Any], resource: str) -> Iterator[tuple[str, Path]]:
    """Yield the containers that ask for a resource, each with where its resources are."""
    for name in CONTAINER_LISTS:
        for number, container in enumerate(pod["spec"].get(name) or ()):
            resources = container.get("resources") or {}
            sides = [resources.get(side) or {} for side in SIDES]
            if any(resource in side and raw_amount(side[resource]) for side in sides):
                yield container["name"], ("spec", name, number, "resources")


def resources_of(need: Need) -> Path:
    """Return the path that a need's text names: ``spec.containers[0]`` has its resources there."""
    name, _, number = need.path.removeprefix("spec.").partition("[")
    return ("spec", name, int(number.rstrip("]")), "resources")


def _obstacle(path: Path, why: str, *mended: Edit) -> Obstacle:
    return Obstacle(Stay(path, why), mended)


def _drop(path: Path) -> Drop:
    return Drop(path, _RULE)


def _for_a_while(spec: dict[str, Any], table: Table) -> Iterator[Obstacle]:
    """Yield tolerations with an end: the Pod may come to such nodes, and may not stay."""
    known = {"", RESERVED_TAINT, *(one.key for row in table.rows for one in row.tolerations)}
    for number, one in enumerate(spec.get("tolerations") or ()):
        if isinstance(one, dict) and one.get("tolerationSeconds") is not None:
            key = one.get("key") or ""
            if key in known:
                path: Path = ("spec", "tolerations", number)
                why = f"it tolerates {key or 'all taints'} for a while, which no spec does"
                yield _obstacle(path, why, _drop((*path, "tolerationSeconds")))


def _odd_resources(pod: dict[str, Any], request: PodRequest, table: Table) -> Iterator[Obstacle]:
    """Yield what a Pod asks for that is no whole device of one kind, or is refused anyway."""
    for need, name in request.neighbours:
        if name in table.resources:
            continue
        if name not in table.rivals:
            why = f"{who(need)} asks for {name}, a part or a share of a device: no spec means that"
        else:
            why = f"{who(need)} asks for {name}, which no row of table {table.name} has"
        path = resources_of(need)
        resources = pod["spec"][path[1]][path[2]]["resources"]
        sides = (side for side in SIDES if name in (resources.get(side) or {}))
        yield _obstacle(path, why, *(_drop((*path, side, name)) for side in sides))
    resources = kinds_of(request, table)
    if len(resources) > 1:
        why = f"a spec means one kind of resource, and it asks for {few(resources)}"
        yield _obstacle(("spec",), why)
    for resource in resources:
        for name, path in places(pod, resource):
            yield from _one_sided(pod, resource, name, path)


def _one_sided(pod: dict[str, Any], resource: str, name: str, path: Path) -> Iterator[Obstacle]:
    resources = pod["spec"][path[1]][path[2]]["resources"]
    limits, requests = (resources.get(side) or {} for side in SIDES)
    if resource not in limits:
        why = f'container "{name}" has {resource} only under requests, which is refused'
        yield _obstacle(path, why, Put((*path, "limits", resource), requests[resource], _RULE))
    elif resource in requests and str(requests[resource]) != str(limits[resource]):
        why = f'container "{name}": limits and requests differ in {resource}, which is refused'
        yield _obstacle(path, why, Put((*path, "requests", resource), limits[resource], _RULE))
