"""Devices that a kubelet withholds: allocatable below capacity (H2 c)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from webhook.health.readings import Grade, Reading, Source
from webhook.health.subjects import plugin_subject
from webhook.inventory.facts import NodeFacts


class Withheld(Enum):
    """How many of a node's devices its kubelet withholds."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


def withheld(node: NodeFacts, resource: str) -> Withheld:
    """Tell how many of a resource's devices a kubelet withholds.

    All of them, or no capacity at all, is what a device plugin looks like that restarts.
    """
    capacity, allocatable = node.capacity.get(resource), node.allocatable.get(resource, 0)
    if capacity is None:
        return Withheld.NONE
    if not capacity or not allocatable:
        return Withheld.ALL
    return Withheld.SOME if allocatable < capacity else Withheld.NONE


def read(node: NodeFacts, resources: Iterable[str]) -> Iterator[Reading]:
    """Yield what a kubelet's counts say; which of several devices is sick they do not tell."""
    for resource in resources:
        found = withheld(node, resource)
        if found is Withheld.NONE:
            continue
        capacity, allocatable = node.capacity.get(resource, 0), node.allocatable.get(resource, 0)
        yield Reading(
            plugin_subject(node.name, resource),
            Source.ALLOCATABLE,
            resource,
            Grade.ERROR if found is Withheld.SOME else Grade.UNKNOWN,
            f"{allocatable} of {capacity} {resource} are allocatable",
        )


def again(node: NodeFacts, resource: str) -> Grade:
    """Return how the counts read where they are not bad now; unknown where there are none."""
    is_well = resource in node.capacity and withheld(node, resource) is Withheld.NONE
    return Grade.GOOD if is_well else Grade.UNKNOWN
