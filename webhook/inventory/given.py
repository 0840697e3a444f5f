"""What of all that its claim recognises a row would get from DRA drivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from selection_spec.rows import Output, Row
from webhook.inventory.claims import Recognised
from webhook.inventory.holders import Holders, plugin_resources
from webhook.inventory.kinds import Kind


@dataclass(frozen=True, slots=True)
class Given:
    """What DRA drivers give a row.

    Attributes:
        nodes: Nodes with the row's labels on which they give it devices.
        devices: Devices in all.
        usable: Those without a device taint where a Pod could start (D7), occupied or not.
        free: Usable ones that nobody holds.
        largest: The most on a single node, usable or not.
        most_usable: The most usable ones on a single node.
        astray: Nodes without the row's labels that have some, and how many.
        twice: Nodes on which a device plugin gives these devices out too.
        held: How many Pods hold devices there by what a device plugin calls them.
        held_on: On how many nodes these Pods are.
    """

    nodes: int = 0
    devices: int = 0
    usable: int = 0
    free: int = 0
    largest: int = 0
    most_usable: int = 0
    astray: Mapping[str, int] = field(default_factory=dict)
    twice: int = 0
    held: int = 0
    held_on: int = 0


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a row's claim recognises, and what the row would get of that."""

    found: Recognised
    given: Given


def given(
    row: Row, found: Recognised, kind_of: Callable[[str], Kind | None], holders: Holders
) -> Given:
    """Add up what a row's claim recognises.

    An extended resource is given by drivers only where no device plugin gives it (Kubernetes).
    """
    counted = []
    nodes = free = twice = 0
    astray = {}
    holds = []
    for place, here in found.places.items():
        kind = kind_of(place)
        if kind is not None:
            has_plugin = not dict(kind.gpus).keys().isdisjoint(plugin_resources(row))
            if has_plugin and row.output is Output.EXTENDED_RESOURCE:
                continue
            twice += has_plugin
            if row.id in kind.rows:
                nodes += 1
            else:
                astray[place] = here.devices
        counted.append(here)
        hold = holders.by_plugin(place, row)
        free += max(0, here.free - hold.devices)
        if hold.holders:
            holds.append(hold)
    return Given(
        nodes=nodes,
        devices=sum(here.devices for here in counted),
        usable=sum(here.usable for here in counted),
        free=free,
        largest=max((here.devices for here in counted), default=0),
        most_usable=max((here.usable for here in counted), default=0),
        astray=astray,
        twice=twice,
        held=sum(hold.holders for hold in holds),
        held_on=len(holds),
    )
