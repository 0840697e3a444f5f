"""The attributes of devices that drivers and Kubernetes document, and their kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_NVIDIA: Final = "gpu.nvidia.com"
_AMD: Final = "gpu.amd.com"
_INTEL: Final = "gpu.intel.com"
_STANDARD: Final = "resource.kubernetes.io"

_BY_KIND: Final = {
    (
        _NVIDIA,
        "string",
    ): "addressingMode architecture brand deviceID parentUUID productName profile "
    "type uuid vendorID",
    (_NVIDIA, "version"): "cudaComputeCapability cudaDriverVersion driverVersion",
    (_NVIDIA, "int"): "gpuModuleID",
    (_NVIDIA, "bool"): "iommuFDEnabled",
    (_AMD, "string"): "deviceID driverSrcVersion family partitionProfile pciAddr productName type",
    (_AMD, "version"): "driverVersion",
    (_AMD, "int"): "cardIndex renderIndex",
    (_INTEL, "string"): "driver family health model pciAddress pciId type",
    (_INTEL, "bool"): "sriov",
    (_STANDARD, "string"): "pciBusID pcieRoot",
    (_STANDARD, "int"): "numaNode",
}

ATTRIBUTES: Final[Mapping[tuple[str, str], str]] = {
    (domain, name): kind for (domain, kind), names in _BY_KIND.items() for name in names.split()
}
"""By domain and name."""
