"""What is kept of a ResourceSlice: the devices that a DRA driver offers on a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern

from selection_spec.errors import QuantityError
from selection_spec.quantity import parse_quantity
from webhook.inventory.facts import Json, Taint, mapping, mappings

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """One device of a slice; ``memory_mib`` is what the driver reports, 0 where it reports none."""

    name: str
    product: str = ""
    type: str = ""
    memory_mib: int = 0
    taints: tuple[Taint, ...] = ()


@dataclass(frozen=True, slots=True)
class SliceFacts:
    """What is kept of a ResourceSlice.

    Only the slices of a pool's highest generation count, and only when all of them are there
    (``pool_slices``): until then a driver is in the middle of publishing.
    """

    name: str
    driver: str
    pool: str
    generation: int
    pool_slices: int
    node: str
    devices: tuple[DeviceFacts, ...] = ()


def slice_facts(resource_slice: Json) -> SliceFacts:
    """Read a raw ResourceSlice (``resource.k8s.io/v1``)."""
    metadata, spec = (mapping(resource_slice.get(part)) for part in ("metadata", "spec"))
    pool = mapping(spec.get("pool"))
    return SliceFacts(
        name=str(metadata.get("name") or ""),
        driver=intern(str(spec.get("driver") or "")),
        pool=intern(str(pool.get("name") or "")),
        generation=_integer(pool.get("generation")),
        pool_slices=_integer(pool.get("resourceSliceCount")),
        node=intern(str(spec.get("nodeName") or "")),
        devices=tuple(map(_device, mappings(spec.get("devices")))),
    )


def _device(device: Json) -> DeviceFacts:
    attributes = mapping(device.get("attributes"))
    return DeviceFacts(
        name=str(device.get("name") or ""),
        product=_text(attributes, "productName"),
        type=_text(attributes, "type"),
        memory_mib=_memory(mapping(mapping(device.get("capacity")).get("memory")).get("value")),
        taints=tuple(
            Taint(*(intern(str(taint.get(part) or "")) for part in ("key", "value", "effect")))
            for taint in mappings(device.get("taints"))
        ),
    )


def _text(attributes: Mapping[str, object], name: str) -> str:
    value = mapping(attributes.get(name)).get("string")
    return intern(value) if isinstance(value, str) else ""


def _memory(value: object) -> int:
    try:
        quantity = parse_quantity(value)
        return 0 if quantity.is_zero else quantity.count() // _MIB
    except QuantityError:
        return 0


def _integer(value: object) -> int:
    return value if type(value) is int else 0
