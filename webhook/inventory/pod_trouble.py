"""What a Pod's status tells of trouble with its devices (semantics H2: e, f, g)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from webhook.inventory.facts import Json, mapping, mappings
from webhook.inventory.times import seconds

_LISTS = ("containerStatuses", "initContainerStatuses")

# What ends a container in the ordinary course of things, or for what no device can be blamed for.
_BLAMELESS = frozenset({"OOMKilled"})

_REJECTED = "UnexpectedAdmissionError"


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a Pod's status tells of trouble.

    Attributes:
        unhealthy: Devices of its own that the kubelet calls Unhealthy, each by the name that its
            status has for the resource or the claim, and the device's id.
        devices: All devices that its status names, in the same form.
        crashes: When its containers last ended with an error, in seconds since 1970.
        rejected: When the kubelet could not give it its devices and rejected it; 0 where it did
            not.
    """

    unhealthy: tuple[tuple[str, str], ...] = ()
    devices: tuple[tuple[str, str], ...] = ()
    crashes: tuple[float, ...] = ()
    rejected: float = 0.0


def pod_trouble(pod: Json) -> Trouble | None:
    """Read a raw Pod; None where nothing is wrong with it."""
    status = mapping(pod.get("status"))
    named = list(_named(status))
    unhealthy = tuple((name, device) for name, device, health in named if health == "Unhealthy")
    crashes = () if _leaves(pod) else tuple(sorted(set(_crashes(status))))
    rejected = _rejected(pod, status)
    if not (unhealthy or crashes or rejected):
        return None
    devices = tuple(dict.fromkeys((name, device) for name, device, _ in named))
    return Trouble(unhealthy, devices, crashes, rejected)


def _named(status: Json) -> Iterator[tuple[str, str, str]]:
    """Yield what containers' statuses say of devices: resource or claim, device, health."""
    for of in _LISTS:
        for container in mappings(status.get(of)):
            for resource in mappings(container.get("allocatedResourcesStatus")):
                for device in mappings(resource.get("resources")):
                    name, identity = resource.get("name"), device.get("resourceID")
                    if isinstance(name, str) and isinstance(identity, str):
                        yield name, identity, str(device.get("health") or "")


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
