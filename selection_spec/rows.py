"""The rows of a selection table as values (design §3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from selection_spec.labels import Requirement, Toleration


class Output(StrEnum):
    """What a spec is translated into."""

    EXTENDED_RESOURCE = "ExtendedResource"


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
    """How a DRA driver's devices are recognised; without products by their memory."""

    device_class: str
    driver: str
    products: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of device on one kind of node.

    Attributes:
        name: What users write after ``gpu-``.
        vram_gb: Nominal gigabytes (G3), never what a driver reports.
        per_node: The most devices that one node of this row has (A2, D2).
        cost: The order of preference (D8, N6), without a unit.
        nodes: What a node's labels must fulfil, sorted by key; all of it.
    """

    name: str
    vram_gb: int
    per_node: int
    cost: int
    nodes: tuple[Requirement, ...]
    resource: str
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
    def order(self) -> tuple[int, int, str]:
        """The row's place among others (D8)."""
        return self.cost, self.vram_gb, self.name


@dataclass(frozen=True, slots=True)
class PriorityRule:
    """One rule from priority to policy (D3); exactly one of the first two is given."""

    policy: Policy
    class_names: frozenset[str] | None = None
    min_value: int | None = None
