"""Devices as single nodes show them: their amount, and labels or drivers that name the card."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selection_spec.labels import ARCH_LABEL, OS_LABEL
from webhook.inventory.facts import NodeFacts
from webhook.inventory.generate.catalogue import Card, Catalogue, suffixed
from webhook.inventory.generate.claims import Measured
from webhook.inventory.memory import REPLICAS, memory_of, shares_of
from webhook.inventory.vendors import (
    AMD,
    AMD_PRODUCT,
    EKS_AUTO_GPU,
    GKE_ACCELERATOR,
    INTEL,
    INTEL_PRODUCT,
    KARPENTER_GPU,
    NVIDIA,
    NVIDIA_PRODUCT,
    gpus,
)

Pairs = tuple[tuple[str, str], ...]

# Siblings of GPU resources that are parts of a GPU, or tools to watch it, and no devices.
_NO_DEVICES = re.compile(
    r"nvidia\.com/gpu(?:mem|cores|-?memory)\S*"
    r"|gpu\.intel\.com/(?:millicores|memory\.max|tiles|\S*monitoring)"
)
_MIG_RESOURCE = re.compile(r"nvidia\.com/mig-([0-9]+g\.[0-9]+gb\S*)")

_GKE_PARTITION = "cloud.google.com/gke-gpu-partition-size"
_GKE_SHARING = "cloud.google.com/gke-gpu-sharing-strategy"
_AMD_PARTITION = "amd.com/gpu.compute-memory-partition"
_AMD_WHOLE = "spx"
_AMD_PARTS = {"dpx": 2, "tpx": 3, "qpx": 4, "cpx": 8}

# Whose labels name the cards of a driver.
_RESOURCES = {"gpu.nvidia.com": NVIDIA, "gpu.amd.com": AMD, "gpu.intel.com": INTEL}

_NAMING = {
    "nvidia.com": (NVIDIA_PRODUCT, GKE_ACCELERATOR, KARPENTER_GPU, EKS_AUTO_GPU),
    "amd.com": (AMD_PRODUCT, KARPENTER_GPU, EKS_AUTO_GPU),
    "gpu.intel.com": (INTEL_PRODUCT,),
}


@dataclass(frozen=True, slots=True)
class Sighting:
    """Devices of one resource on one node.

    Attributes:
        resource: Of a device plugin; "" where only a DRA driver offers them.
        clue: Labels that name the card, the one with its name first; empty where none does.
        card: The card that they or the driver name; None where none does.
        drivers: What DRA drivers say of the same devices.
    """

    node: NodeFacts
    resource: str
    count: int
    clue: Pairs = ()
    card: Card | None = None
    drivers: tuple[Measured, ...] = ()

    @property
    def platform(self) -> tuple[str, str]:
        """Operating system and architecture, as the node's labels tell."""
        labels = self.node.labels
        return labels.get(OS_LABEL, "linux"), labels.get(ARCH_LABEL, "amd64")


def sightings(
    nodes: Iterable[NodeFacts],
    catalogue: Catalogue,
    drivers: Mapping[str, Sequence[Measured]],
) -> list[Sighting]:
    """Return the GPUs of all nodes: for each resource of each node, and what only drivers offer."""
    return [
        sighting
        for node in nodes
        for sighting in _of_node(node, catalogue, drivers.get(node.name, ()))
    ]


def _of_node(
    node: NodeFacts, catalogue: Catalogue, drivers: Sequence[Measured]
) -> Iterator[Sighting]:
    devices = devices_of(node)
    for resource, count in devices.items():
        mine = tuple(one for one in drivers if one.is_of(resource))
        yield _sighting(node, resource, count, catalogue, mine)
    for one in drivers:
        if not any(one.is_of(resource) for resource in devices):
            clue = _clue(_RESOURCES.get(one.driver, ""), node.labels)
            named = one.product or (clue[0][1] if clue else "")
            card = catalogue.card(named, one.memory_mib) if named else None
            yield Sighting(node, "", one.count, clue, card, (one,))


def devices_of(node: NodeFacts) -> dict[str, int]:
    """Return a node's GPUs by resource, without what only measures or watches them."""
    return {name: count for name, count in gpus(node).items() if not _NO_DEVICES.fullmatch(name)}


def _sighting(
    node: NodeFacts,
    resource: str,
    count: int,
    catalogue: Catalogue,
    drivers: tuple[Measured, ...],
) -> Sighting:
    clue = _clue(resource, node.labels)
    if not clue:
        return Sighting(node, resource, count, drivers=drivers)
    key, text = clue[0]
    mig = _MIG_RESOURCE.fullmatch(resource)
    if mig and "-MIG-" not in text:
        text = f"{text.removesuffix('-SHARED')}-MIG-{mig[1]}"
    partition = dict(clue).get(_GKE_PARTITION)
    if partition:
        text = f"{text}-MIG-{partition}"
    memory = memory_of(node.labels) or min((one.memory_mib for one in drivers), default=0)
    card = catalogue.card(text, memory, shares_of(node.labels))
    if key == AMD_PRODUCT:
        card = _amd_part(card, dict(clue).get(_AMD_PARTITION, _AMD_WHOLE))
    return Sighting(node, resource, count, clue, card, drivers)


def _clue(resource: str, labels: Mapping[str, str]) -> Pairs:
    """Return the labels by which nodes with this card are told from all others."""
    naming = _NAMING.get(resource.partition("/")[0], ())
    key = next((key for key in (f"{resource}.product", *naming) if key in labels), None)
    if key is None:
        return ()
    beside: tuple[str, ...] = ()
    if key in (KARPENTER_GPU, EKS_AUTO_GPU):
        # An A100 of 40 GB and one of 80 GB have the same name there.
        beside = (key.replace("-name", "-memory"),)
    elif resource.endswith(".shared"):
        # Shared cards under a resource of their own keep the product's plain name.
        beside = (REPLICAS,)
    elif key == GKE_ACCELERATOR:
        beside = (_GKE_PARTITION, _GKE_SHARING)
    elif key == AMD_PRODUCT and not labels.get(_AMD_PARTITION, "").startswith(_AMD_WHOLE):
        beside = (_AMD_PARTITION,)
    return tuple((one, labels[one]) for one in (key, *beside) if one in labels)


def _amd_part(card: Card, partition: str) -> Card:
    parts = _AMD_PARTS.get(partition.partition("_")[0])
    if parts is None:
        return card
    doubt = f"each card is split into {parts} parts; see that vram is that of one"
    name = suffixed(card.name, partition.partition("_")[0])
    return Card(
        name, max(1, card.vram_gb // parts), card.row, (*card.doubts, doubt), is_whole=False
    )
