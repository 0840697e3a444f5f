"""How the devices of a row to be are recognised where a DRA driver offers them (semantics C2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from selection_spec.denial import few
from selection_spec.drivers import WHOLE_TYPES
from webhook.inventory.facts import Json, mapping, mappings
from webhook.inventory.slice_facts import SliceFacts, current

Classes = Mapping[str, str]
"""The CEL of DeviceClasses by their names."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Whole GPUs of one kind that a driver offers on a node.

    Attributes:
        product: What the driver calls them, "" where it does not say.
        memory_mib: The least memory of all.
        count: How many there are.
    """

    driver: str
    product: str
    memory_mib: int
    count: int = 1

    def is_of(self, resource: str) -> bool:
        """Tell whether a device plugin's resource is of the driver's vendor."""
        return self.driver.endswith(resource.partition("/")[0])


@dataclass(frozen=True, slots=True)
class DraftClaim:
    """The claim part of a row to be.

    Attributes:
        notes: What was seen and not written into it.
        doubts: What a person has to finish.
    """

    device_class: str
    driver: str
    products: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def measured(slices: Iterable[SliceFacts]) -> dict[str, tuple[Measured, ...]]:
    """Return by node what drivers say of its whole GPUs, in complete pools of now."""
    found: dict[str, dict[tuple[str, str], Measured]] = {}
    for one in current(slices):
        for device in one.devices:
            is_gpu = bool(device.product) or (device.memory_mib > 0 and "gpu" in one.driver)
            if not one.node or not is_gpu or device.type not in WHOLE_TYPES:
                continue
            here = found.setdefault(one.node, {})
            key = one.driver, device.product
            before = here.get(key)
            here[key] = (
                Measured(*key, device.memory_mib)
                if before is None
                else Measured(*key, min(before.memory_mib, device.memory_mib), before.count + 1)
            )
    return {node: tuple(here[key] for key in sorted(here)) for node, here in found.items()}


def draft_claim(
    found: Sequence[Sequence[Measured]], classes: Classes | None = None
) -> DraftClaim | None:
    """Return the claim that recognises devices, None where no driver offers any.

    Args:
        found: What drivers offer on each node of the row.
        classes: The DeviceClasses, None where they are not known.
    """
    devices: Counter[str] = Counter()
    for here in found:
        for one in here:
            devices[one.driver] += one.count
    if not devices:
        return None
    driver = max(sorted(devices), key=devices.__getitem__)
    mine = [one for here in found for one in here if one.driver == driver]
    name, doubts = _class_of(driver, classes)
    products = {one.product for one in mine}
    with_slices = sum(any(one.driver == driver for one in here) for here in found)
    notes = []
    if with_slices < len(found):
        notes.append(f"{with_slices} of {len(found)} nodes have ResourceSlices of {driver}")
    if "" in products:
        notes.append(f"{driver} names no product, so that devices are known by their memory")
    return DraftClaim(
        device_class=name,
        driver=driver,
        products=() if "" in products else tuple(sorted(products)),
        notes=tuple(notes),
        doubts=doubts,
    )


def expressions_of(device_class: Json) -> str:
    """Return the CEL of a raw DeviceClass."""
    selectors = mappings(mapping(device_class.get("spec")).get("selectors"))
    return "\n".join(str(mapping(one.get("cel")).get("expression") or "") for one in selectors)


def _class_of(driver: str, classes: Classes | None) -> tuple[str, tuple[str, ...]]:
    """Return the DeviceClass to ask for a driver's devices: by name, else by what it selects."""
    if classes is None or driver in classes:
        return driver, ()
    naming = sorted(
        name
        for name, cel in classes.items()
        if any(f"{quote}{driver}{quote}" in cel for quote in "'\"")
    )
    if not naming:
        doubt = f"no DeviceClass is for driver {driver}; make one, and write its name here"
        return driver, (doubt,)
    if len(naming) > 1:
        doubt = f"DeviceClasses {few(naming)} all select devices of {driver}; see which is meant"
        return naming[0], (doubt,)
    return naming[0], ()
