"""A card's memory: the gigabytes on its box and the MiB that its driver reports (G3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from selection_spec.nominal import MIB, TOLERANCE_PER_MILLE, least_mib
from webhook.inventory.vendors import NVIDIA_PRODUCT

REPLICAS: Final = "nvidia.com/gpu.replicas"

# The gigabytes on the boxes of cards, the largest first.
_SOLD_GB: Final = (
    *(288, 256, 192, 186, 180, 141, 128, 96, 94, 80, 64),
    *(48, 40, 32, 24, 20, 16, 12, 11, 10, 8),
)

# Boxes round: a B200 is sold as one of 180, of 186 and of 192 GB. Sizes as near as this to each
# other are no contradiction.
_ROUNDING_PER_CENT = 10

_NUMBER = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)

_NVIDIA_KEYS = ("nvidia.com/gpu.memory",)
_MEMORY_KEYS = (
    *_NVIDIA_KEYS,
    "karpenter.k8s.aws/instance-gpu-memory",
    "eks.amazonaws.com/instance-gpu-memory",
)
_SHARE_KEYS = (REPLICAS, "cloud.google.com/gke-max-shared-clients-per-gpu")
_SHARING = "nvidia.com/gpu.sharing-strategy"


def most_gb(memory_mib: int) -> int:
    """Return the most nominal gigabytes that a card with so many MiB may have."""
    most = memory_mib * MIB * 1000 // (10**9 * TOLERANCE_PER_MILLE)
    return most + 1 if least_mib(most + 1) <= memory_mib else most


def nominal_gb(memory_mib: int) -> int:
    """Return the gigabytes on the box of a card that has so many MiB: a size that is sold."""
    fitting = (size for size in _SOLD_GB if least_mib(size) <= memory_mib)
    return next(fitting, max(1, most_gb(memory_mib)))


def contradicts(vram_gb: int, memory_mib: int) -> bool:
    """Tell whether a card with so many MiB is none of so many nominal gigabytes."""
    larger = nominal_gb(memory_mib) * 100 > vram_gb * (100 + _ROUNDING_PER_CENT)
    return larger or memory_mib < least_mib(vram_gb)


def memory_of(labels: Mapping[str, str]) -> int:
    """Return the MiB of a node's GPUs as its labels tell, 0 where they don't."""
    return _number(labels, _MEMORY_KEYS)


def shares_of(labels: Mapping[str, str]) -> int:
    """Return how many Pods share a device of a node as its labels tell, 1 where they don't."""
    return _number(labels, _SHARE_KEYS) or 1


def card_mib(labels: Mapping[str, str]) -> int:
    """Return the MiB of a node's whole cards of NVIDIA's; 0 where labels tell of shares or slices.

    What one of several Pods on a card is promised is an admin's choice, and no nominal memory.
    """
    product = labels.get(NVIDIA_PRODUCT, "")
    is_part = "-MIG-" in product or "-SHARED" in product or shares_of(labels) > 1
    if is_part or labels.get(_SHARING, "none") != "none":
        return 0
    return _number(labels, _NVIDIA_KEYS)


def _number(labels: Mapping[str, str], keys: Iterable[str]) -> int:
    texts = (labels[key] for key in keys if key in labels)
    return next((int(text) for text in texts if _NUMBER.fullmatch(text)), 0)
