"""Taints that DRA drivers put on their devices in ResourceSlices (H2 d)."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.health.observed import DeviceKey, Devices
from webhook.health.readings import Grade, Reading, Source
from webhook.inventory.facts import Taint
from webhook.inventory.taints import is_own, keeps_pods_away

# By these drivers say that they do not know.
_UNMONITORED = frozenset({"gpu.nvidia.com/unmonitored"})


def read(devices: Devices) -> Iterator[Reading]:
    """Yield what drivers say of their devices."""
    for key, taints in devices.tainted.items():
        subject = devices.subject(key)
        if subject is not None:
            for taint in taints:
                if not is_own(taint):
                    said = f"its driver's taint {taint}"
                    yield Reading(subject, Source.DEVICE_TAINT, taint.key, _grade(taint), said)


def again(devices: Devices, key: DeviceKey) -> Grade:
    """Return how a device reads without the taint it had; unknown where it is not there at all."""
    return Grade.GOOD if key in devices.nodes else Grade.UNKNOWN


def _grade(taint: Taint) -> Grade:
    if taint.key in _UNMONITORED:
        return Grade.UNKNOWN
    return Grade.FATAL if keeps_pods_away(taint) else Grade.WARNING
