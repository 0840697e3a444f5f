"""One run through the steps of semantics §3 (G2, D1 to D10, C3, C5, C6) on sets of rows.

Every step keeps what it dropped, and nothing is put into words before somebody asks (``denial``,
``explain``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

from selection_spec.availability import Availability
from selection_spec.demand import Demand, Need
from selection_spec.index import first
from selection_spec.resolution import ContainerRows, Resolution, Step
from selection_spec.rows import Policy
from selection_spec.table import Table

MAX_DEVICES: Final = 32
"""What one claim may hold; Kubernetes accepts more and never schedules it (C6)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which rows take part at all.

    Attributes:
        opened: Rows that are open whatever the Pod names (D6).
        within: The only rows that are looked at; None for all.
    """

    opened: int = 0
    within: int | None = None


ALL_ROWS = Bounds()


class Narrowing:
    """One run through the steps; holds what they leave behind."""

    def __init__(
        self,
        table: Table,
        demand: Demand,
        policy: Policy,
        availability: Availability,
        bounds: Bounds = ALL_ROWS,
    ) -> None:
        self.table, self.index, self.demand = table, table.index, demand
        self.policy, self.availability = policy, availability
        self.within = self.index.all if bounds.within is None else bounds.within
        self.steps: list[Step] = []
        names = [need.spec.name for need in demand.needs if need.spec is not None]
        self.named = bounds.opened
        for name in names:
            self.named |= self.index.by_name.get(name, 0)
        self.opened = self.named
        for row_id in demand.opened:
            self.opened |= self.index.by_id.get(row_id, 0)
        self.containers = tuple(self._container(need) for need in demand.specs)
        self.peaks = {pool: demand.peak(pool) for pool in self.index.by_pool}
        self.skipped = self.left_out = self.missing = 0

    def _container(self, need: Need) -> ContainerRows:
        """Apply G2, D6 and G3 to one container."""
        spec = need.spec
        if spec is None:
            raise AssertionError(need)  # demand.specs holds none
        named = self.index.all if spec.is_any else self.index.by_name.get(spec.name, 0)
        taking_part = named & (self.index.open_to_any | self.opened)
        return ContainerRows(
            need, named, taking_part, taking_part & self.index.vram(spec.min_gb or 0)
        )

    def run(self) -> Resolution:
        """Take every step."""
        failed = self.narrow()
        rows = 0 if failed else self._choose(self.steps[-1].after)
        return Resolution(
            table=self.table,
            demand=self.demand,
            policy=self.policy,
            availability=self.availability,
            within=self.within,
            candidates=self.table.select(rows),
            failed=failed,
            named=self.named,
            containers=self.containers,
            steps=tuple(self.steps),
            peaks=self.peaks,
            skipped=self.skipped,
            left_out=self.left_out,
            missing=self.missing,
        )

    def narrow(self) -> str:
        """Run the steps that may leave nothing; return the rule of the one that did."""
        if any(not one.matching for one in self.containers):
            return "G5"
        rows = self.index.all
        for one in self.containers:
            rows &= one.matching
        for claim in self.demand.held:
            rows &= claim.rows or self.index.all
        self.steps.append(Step("D1", self.index.all, rows))
        for rule, fitting in (
            ("D9", self.within),
            ("N4", self.index.admitted_by(self.demand.terms)),
            ("D10", self._on_platform()),
            ("C3", ~self._without_class()),
        ):
            if not rows:
                break
            if rule not in ("D9", "C3") or rows & ~fitting:
                self.steps.append(Step(rule, rows, rows & fitting))
            if rule == "D9":
                self.left_out = rows & ~fitting
            if rule == "C3":
                self.missing = rows & ~fitting
            rows &= fitting
        if not rows:
            return self.steps[-1].rule
        return self._narrow_by_amount(rows)

    def _without_class(self) -> int:
        """Return the rows whose DeviceClass is known not to exist (C3)."""
        missing = self.availability.missing_classes
        return reduce(or_, (self.index.by_class.get(one, 0) for one in missing), 0)

    def _on_platform(self) -> int:
        return self.index.on_platform_of(self.demand.terms) & self.index.by_os.get(
            self.demand.os, 0
        )

    def _narrow_by_amount(self, rows: int) -> str:
        """Apply A2 and C6 per container, then D2 to the Pod."""
        largest = max((need.count for need in self.demand.specs), default=0)
        if not rows & self.index.per_node(largest):
            self.steps.append(Step("A2", rows, 0))
            return "A2"
        if largest > MAX_DEVICES and rows & self.index.claims:
            self.steps.append(Step("C6", rows, rows & ~self.index.claims))
            rows &= ~self.index.claims
            if not rows:
                return "C6"
        enough = self._enough_for_pod()
        self.steps.append(Step("D2", rows, rows & enough))
        return "" if rows & enough else "D2"

    def _enough_for_pod(self) -> int:
        rows = 0
        for pool, having in self.index.by_pool.items():
            rows |= having & self.index.per_node(self.peaks[pool])
        return rows

    def _choose(self, rows: int) -> int:
        """Apply the policy (D4, D5), one output (D9) and live status (D7)."""
        if self.policy is Policy.EVERY_FIT:
            self.steps.append(Step("D4", rows, rows))
            return self._one_pool(rows)
        tiers = [
            rows & self.index.vram.exactly[place]
            for place in range(len(self.index.vram.steps))
            if rows & self.index.vram.exactly[place]
        ]
        able = next((place for place, tier in enumerate(tiers) if not self._lacks(tier)), 0)
        for tier in tiers[:able]:
            self.skipped |= tier
        self.steps.append(Step("D5", rows, tiers[able] | self.skipped))
        if self.skipped:
            self.steps.append(Step("D7", tiers[able] | self.skipped, tiers[able]))
        return self._one_pool(tiers[able])

    def _first_pool(self, rows: int) -> int:
        """Return those that share output and resource with the first row in D8 order."""
        return rows & self.index.by_pool[self.table.rows[first(rows)].pool]

    def _one_pool(self, rows: int) -> int:
        """Apply D9, and C5 to what is left of it."""
        left = self._first_pool(rows)
        if left != rows:
            self.left_out = rows & ~left
            self.steps.append(Step("D9", rows, left))
        only = left & -left
        if self.demand.one_row and left & self.index.claims and left != only:
            self.steps.append(Step("C5", left, only))
            return only
        return left

    def _lacks(self, tier: int) -> bool:
        """Tell whether a tier has devices but no node with enough usable ones (D7)."""
        if not self.availability.rows:
            return False
        rows = self.table.select(self._first_pool(tier))
        short = [self.availability.lacks(row.id, self.peaks[row.pool]) for row in rows]
        return any(short) and all(
            lacking or self.availability.is_empty(row.id)
            for row, lacking in zip(rows, short, strict=True)
        )
