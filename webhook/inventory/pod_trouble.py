"""What a Pod's status tells of its devices, and of trouble with them (semantics H2: e, f, g)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from webhook.inventory.facts import Json, mapping, mappings
from webhook.inventory.times import seconds

_FINISHED = ("Succeeded", "Failed")

_LISTS = ("containerStatuses", "initContainerStatuses")

# What ends a container in the ordinary course of things, or for what no device can be blamed for.
_BLAMELESS = frozenset({"OOMKilled"})

_REJECTED = "UnexpectedAdmissionError"

# How kubelets name the resource of which they have none to give, and of what else they run short.
_RESOURCE = re.compile(
    r"(?:unavailable for|unhealthy devices|unregistered device|Device Plugin|registered resource:)"
    r" ([a-z0-9][a-z0-9.-]*/[A-Za-z0-9](?:[\w.-]*\w)?)"
)
_OTHER_MANAGERS = {"not enough cpus": "cpu", "[memorymanager]": "memory"}
_MESSAGE = 4096

# Names that Pods have in common: of resources there are a few.
_NAMES, _NAME = 256, 320


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a Pod's status tells of its devices.

    Attributes:
        unhealthy: Devices of its own that the kubelet calls Unhealthy, each by the name that its
            status has for the resource or the claim, and the device's id.
        devices: All devices that its status names, in the same form.
        crashes: When its containers last ended with an error, in seconds since 1970.
        rejected: When the kubelet could not give it its devices and rejected it; 0 where it did
            not.
        lacking: Which resources the kubelet then named; none where it named none.
    """

    unhealthy: tuple[tuple[str, str], ...] = ()
    devices: tuple[tuple[str, str], ...] = ()
    crashes: tuple[float, ...] = ()
    rejected: float = 0.0
    lacking: tuple[str, ...] = ()

    @property
    def has_befallen(self) -> bool:
        """Whether something befell the Pod itself: it crashed, or was rejected."""
        return bool(self.crashes or self.rejected)


def pod_trouble(pod: Json) -> Trouble | None:
    """Read a raw Pod; None where nothing is wrong with it and it is known to hold no device."""
    status = mapping(pod.get("status"))
    named = list(_named(status))
    unhealthy = tuple((name, device) for name, device, health in named if health == "Unhealthy")
    crashes = () if _leaves(pod) else tuple(sorted(set(_crashes(status))))
    rejected = _rejected(pod, status)
    is_running = status.get("phase") not in _FINISHED
    if not (unhealthy or crashes or rejected or (named and is_running)):
        return None
    devices = tuple(dict.fromkeys((name, device) for name, device, _ in named))
    lacking = _lacking(status.get("message")) if rejected else ()
    return Trouble(unhealthy, devices, crashes, rejected, lacking)


def _named(status: Json) -> Iterator[tuple[str, str, str]]:
    """Yield what containers' statuses say of devices: resource or claim, device, health."""
    for of in _LISTS:
        for container in mappings(status.get(of)):
            for resource in mappings(container.get("allocatedResourcesStatus")):
                for device in mappings(resource.get("resources")):
                    name, identity = resource.get("name"), device.get("resourceID")
                    if isinstance(name, str) and isinstance(identity, str):
                        yield _same(name), identity, str(device.get("health") or "")


def _crashes(status: Json) -> Iterator[float]:
    for of in _LISTS:
        for container in mappings(status.get(of)):
            for part in ("state", "lastState"):
                ended = mapping(mapping(container.get(part)).get("terminated"))
                code = ended.get("exitCode")
                if type(code) is int and code != 0 and str(ended.get("reason")) not in _BLAMELESS:
                    yield seconds(ended.get("finishedAt"))


def _leaves(pod: Json) -> bool:
    """Tell whether a Pod is being deleted: its containers are ended from outside."""
    return mapping(pod.get("metadata")).get("deletionTimestamp") is not None


def _rejected(pod: Json, status: Json) -> float:
    if status.get("phase") != "Failed" or status.get("reason") != _REJECTED:
        return 0.0
    # The kubelet notes no time; it rejects a Pod as soon as it is bound.
    start = seconds(status.get("startTime"))
    return start or seconds(mapping(pod.get("metadata")).get("creationTimestamp")) or 1.0


def _lacking(message: object) -> tuple[str, ...]:
    """Return the resources that a kubelet names in its reason for rejecting a Pod."""
    text = message[:_MESSAGE] if isinstance(message, str) else ""
    others = (name for said, name in _OTHER_MANAGERS.items() if said in text)
    return tuple(dict.fromkeys((*_RESOURCE.findall(text), *others)))


def _same(name: str) -> str:
    """Return the one object for equal names: every Pod that has a device names its resource."""
    return _same_name(name) if len(name) <= _NAME else name


@lru_cache(_NAMES)
def _same_name(name: str) -> str:
    return name
