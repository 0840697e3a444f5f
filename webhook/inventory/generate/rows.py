"""Rows to be: names, memory, costs and tolerations of nodes that are alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from selection_spec.denial import few
from selection_spec.labels import Requirement, Toleration
from selection_spec.schema import MAX_PER_NODE
from webhook.inventory.facts import Taint
from webhook.inventory.generate.catalogue import Card, Catalogue, suffixed
from webhook.inventory.generate.claims import Classes, DraftClaim, draft_claim
from webhook.inventory.generate.sightings import Sighting
from webhook.inventory.taints import is_own, is_transient, keeps_pods_away

# Taints that say how a node fares for now; who tolerates them runs where nothing should start.
_PASSING = re.compile(
    r"unhealthy|error|fail|readiness|drain|maintenance|operating|startup|initial|delet|disrupt"
    r"|quarantine|remediat|cordon|repair",
    re.IGNORECASE,
)

Platform = tuple[str, str]

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class DraftRow:
    """A row to be, with what a person should know of it.

    Attributes:
        nodes: How its nodes are recognised.
        resource: Of its device plugin, "" where only a DRA driver offers its devices.
        claim: How a DRA driver's devices are recognised, None where none offers any.
        count: How many there are, ``first`` one of them.
        notes: What was seen and not written into the row.
        doubts: What a person has to finish.
    """

    name: str
    vram_gb: int
    per_node: int
    cost: int
    any: bool
    platform: Platform
    nodes: tuple[Requirement, ...]
    tolerations: tuple[Toleration, ...]
    resource: str
    count: int
    first: str
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    claim: DraftClaim | None = None

    @property
    def order(self) -> tuple[int, int, str]:
        """The row's place in the table (D8)."""
        return self.cost, self.vram_gb, self.name


@dataclass(slots=True)
class Group:
    """Sightings of one row to be; ``requirements`` is how its nodes are recognised."""

    card: Card
    resource: str
    platform: Platform
    found: list[Sighting] = field(default_factory=list)
    requirements: tuple[Requirement, ...] = ()

    @property
    def key(self) -> str:
        """The label key that names the card."""
        return self.found[0].clue[0][0]

    @property
    def devices(self) -> int:
        """All devices of the group."""
        return sum(one.count for one in self.found)


def draft_rows(
    groups: Sequence[Group], catalogue: Catalogue, classes: Classes | None = None
) -> list[DraftRow]:
    """Return a row for each group; only whole known cards of the usual kind are part of ``any``.

    Args:
        groups: The rows to be.
        catalogue: The cards that are known.
        classes: The DeviceClasses, None where they are not known.
    """
    resource = _most(groups, lambda group: group.resource)
    platform = _most(groups, lambda group: group.platform)
    names = _names(groups)
    costs = _costs(groups, catalogue)
    rows = []
    for group, name, cost in zip(groups, names, costs, strict=True):
        card = group.card
        is_usual = (group.resource, group.platform) == (resource, platform)
        is_any = is_usual and card.is_whole and (card.row is not None or card.vram_gb > 1)
        aliases = card.row.aliases if card.row and is_any else ()
        tolerations, notes = _tolerations(group.found)
        offers = [one.drivers for one in group.found] if card.is_whole else []
        claim = draft_claim(offers, classes)
        rows.append(
            DraftRow(
                name=name,
                vram_gb=card.vram_gb,
                per_node=min(MAX_PER_NODE, max(one.count for one in group.found)),
                cost=cost,
                any=is_any,
                platform=group.platform,
                nodes=group.requirements,
                tolerations=tolerations,
                resource=group.resource,
                count=len(group.found),
                first=group.found[0].node.name,
                aliases=tuple(alias for alias in aliases if alias not in names),
                notes=(*notes, *(claim.notes if claim else ())),
                doubts=(*_doubts(group, name, groups), *(claim.doubts if claim else ())),
                claim=claim,
            )
        )
    return rows


def _doubts(group: Group, name: str, groups: Sequence[Group]) -> Iterator[str]:
    card = group.card
    yield from dict.fromkeys(doubt for one in group.found if one.card for doubt in one.card.doubts)
    if card.row is None:
        yield f"{name} is no card that is known here; see that name, vram and cost are right"
    most = max(one.count for one in group.found)
    if most > MAX_PER_NODE:
        yield f"a node offers {most}, and perNode ends at {MAX_PER_NODE}; see how it is shared"
    if name == card.name:
        return
    other = next(one for one in groups if one.card.id == card.id)
    if (other.resource, other.platform) == (group.resource, group.platform):
        yield f"{card.id} is the same by another label; with one label for both it could be one row"
    else:
        yield f"{card.id} is the same card elsewhere; give this row a name that tells it apart"


def _most(groups: Sequence[Group], of: Callable[[Group], _Value]) -> _Value | None:
    """Return the value that most devices have."""
    devices: Counter[_Value] = Counter()
    for group in groups:
        devices[of(group)] += group.devices
    return max(devices, key=lambda value: devices[value], default=None)


def _names(groups: Sequence[Group]) -> list[str]:
    """Return a name for each group, so that name and memory together are one row's (G6)."""
    taken: set[str] = set()
    names = []
    for group in groups:
        card, number = group.card, 1
        name = card.name
        while f"{name}-{card.vram_gb}gb" in taken:
            number += 1
            name = suffixed(card.name, str(number))
        taken.add(f"{name}-{card.vram_gb}gb")
        names.append(name)
    return names


def _costs(groups: Sequence[Group], catalogue: Catalogue) -> list[int]:
    """Return ranks from 1 without a gap, in the catalogue's order."""
    costs = [_cost(group.card, catalogue) for group in groups]
    ranks = {cost: rank for rank, cost in enumerate(sorted(set(costs)), start=1)}
    return [ranks[cost] for cost in costs]


def _cost(card: Card, catalogue: Catalogue) -> int:
    """Return a card's cost in the catalogue; an unknown one costs as much as any of its size."""
    if card.row is not None:
        return card.row.cost
    smaller = [row for row in catalogue.rows if row.vram_gb <= card.vram_gb]
    size = max((row.vram_gb for row in smaller), default=0)
    return max((row.cost for row in smaller if row.vram_gb == size), default=1)


def _tolerations(found: Sequence[Sighting]) -> tuple[tuple[Toleration, ...], tuple[str, ...]]:
    """Return tolerations for the taints that all nodes carry, and notes on the others."""
    seen: dict[tuple[str, str], list[Taint]] = {}
    for one in found:
        for taint in dict.fromkeys(one.node.taints):
            if keeps_pods_away(taint) and not is_own(taint) and not is_transient(taint):
                seen.setdefault((taint.key, taint.effect), []).append(taint)
    tolerations, notes = [], []
    for (key, effect), taints in sorted(seen.items()):
        values = {taint.value for taint in taints}
        if _PASSING.search(key):
            notes.append(f"taint {taints[0]} looks like a passing one and is not tolerated")
        elif len(taints) < len(found):
            share = f"{len(taints)} of {len(found)}"
            said = few(dict.fromkeys(map(str, taints)))
            notes.append(f"taint {said} is on {share} nodes only and is not tolerated")
        elif len(values) == 1 and "" not in values:
            tolerations.append(Toleration(key, "Equal", taints[0].value, effect))
        else:
            tolerations.append(Toleration(key, "Exists", None, effect))
    return tuple(tolerations), tuple(notes)
