"""What makes a node a GPU node, and by which labels vendors and clouds say which GPU it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.inventory.facts import NodeFacts
from webhook.terms import is_sibling

NVIDIA: Final = "nvidia.com/gpu"
AMD: Final = "amd.com/gpu"
INTEL: Final = "gpu.intel.com/i915"
INTEL_XE: Final = "gpu.intel.com/xe"

RESOURCES: Final = frozenset({NVIDIA, AMD, INTEL, INTEL_XE})

NVIDIA_PRODUCT: Final = "nvidia.com/gpu.product"
AMD_PRODUCT: Final = "amd.com/gpu.product-name"
INTEL_PRODUCT: Final = "gpu.intel.com/product"
GKE_ACCELERATOR: Final = "cloud.google.com/gke-accelerator"
KARPENTER_GPU: Final = "karpenter.k8s.aws/instance-gpu-name"
EKS_AUTO_GPU: Final = "eks.amazonaws.com/instance-gpu-name"

PRODUCT_LABELS: Final = (
    NVIDIA_PRODUCT,
    AMD_PRODUCT,
    INTEL_PRODUCT,
    GKE_ACCELERATOR,
    KARPENTER_GPU,
    EKS_AUTO_GPU,
)
"""Labels that name the card, those of the vendors' own discovery first."""


# Words by which admins call the label that tells their GPU nodes apart.
GPU_WORDS: Final = ("gpu", "accelerator", "card", "model", "device")
_SHOWN_LABELS = 4


def telling_labels(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the few labels of a GPU node that say most about its GPUs, the plainest first."""
    named = [key for key in PRODUCT_LABELS if key in labels]
    others = sorted(
        key
        for key in labels
        if key not in PRODUCT_LABELS and any(word in key.lower() for word in GPU_WORDS)
    )
    # Where the card is named, what else its discovery says is of no use here.
    keys = named or sorted(others, key=lambda key: (key.partition("/")[0].count("."), key))
    return tuple((key, labels[key]) for key in keys[:_SHOWN_LABELS])


def gpus(node: NodeFacts, outputs: frozenset[str] = frozenset()) -> Mapping[str, int]:
    """Return a node's GPUs by resource: those of a table, of known vendors, and their siblings.

    Capacity counts, not what is allocatable: a node whose GPUs are all sick still is a GPU node.
    """
    known = outputs | RESOURCES
    return {
        name: count
        for name, count in sorted(node.capacity.items())
        if count and (name in known or is_sibling(name, known))
    }
