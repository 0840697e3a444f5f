"""The rows of a selection table as values (design §3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from selection_spec.labels import Requirement, Toleration


class Output(StrEnum):
    """What a spec is translated into."""

    EXTENDED_RESOURCE = "ExtendedResource"
    RESOURCE_CLAIM = "ResourceClaim"


# What rows of output ResourceClaim have in common: one claim may choose among all of them. No
# extended resource is called so, their names have a slash.
CLAIMS: Final = Output.RESOURCE_CLAIM.value


class Policy(StrEnum):
    """Which of the devices that are big enough a Pod may take (semantics D4, D5)."""

    EVERY_FIT = "EveryFit"
    SMALLEST_FIT = "SmallestFit"

    @property
    def other(self) -> Policy:
        """The policy that this one is not."""
        return Policy.SMALLEST_FIT if self is Policy.EVERY_FIT else Policy.EVERY_FIT


@dataclass(frozen=True, slots=True)
class Claim:
    """How a DRA driver's devices are recognised.

    Attributes:
        device_class: The DeviceClass that is asked (C2).
        driver: The driver whose devices they are; every selector asks for it first (C3).
        products: Their product names.
        selectors: CEL expressions of the admin, all of which must hold. Without products and
            selectors, devices are known by the memory that the row's ``vram_gb`` promises.
    """

    device_class: str
    driver: str
    products: tuple[str, ...] = ()
    selectors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of device on one kind of node.

    Attributes:
        name: What users write after ``gpu-``.
        vram_gb: Nominal gigabytes (G3), never what a driver reports.
        per_node: The most devices that one node of this row has (A2, D2).
        cost: The order of preference (D8, N6), without a unit.
        nodes: What a node's labels must fulfil, sorted by key; all of it.
        resource: The extended resource of its device plugin, "" where it has none.
        output: What a spec becomes where this row is taken.
        claim: How its devices are recognised where a DRA driver offers them; never None with
            output ResourceClaim.
    """

    name: str
    vram_gb: int
    per_node: int
    cost: int
    nodes: tuple[Requirement, ...]
    resource: str = ""
    aliases: tuple[str, ...] = ()
    any: bool = True
    reserved: bool = False
    os: str = "linux"
    arch: str = "amd64"
    tolerations: tuple[Toleration, ...] = ()
    output: Output = Output.EXTENDED_RESOURCE
    claim: Claim | None = None

    @property
    def id(self) -> str:
        """The row's unique id, also the spec that names it: ``a100-80gb``."""
        return f"{self.name}-{self.vram_gb}gb"

    @property
    def pool(self) -> str:
        """What a Pod that takes this row holds: its resource, or ``CLAIMS``.

        Rows of one pool can be alternatives for one Pod (D9), and its amounts add up (A7).
        """
        return CLAIMS if self.output is Output.RESOURCE_CLAIM else self.resource

    @property
    def order(self) -> tuple[int, int, str]:
        """The row's place among others (D8)."""
        return self.cost, self.vram_gb, self.name


@dataclass(frozen=True, slots=True)
class PriorityRule:
    """One rule from priority to policy (D3); exactly one of the first two is given."""

    policy: Policy
    class_names: frozenset[str] | None = None
    min_value: int | None = None
