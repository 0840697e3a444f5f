"""What DRA drivers publish: a device of every kind, with the attributes that they document.

Pure: ``slices`` makes the ResourceSlices of one node, as its drivers would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from tests.cluster.api import Json, path

SLICES = path("resource.k8s.io/v1", "resourceslices")

NVIDIA = "gpu.nvidia.com"
AMD = "gpu.amd.com"
INTEL = "gpu.intel.com"
FOREIGN = "gpu.example.com"

_PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
_PCI_BUS = "resource.kubernetes.io/pciBusID"


@dataclass(frozen=True)
class Device:
    """One device of a ResourceSlice: attributes as Python values, capacities as quantities.

    ``versions`` are attributes too, of the type that compares as a version.
    """

    name: str
    driver: str
    attributes: Mapping[str, str | int | bool] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> Json:
        """The device as a driver publishes it."""
        attributes = {name: _typed(value) for name, value in self.attributes.items()}
        attributes |= {name: {"version": value} for name, value in self.versions.items()}
        capacity = {name: {"value": value} for name, value in self.capacity.items()}
        return {"name": self.name, "attributes": attributes, "capacity": capacity}


def _typed(value: str | int | bool) -> Json:  # noqa: FBT001  a value, no switch
    kinds = {bool: "bool", int: "int", str: "string"}
    return {kinds[type(value)]: value}


def nvidia(name: str, product: str, memory: str, architecture: str, compute: str) -> Device:
    """A whole GPU of NVIDIA's driver."""
    return Device(
        name,
        NVIDIA,
        {
            "type": "gpu",
            "uuid": f"GPU-{name}",
            "productName": product,
            "brand": product.partition(" ")[0],
            "architecture": architecture,
            "addressingMode": "None",
            "gpuModuleID": 1,
            _PCI_BUS: "0000:0f:00.0",
            _PCIE_ROOT: "pci0000:0c",
            "resource.kubernetes.io/numaNode": 0,
        },
        versions={
            "cudaComputeCapability": compute,
            "driverVersion": "580.95.5",
            "cudaDriverVersion": "13.0.0",
        },
        capacity={
            "memory": memory,
            "multiprocessors": "56",
            "copyEngines": "4",
            "decoders": "4",
            "encoders": "0",
            "jpegEngines": "1",
            "ofaEngines": "1",
        },
    )


def amd(name: str, kind: str, product: str, memory: str) -> Device:
    """A GPU or a partition of AMD's driver."""
    return Device(
        name,
        AMD,
        {
            "type": kind,
            "pciAddr": "0000:0f:00.0",
            "cardIndex": 1,
            "renderIndex": 129,
            "deviceID": "29857",
            "family": "AI",
            "productName": product,
            "driverSrcVersion": "A1B2",
            "partitionProfile": "spx_nps1",
            _PCIE_ROOT: "pci0000:0c",
        },
        versions={"driverVersion": "6.12.12"},
        capacity={"memory": memory, "computeUnits": "304", "simdUnits": "1216"},
    )


def intel(name: str, model: str, capacity: Mapping[str, str]) -> Device:
    """A GPU of Intel's driver, which does not always know its memory."""
    return Device(
        name,
        INTEL,
        {
            "model": model,
            "family": "Data Center Flex",
            "driver": "i915",
            "sriov": True,
            "type": "gpu",
            "pciId": "0x56c0",
            "pciAddress": "0000:0f:00.0",
            "health": "Healthy",
            _PCI_BUS: "0000:0f:00.0",
            _PCIE_ROOT: "pci0000:0c",
        },
        capacity=capacity,
    )


V100 = nvidia("gpu-0", "Tesla V100-SXM2-16GB", "16160Mi", "Volta", "7.0.0")
A30 = nvidia("gpu-1", "NVIDIA A30", "24576Mi", "Ampere", "8.0.0")
A100 = nvidia("gpu-2", "NVIDIA A100-SXM4-80GB", "81920Mi", "Ampere", "8.0.0")
MIG = Device(
    "gpu-3-mig-9-0-4",
    NVIDIA,
    {
        "type": "mig",
        "profile": "3g.40gb",
        "parentUUID": "GPU-gpu-3",
        "productName": "NVIDIA A100-SXM4-80GB",
    },
    capacity={"memory": "40448Mi", "memorySlice0": "1", "memorySlice1": "1"},
)
VFIO = Device(
    "gpu-vfio-4",
    NVIDIA,
    {"type": "vfio", "deviceID": "0x20b5", "vendorID": "0x10de", "iommuFDEnabled": True},
    capacity={"addressableMemory": "80Gi"},
)
NVIDIA_BARE = Device("gpu-5", NVIDIA)
MI300X = amd("gpu-0-128", "amdgpu", "AMD_Instinct_MI300X_OAM", "192Gi")
AMD_PARTITION = amd("gpu-8-136", "amdgpu-partition", "AMD_Instinct_MI300X_OAM", "48Gi")
FLEX = intel("0000-0f-00-0-0x56c0", "Flex 170", {"memory": "16384Mi", "millicores": "1000"})
FLEX_WITHOUT_MEMORY = intel("0000-1f-00-0-0x56c1", "Flex 140", {"memory": "0"})
INTEL_WITHOUT_CAPACITY = intel("0000-2f-00-0-0x56c1", "Flex 140", {})


def _stranger(name: str, value: str | int | bool, versions: Iterable[str] = ()) -> Device:  # noqa: FBT001  the same
    """A device with the names of others, in its own domain and theirs, and values of its own."""
    names = ("type", "productName", "model", "memory")
    domains = ("", f"{NVIDIA}/", f"{AMD}/", f"{INTEL}/")
    every = [f"{domain}{name}" for domain in domains for name in names]
    if versions:
        return Device(name, FOREIGN, versions=dict.fromkeys(every, *versions))
    return Device(name, FOREIGN, dict.fromkeys(every, value))


FOREIGN_DEVICES = (
    _stranger("int", 24),
    _stranger("bool", value=True),
    _stranger("version", "", ["1.2.3"]),
    _stranger("text", "gpu"),
)

DOCUMENTED = (
    *(V100, A30, A100, MIG, VFIO, NVIDIA_BARE),
    *(MI300X, AMD_PARTITION),
    *(FLEX, FLEX_WITHOUT_MEMORY, INTEL_WITHOUT_CAPACITY),
    *FOREIGN_DEVICES,
)
"""All of them, those of one driver together."""


def slices(node: str, devices: Iterable[Device] = DOCUMENTED) -> Iterator[Json]:
    """One ResourceSlice a driver, each a whole pool that is called after the node."""
    for driver, members in groupby(devices, key=lambda one: one.driver):
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-{driver}"},
            "spec": {
                "driver": driver,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "nodeName": node,
                "devices": [one.as_json() for one in members],
            },
        }
