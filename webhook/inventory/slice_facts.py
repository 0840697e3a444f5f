"""What is kept of a ResourceSlice: the devices that a DRA driver offers on a node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from sys import intern
from typing import Any, Final

from selection_spec.drivers import DEFAULT_PRODUCT_ATTRIBUTE, PRODUCT_ATTRIBUTES, WHOLE_TYPES
from selection_spec.errors import QuantityError
from selection_spec.nominal import MIB
from selection_spec.quantity import parse_quantity
from webhook.inventory.facts import Json, Taint, mapping, mappings

QUANTITY: Final = "quantity"
VERSION: Final = "version"
"""Kinds of details that are texts with a meaning of their own."""

Detail = tuple[str, str, Any]
"""An attribute or a capacity: its name, its kind (``string``, ``int``, … or ``quantity``), value.

Without a domain the name is in the driver's.
"""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """One device of a slice.

    Attributes:
        product: What its driver calls the card.
        type: What its driver calls the kind of device; that of a whole GPU where it says nothing.
        memory_mib: What the driver reports, 0 where it reports none.
        details: All attributes and capacities; those of a slice's devices that are equal are one.
        multiple: Whether several claims may share it.
    """

    name: str
    product: str = ""
    type: str = WHOLE_TYPES[0]
    memory_mib: int = 0
    taints: tuple[Taint, ...] = ()
    details: tuple[Detail, ...] = ()
    multiple: bool = False


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
    driver = intern(str(spec.get("driver") or ""))
    shared: dict[Detail, Detail] = {}
    return SliceFacts(
        name=str(metadata.get("name") or ""),
        driver=driver,
        pool=intern(str(pool.get("name") or "")),
        generation=_integer(pool.get("generation")),
        pool_slices=_integer(pool.get("resourceSliceCount")),
        node=intern(str(spec.get("nodeName") or "")),
        devices=tuple(_device(driver, one, shared) for one in mappings(spec.get("devices"))),
    )


def current(slices: Iterable[SliceFacts]) -> tuple[SliceFacts, ...]:
    """Return the slices of complete pools of the highest generation.

    What is older is gone, and what is incomplete is just being published.
    """
    pools: dict[tuple[str, str], list[SliceFacts]] = defaultdict(list)
    for one in slices:
        pools[one.driver, one.pool].append(one)
    found: list[SliceFacts] = []
    for members in pools.values():
        newest = max(one.generation for one in members)
        latest = [one for one in members if one.generation == newest]
        if len(latest) == latest[0].pool_slices:
            found += latest
    return tuple(found)


def _device(driver: str, device: Json, shared: dict[Detail, Detail]) -> DeviceFacts:
    details = tuple(shared.setdefault(one, one) for one in _details(driver, device))
    attributes = {name: (kind, value) for name, kind, value in details if kind != QUANTITY}
    capacity = {name: value for name, kind, value in details if kind == QUANTITY}
    product = PRODUCT_ATTRIBUTES.get(driver, DEFAULT_PRODUCT_ATTRIBUTE)
    kind, value = attributes.get(product, ("", ""))
    return DeviceFacts(
        name=intern(str(device.get("name") or "")),
        product=intern(value) if kind == "string" else "",
        type=intern(str(attributes.get("type", ("", WHOLE_TYPES[0]))[1])),
        memory_mib=_mib(capacity.get("memory")),
        taints=tuple(
            Taint(*(intern(str(taint.get(part) or "")) for part in ("key", "value", "effect")))
            for taint in mappings(device.get("taints"))
        ),
        details=details,
        multiple=device.get("allowMultipleAllocations") is True,
    )


def _details(driver: str, device: Json) -> Iterator[Detail]:
    own = f"{driver}/"
    for name, attribute in mapping(device.get("attributes")).items():
        for kind, value in mapping(attribute).items():
            held = tuple(value) if isinstance(value, list) else value
            # Whatever else a later version of Kubernetes has there, nobody here reads it.
            if all(isinstance(one, (str, int)) for one in (held if held is not value else (held,))):
                yield intern(name.removeprefix(own)), intern(kind), held
    for name, amount in mapping(device.get("capacity")).items():
        value = mapping(amount).get("value")
        if isinstance(value, str):
            yield intern(name.removeprefix(own)), QUANTITY, value


def _mib(value: object) -> int:
    try:
        quantity = parse_quantity(value)
        return 0 if quantity.is_zero else quantity.count() // MIB
    except QuantityError:
        return 0


def _integer(value: object) -> int:
    return value if type(value) is int else 0
