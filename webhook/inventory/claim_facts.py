"""What is kept of a ResourceClaim: the devices that are allocated to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from sys import intern

from selection_spec.labels import Toleration
from webhook.inventory.facts import Json, mapping, mappings
from webhook.inventory.pod_facts import tolerations_of

Pool = tuple[str, str]
"""A driver and the name of one of its pools."""


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """The devices that a claim holds.

    Attributes:
        devices: Driver, pool and device of each.
        node: Where they are, "" where they are on no single node.
        pods: The uids of the Pods that it is reserved for.
        tolerations: By device those of its request, as they were when it was allocated; only of
            devices whose request has some.
        is_of_pod: Whether it was made for one Pod, and goes with it.
    """

    devices: tuple[tuple[str, str, str], ...]
    node: str = ""
    pods: tuple[str, ...] = ()
    tolerations: tuple[tuple[tuple[str, str, str], tuple[Toleration, ...]], ...] = ()
    is_of_pod: bool = False


def claim_facts(claim: Json) -> ClaimFacts | None:
    """Read a raw ResourceClaim (``resource.k8s.io/v1``); None where it holds no device.

    Who only looks at a device (``adminAccess``) takes it from nobody.
    """
    status = mapping(claim.get("status"))
    allocation = mapping(status.get("allocation"))
    results = [
        one
        for one in mappings(mapping(allocation.get("devices")).get("results"))
        if one.get("adminAccess") is not True
    ]
    if not results:
        return None
    devices = tuple(map(_device, results))
    tolerated = zip(devices, map(tolerations_of, results), strict=True)
    owners = mappings(mapping(claim.get("metadata")).get("ownerReferences"))
    return ClaimFacts(
        devices,
        _node(allocation),
        _pods(status),
        tuple((device, tolerations) for device, tolerations in tolerated if tolerations),
        any(one.get("controller") is True and one.get("kind") == "Pod" for one in owners),
    )


def held_by(claims: Iterable[ClaimFacts]) -> Mapping[Pool, AbstractSet[str]]:
    """Return by pool the devices that claims hold."""
    held: dict[Pool, set[str]] = {}
    for claim in claims:
        for driver, pool, device in claim.devices:
            held.setdefault((driver, pool), set()).add(device)
    return held


def served_resource(device_class: Json) -> str:
    """Return the extended resource that a raw DeviceClass serves, "" where it serves none."""
    return intern(_text(mapping(device_class.get("spec")), "extendedResourceName"))


def _device(result: Json) -> tuple[str, str, str]:
    return _text(result, "driver"), _text(result, "pool"), _text(result, "device")


def _node(allocation: Json) -> str:
    """Return the one node that an allocation names, as it does for devices that nodes have."""
    terms = list(mappings(mapping(allocation.get("nodeSelector")).get("nodeSelectorTerms")))
    fields = [one for term in terms for one in mappings(term.get("matchFields"))]
    names = [name for one in fields for name in one.get("values") or () if _is_name(one)]
    return intern(str(names[0])) if len(terms) == len(names) == 1 else ""


def _pods(status: Json) -> tuple[str, ...]:
    """Return for which Pods a claim is reserved: they hold its devices, whatever made the claim."""
    return tuple(
        str(one.get("uid") or "")
        for one in mappings(status.get("reservedFor"))
        if one.get("resource") == "pods"
    )


def _is_name(requirement: Json) -> bool:
    return requirement.get("key") == "metadata.name" and requirement.get("operator") == "In"


def _text(value: Json, part: str) -> str:
    return intern(str(value.get(part) or ""))
