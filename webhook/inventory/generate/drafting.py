"""A table to be: devices on nodes, those alike in card, resource and platform as one row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Final

from selection_spec.denial import few
from selection_spec.labels import ARCH_LABEL, Operator, Requirement
from webhook.inventory.facts import NodeFacts
from webhook.inventory.generate.catalogue import Catalogue
from webhook.inventory.generate.claims import Classes, measured
from webhook.inventory.generate.rows import DraftRow, Group, draft_rows
from webhook.inventory.generate.sightings import Sighting, sightings
from webhook.inventory.generate.unnamed import with_clues
from webhook.inventory.matching import fulfils
from webhook.inventory.missing_class import missing_class
from webhook.inventory.slice_facts import SliceFacts
from webhook.inventory.vendors import PRODUCT_LABELS

HIGH_CLASS: Final = "gpuspec-high"
"""The PriorityClass whose Pods a drafted table holds to the smallest devices that fit."""

_HOSTNAME = "kubernetes.io/hostname"

# Extended resources of networks and the like, which nobody takes for devices that compute.
_NO_COMPUTE = ("rdma", "hca", "nic", "sriov", "vfio", "efa", "hugepages", "fuse", "kvm", "tun")


@dataclass(frozen=True, slots=True)
class Draft:
    """A table to be: rows in D8 order, and what no row could be made of, in words.

    ``doubts`` are what a person has to finish that is no matter of one row: its priorities.
    """

    rows: tuple[DraftRow, ...]
    nodes: int
    gpu_nodes: int
    left_out: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def unfinished(self) -> int:
        """How many rows, and other parts, have something to finish by hand."""
        return sum(bool(row.doubts) for row in self.rows) + len(self.doubts)


def draft(
    nodes: Sequence[NodeFacts],
    slices: Iterable[SliceFacts],
    catalogue: Catalogue,
    classes: Collection[str] | None = None,
    device_classes: Classes | None = None,
) -> Draft:
    """Draft a table that covers every GPU of a cluster.

    Args:
        nodes: Every node; those without GPUs show which labels say nothing about GPUs.
        slices: What DRA drivers offer; what they say of cards is used where labels say less.
        catalogue: The cards that are known.
        classes: Names of the cluster's PriorityClasses, None where they are not known.
        device_classes: The CEL of its DeviceClasses by name, None where they are not known.
    """
    drivers = measured(slices)
    nodes = sorted(nodes, key=lambda node: node.name)
    found = sightings(nodes, catalogue, drivers)
    with_gpus = {one.node.name for one in found}
    others = [node for node in nodes if node.name not in with_gpus]
    unnamed = [one for one in found if not one.clue]
    named = [one for one in found if one.clue]
    named += with_clues(unnamed, others, catalogue)
    groups = _grouped(named)
    labels = _Labels(groups)
    for group in groups:
        group.requirements = _requirements(group, labels)
    rows = draft_rows(groups, catalogue, device_classes)
    is_known = classes is None or HIGH_CLASS in classes
    return Draft(
        rows=tuple(sorted(rows, key=lambda row: row.order)),
        nodes=len(nodes),
        gpu_nodes=len(with_gpus),
        left_out=tuple(_left_out(others)),
        doubts=() if is_known else (missing_class(HIGH_CLASS, classes or ()).text(),),
    )


def _grouped(named: Iterable[Sighting]) -> list[Group]:
    """Put together what one row can say: values of one key become a list, other labels agree."""
    groups: dict[object, Group] = {}
    for one in named:
        if one.card is None:
            raise AssertionError(one)  # whatever has a clue has a card
        rest = (one.clue[0][0], one.clue[1:])
        driver = "" if one.resource else one.drivers[0].driver
        key = one.card.id, one.card.is_whole, one.resource, driver, one.platform, rest
        group = groups.setdefault(key, Group(one.card, one.resource, one.platform))
        group.found.append(one)
    return sorted(groups.values(), key=lambda group: (-group.devices, group.found[0].node.name))


class _Labels:
    """Which sightings have a label that names cards somewhere, group by group."""

    def __init__(self, groups: Sequence[Group]) -> None:
        keys = {key for group in groups for one in group.found for key, _ in one.clue}
        self._having: dict[tuple[str, str], list[tuple[Group, Sighting]]] = {}
        for group in groups:
            for one in group.found:
                for key in keys & one.node.labels.keys():
                    pair = key, one.node.labels[key]
                    self._having.setdefault(pair, []).append((group, one))

    def strangers(
        self, group: Group, naming: Requirement, wanted: Sequence[Requirement]
    ) -> list[tuple[Group, Sighting]]:
        """Return who else has a group's resource and fulfils what it wants of its nodes."""
        return [
            (other, one)
            for value in naming.values
            for other, one in self._having.get((naming.key, value), ())
            if other is not group
            and other.resource == group.resource
            and _all_fulfilled(one.node, wanted)
        ]


def _requirements(group: Group, labels: _Labels) -> tuple[Requirement, ...]:
    """Return what tells a group's nodes from those of every other group of the same resource."""
    clue = group.found[0].clue
    seen = tuple(sorted({one.clue[0][1] for one in group.found}))
    wanted = _of_catalogue(group) or [
        Requirement(group.key, Operator.IN, seen),
        *(Requirement(key, Operator.IN, (value,)) for key, value in clue[1:]),
    ]
    naming = next(one for one in wanted if one.key == group.key)
    strangers = labels.strangers(group, naming, wanted)
    if any(other.platform != group.platform for other, _ in strangers):
        wanted.append(Requirement(ARCH_LABEL, Operator.IN, (group.platform[1],)))
        strangers = labels.strangers(group, naming, wanted)
    while strangers:
        key = next((key for key, _ in strangers[0][1].clue if _is_nowhere(key, group)), None)
        if key is None:
            names = {one.node.labels.get(_HOSTNAME, one.node.name) for one in group.found}
            return (Requirement(_HOSTNAME, Operator.IN, tuple(sorted(names))),)
        wanted.append(Requirement(key, Operator.DOES_NOT_EXIST))
        strangers = labels.strangers(group, naming, wanted)
    return tuple(sorted(wanted, key=lambda one: one.key))


def _is_nowhere(key: str, group: Group) -> bool:
    """Tell whether no node of a group has a label."""
    return all(key not in one.node.labels for one in group.found)


def _of_catalogue(group: Group) -> list[Requirement]:
    """Return all the spellings of a known product, not only those that are there today."""
    row = group.card.row
    if row is None or not group.card.is_whole or all(one.key != group.key for one in row.nodes):
        return []
    known = list(row.nodes)
    return known if all(_all_fulfilled(one.node, known) for one in group.found) else []


def _all_fulfilled(node: NodeFacts, wanted: Iterable[Requirement]) -> bool:
    return all(fulfils(node.labels, one) for one in wanted)


def _left_out(others: Sequence[NodeFacts]) -> Iterator[str]:
    """Say what no row could be made of, in sentences."""
    silent = sorted(
        node.name for node in others if any(key in node.labels for key in PRODUCT_LABELS)
    )
    if silent:
        yield (
            f"{_who(silent, 'has', 'have')} labels of a GPU but no GPU to offer "
            f"({few(silent)}); see whether the device plugin or a DRA driver runs there"
        )
    offering: dict[str, list[str]] = {}
    for node in others:
        for resource, count in node.capacity.items():
            if count and not any(word in resource.lower() for word in _NO_COMPUTE):
                offering.setdefault(resource, []).append(node.name)
    for resource, names in sorted(offering.items()):
        who = _who(names, "offers", "offer")
        yield f"{who} {resource}; no GPU as far as is known here, so it has no row"


def _who(names: Sized, one: str, many: str) -> str:
    """Return how many nodes, with a verb in the right number."""
    return f"1 node {one}" if len(names) == 1 else f"{len(names)} nodes {many}"
