"""What DRA drivers offer and claims hold, and what of it the rows of a table have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from selection_spec.rows import Output, Row
from webhook.inventory.claim_facts import ClaimFacts, Pool, held_by
from webhook.inventory.kinds import Kind
from webhook.inventory.slice_facts import SliceFacts, current


@dataclass(frozen=True, slots=True)
class Offered:
    """What DRA drivers offer.

    Attributes:
        slices: Those that count (``slice_facts.current``).
        classes: The DeviceClasses, each with the extended resource that it serves or ""; None
            where they are not known.
        held: By pool, the devices that claims hold.
    """

    slices: Sequence[SliceFacts]
    classes: Mapping[str, str] | None = None
    held: Mapping[Pool, AbstractSet[str]] = field(default_factory=dict)

    def serves(self, row: Row) -> bool:
        """Tell whether Pods may get a row's extended resource from a DRA driver."""
        is_plain = row.output is Output.EXTENDED_RESOURCE
        return is_plain and self.classes is not None and row.resource in self.classes.values()

    def missing_classes(self, rows: Iterable[Row]) -> tuple[str, ...]:
        """Return DeviceClasses that claims for these rows ask for and that do not exist (C3)."""
        asked = {
            row.claim.device_class
            for row in rows
            if row.claim is not None and row.output is Output.RESOURCE_CLAIM
        }
        return () if self.classes is None else tuple(sorted(asked - self.classes.keys()))


def offered(
    slices: Iterable[SliceFacts],
    classes: Mapping[str, str] | None = None,
    claims: Iterable[ClaimFacts] = (),
) -> Offered:
    """Return what drivers offer and claims hold, as the API server has it."""
    return Offered(current(slices), classes, held_by(claims))


@dataclass(slots=True)
class Here:
    """The devices on one node that a row recognises: all, usable ones, and free ones of these."""

    devices: int = 0
    usable: int = 0
    free: int = 0


@dataclass(slots=True)
class Recognised:
    """What a row's claim recognises.

    Attributes:
        places: By node; by pool where a pool is not on one node.
        beside: By other row, the devices that its claim recognises too.
        whole: By product, whole GPUs that its driver offers, recognised or not.
        failing: By reason, devices on which a selector of the admin's fails.
        unread: Why nothing was counted: a selector of the admin's cannot be read; else "".
    """

    places: dict[str, Here] = field(default_factory=dict)
    beside: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)
    failing: Counter[str] = field(default_factory=Counter)
    unread: str = ""

    @property
    def devices(self) -> int:
        """How many devices there are in all."""
        return sum(here.devices for here in self.places.values())


@dataclass(frozen=True, slots=True)
class Given:
    """What DRA drivers give a row.

    Attributes:
        nodes: Nodes with the row's labels on which they give it devices.
        devices: Devices in all.
        usable: Those without a device taint where a Pod could start (D7), occupied or not.
        free: Usable ones that no claim holds.
        largest: The most on a single node, usable or not.
        most_usable: The most usable ones on a single node.
        astray: Nodes without the row's labels that have some, and how many.
    """

    nodes: int = 0
    devices: int = 0
    usable: int = 0
    free: int = 0
    largest: int = 0
    most_usable: int = 0
    astray: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a row's claim recognises, and what the row would get of that."""

    found: Recognised
    given: Given


def given(row: Row, found: Recognised, kind_of: Callable[[str], Kind | None]) -> Given:
    """Add up what a row's claim recognises.

    An extended resource is given by drivers only where no device plugin gives it (Kubernetes).
    """
    counted = []
    nodes = 0
    astray = {}
    for place, here in found.places.items():
        kind = kind_of(place)
        if kind is not None:
            if row.output is Output.EXTENDED_RESOURCE and dict(kind.built).get(row.resource):
                continue
            if row.id in kind.rows:
                nodes += 1
            else:
                astray[place] = here.devices
        counted.append(here)
    return Given(
        nodes=nodes,
        devices=sum(here.devices for here in counted),
        usable=sum(here.usable for here in counted),
        free=sum(here.free for here in counted),
        largest=max((here.devices for here in counted), default=0),
        most_usable=max((here.usable for here in counted), default=0),
        astray=astray,
    )
