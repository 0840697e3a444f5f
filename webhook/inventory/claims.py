"""What DRA drivers offer and claims hold, and what of it a row's claim recognises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from selection_spec.rows import Output, Row
from webhook.inventory.claim_facts import ClaimFacts, Pool, held_by
from webhook.inventory.rule_facts import RuleFacts, with_rules
from webhook.inventory.slice_facts import SliceFacts, current


@dataclass(frozen=True, slots=True)
class Offered:
    """What DRA drivers offer.

    Attributes:
        slices: Those that count (``slice_facts.current``); devices have the taints of
            DeviceTaintRules, too.
        classes: The DeviceClasses, each with the extended resource that it serves or ""; None
            where they are not known.
        claims: Those that hold devices.
        held: By pool, the devices that they hold.
    """

    slices: Sequence[SliceFacts]
    classes: Mapping[str, str] | None = None
    claims: Sequence[ClaimFacts] = ()
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
    rules: Iterable[RuleFacts] = (),
) -> Offered:
    """Return what drivers offer and claims hold, as the API server has it."""
    newest = with_rules(current(slices), rules)
    holding = tuple(claims)
    return Offered(newest, classes, holding, held_by(holding))


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
