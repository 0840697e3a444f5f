"""What a verdict is about: the smallest thing known to be at fault (semantics H1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# How a Pod's status names a claim among its resources (KEP-4680).
_CLAIM: Final = "claim:"


class Kind(StrEnum):
    """What a subject is."""

    NODE = "node"
    PLUGIN = "plugin"
    DRA = "dra"


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """A node, or a device on one.

    Attributes:
        node: The node, or where the device is.
        resource: The extended resource of a device plugin's device; "" for others.
        driver: The DRA driver of a device; "" for others.
        pool: The driver's pool that it is in.
        device: The device's id for its plugin, or its name in the pool; "" for a node, and where
            it cannot be told which one it is.
    """

    node: str
    resource: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""

    @property
    def kind(self) -> Kind:
        """Whether it is a node, or whose device."""
        if self.resource:
            return Kind.PLUGIN
        return Kind.DRA if self.driver else Kind.NODE

    @property
    def is_node(self) -> bool:
        """Whether it is a whole node."""
        return self.kind is Kind.NODE

    @property
    def name(self) -> str:
        """What it is called beside its node: ``gpu.nvidia.com/pool/gpu-0``; "" for the node."""
        match self.kind:
            case Kind.NODE:
                return ""
            case Kind.DRA:
                return f"{self.driver}/{self.pool}/{self.device}"
            case Kind.PLUGIN:
                return f"{self.resource}/{self.device}" if self.device else self.resource

    def __str__(self) -> str:
        """Return it as sentences have it."""
        if self.is_node:
            return f"node {self.node}"
        if not self.device:
            return f"some {self.resource} of node {self.node}"
        return f"device {self.name} of node {self.node}"


def node_subject(node: str) -> Subject:
    """Return a node as a subject."""
    return Subject(node)


def plugin_subject(node: str, resource: str, device: str = "") -> Subject:
    """Return a device of a device plugin; without an id, one that cannot be told."""
    return Subject(node, resource=resource, device=device)


def dra_subject(node: str, driver: str, pool: str, device: str) -> Subject:
    """Return a device of a DRA driver."""
    return Subject(node, driver=driver, pool=pool, device=device)


def device_named(node: str, name: str, identity: str) -> Subject | None:
    """Return the device that a Pod's status names; None where it names none (KEP-4680).

    Args:
        node: Where the Pod is.
        name: The extended resource, or ``claim:`` and the Pod's name for a claim.
        identity: The plugin's id, or driver, pool and device with slashes between.
    """
    if not name.startswith(_CLAIM):
        return plugin_subject(node, name, identity)
    driver, _, rest = identity.partition("/")
    pool, _, device = rest.rpartition("/")
    return dra_subject(node, driver, pool, device) if driver and pool and device else None
