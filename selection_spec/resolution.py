"""What becomes of a demand, as a value: every step, what it kept and what it dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from selection_spec.availability import Availability
from selection_spec.demand import Demand, Need
from selection_spec.rows import Policy, Row
from selection_spec.table import Table


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a resolution: the rule, the rows that came in and those that it left."""

    rule: str
    before: int
    after: int

    @property
    def dropped(self) -> int:
        """The rows that this step took out."""
        return self.before & ~self.after


@dataclass(frozen=True, slots=True)
class ContainerRows:
    """The rows that one container's spec stands for, as sets.

    Attributes:
        named: Rows that the spec's name stands for (G2), whatever their memory.
        open: Those of them that take part (D6).
        matching: Those of them with enough memory (G3).
    """

    need: Need
    named: int
    open: int
    matching: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of a demand.

    Attributes:
        availability: What was known of the rows.
        candidates: The rows that the Pod may use, in D8 order; empty if it is denied.
        failed: The step that left nothing ("" if none did): G4, G5, D6, D1, N4, D10, C3, A2, C6,
            D2.
        named: The rows that any container named (D6, N9), as a set.
        peaks: For each pool the most that the Pod holds at once (A7).
        steps: Every step taken, in order; none where the containers went ``apart``.
        skipped: Rows of tiers that live status skipped (D7), as a set.
        left_out: Rows that differ from the first in output or resource (D9), as a set.
        missing: Rows whose DeviceClass does not exist (C3), as a set.
        within: The rows that were looked at, as a set: all, or those of claims that went apart.
        apart: Where one node may carry several rows' devices and claims keep their own candidates
            (D1): a resolution for each claim, in the order of their containers; else empty.
    """

    table: Table
    demand: Demand
    policy: Policy
    availability: Availability = field(compare=False)
    within: int
    candidates: tuple[Row, ...]
    failed: str
    named: int
    containers: tuple[ContainerRows, ...]
    steps: tuple[Step, ...]
    peaks: Mapping[str, int]
    skipped: int
    left_out: int
    missing: int
    apart: tuple[Resolution, ...] = ()
    _of: dict[str, Resolution] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Know whose resolution is which: a Pod may have thousands of containers."""
        by_container = {rows.need.name: part for part in self.apart for rows in part.containers}
        object.__setattr__(self, "_of", by_container)

    @property
    def kept(self) -> int:
        """The candidates as a set."""
        if not self.apart:
            return self.steps[-1].after
        return reduce(or_, (part.kept for part in self.apart))

    def of(self, container: str) -> Resolution:
        """Return the resolution that decided for a container: its own where they went apart."""
        return self._of.get(container, self)
