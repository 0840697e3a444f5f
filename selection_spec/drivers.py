"""What is known of DRA drivers for GPUs: names of theirs, and of the same cards elsewhere."""

from __future__ import annotations

from typing import Final

PLUGIN_RESOURCES: Final = {
    "gpu.nvidia.com": ("nvidia.com/gpu",),
    "gpu.amd.com": ("amd.com/gpu",),
    "gpu.intel.com": ("gpu.intel.com/i915", "gpu.intel.com/xe"),
}
"""What device plugins call the cards that a driver offers."""

PRODUCT_ATTRIBUTES: Final = {"gpu.intel.com": "model"}
"""What drivers call the product of a device, where it is not ``DEFAULT_PRODUCT_ATTRIBUTE``."""

DEFAULT_PRODUCT_ATTRIBUTE: Final = "productName"

WHOLE_TYPES: Final = ("gpu", "amdgpu")
"""What drivers call a whole GPU; MIG devices, partitions and pass-through have other types, and a
device without a type is whole."""
