"""Which devices of DRA drivers the rows of a table recognise, and what is wrong with that."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from selection_spec.denial import few
from selection_spec.errors import Level, Problem
from selection_spec.rows import Claim, Row
from webhook.inventory.memory import least_mib
from webhook.inventory.slice_facts import DeviceFacts, SliceFacts

# What the drivers call a whole GPU; MIG devices, partitions and pass-through have other types.
_WHOLE = frozenset({"", "gpu", "amdgpu"})


@dataclass(frozen=True, slots=True)
class Offered:
    """The devices of all drivers, alike ones counted together, and the DeviceClasses there are.

    ``classes`` is None where they are not known.
    """

    devices: Counter[tuple[str, str, str, int]]
    classes: Collection[str] | None = None

    def matching(self, row: Row, claim: Claim) -> int:
        """Return how many devices a row's claim recognises."""
        return sum(
            count
            for (driver, product, kind, mib), count in self.devices.items()
            if driver == claim.driver
            and kind in _WHOLE
            and (product in claim.products if claim.products else mib >= least_mib(row.vram_gb))
        )

    def problems(self, claim: Claim, count: int) -> Iterator[Problem]:
        """Yield what is wrong with a claim that recognises so many devices."""
        if self.classes is not None and claim.device_class not in self.classes:
            hint = f"there is {few(sorted(self.classes))}" if self.classes else "there is none"
            yield Problem(f"DeviceClass {claim.device_class} does not exist", hint=hint)
        if not count:
            products = Counter[str]()
            for (driver, product, kind, _), number in self.devices.items():
                if driver == claim.driver and kind in _WHOLE:
                    products[product or "without a name"] += number
            near = few(f"{name} ({number})" for name, number in products.most_common())
            hint = f"it offers {near}" if near else "it offers no GPU in any ResourceSlice"
            yield Problem(
                f"the claim recognises no device of driver {claim.driver}",
                hint=hint,
                level=Level.ERROR if near else Level.WARNING,
            )


def offered(slices: Iterable[SliceFacts], classes: Collection[str] | None = None) -> Offered:
    """Count the devices of complete pools of the highest generation.

    What is older is gone, and what is incomplete is just being published.
    """
    pools: dict[tuple[str, str], list[SliceFacts]] = defaultdict(list)
    for one in slices:
        pools[one.driver, one.pool].append(one)
    devices: Counter[tuple[str, str, str, int]] = Counter()
    for (driver, _), members in pools.items():
        newest = max(one.generation for one in members)
        current = [one for one in members if one.generation == newest]
        if len(current) == current[0].pool_slices:
            devices.update(_kind(driver, device) for one in current for device in one.devices)
    return Offered(devices, classes)


def _kind(driver: str, device: DeviceFacts) -> tuple[str, str, str, int]:
    return driver, device.product, device.type, device.memory_mib
