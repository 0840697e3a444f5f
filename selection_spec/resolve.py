"""From a Pod's demand to the rows it may use (semantics D1 to D10), a pure function.

The steps run in the order of semantics §3 on sets of rows (``index``), every step keeps what it
dropped, and nothing is put into words before somebody asks (``denial``, ``explain``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from selection_spec.availability import Availability
from selection_spec.demand import Demand, Need, peak
from selection_spec.index import first
from selection_spec.rows import Policy, Row
from selection_spec.table import Table

NOTHING_KNOWN = Availability()


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """The policy of a Pod and what decided it (D3).

    Attributes:
        source: ``classNames``, ``minValue``, ``default``, or ``given`` where a caller set it.
        certain: False where the Pod's priority is not known, so that another policy may come out
            at admission.
    """

    policy: Policy
    source: str
    certain: bool = True


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
        candidates: The rows that the Pod may use, in D8 order; empty if it is denied.
        failed: The step that left nothing ("" if none did): G4, G5, D6, D1, N4, D10, A2, D2.
        named: The rows that any container named (D6, N9), as a set.
        peaks: For each extended resource the most that the Pod holds at once (A7).
        steps: Every step taken, in order.
        skipped: Rows of tiers that live status skipped (D7), as a set.
        left_out: Rows that differ from the first in output or resource (D9), as a set.
    """

    table: Table
    demand: Demand
    policy: Policy
    candidates: tuple[Row, ...]
    failed: str
    named: int
    containers: tuple[ContainerRows, ...]
    steps: tuple[Step, ...]
    peaks: Mapping[str, int]
    skipped: int
    left_out: int


def choose_policy(table: Table, priority_class: str | None, priority: int | None) -> PolicyChoice:
    """Choose the policy by the table's rules in order, else its default (D3).

    A field that the Pod lacks never matches. The choice is uncertain where a rule that comes first
    asks for a field that is not known: admission always knows the number.
    """
    certain = True
    for rule in table.priorities:
        if rule.class_names is not None:
            if priority_class is not None and priority_class in rule.class_names:
                return PolicyChoice(rule.policy, "classNames", certain)
            certain = certain and (priority_class is not None or priority is not None)
        elif rule.min_value is not None:
            if priority is not None and priority >= rule.min_value:
                return PolicyChoice(rule.policy, "minValue", certain)
            certain = certain and priority is not None
    return PolicyChoice(table.default_policy, "default", certain)


def resolve(
    table: Table,
    demand: Demand,
    policy: Policy,
    availability: Availability = NOTHING_KNOWN,
) -> Resolution:
    """Return the rows that a Pod may use and every step on the way.

    Never raises: a demand that nothing can meet has a ``failed`` step.
    """
    return _Resolving(table, demand, policy, availability).run()


def cure(resolution: Resolution) -> Row | None:
    """Return the first row that a denied Pod would get if it named it (D6), None if none.

    A row fits or not whatever the other rows are, so that all of them are opened at once; those
    that took part before have failed already.
    """
    table = resolution.table
    opened = _Resolving(table, resolution.demand, Policy.EVERY_FIT, NOTHING_KNOWN, table.index.all)
    if opened.narrow():
        return None
    return table.rows[first(opened.steps[-1].after)]


class _Resolving:
    """One run through the steps; holds what they leave behind."""

    def __init__(
        self,
        table: Table,
        demand: Demand,
        policy: Policy,
        availability: Availability,
        opened: int = 0,
    ) -> None:
        self.table, self.index, self.demand = table, table.index, demand
        self.policy, self.availability = policy, availability
        self.steps: list[Step] = []
        names = [need.spec.name for need in demand.needs if need.spec is not None]
        self.named = opened
        for name in names:
            self.named |= self.index.by_name.get(name, 0)
        self.opened = self.named
        for row_id in demand.opened:
            self.opened |= self.index.by_id.get(row_id, 0)
        self.containers = tuple(self._container(need) for need in demand.specs)
        self.peaks = {name: peak(demand.needs, name) for name in self.index.by_resource}
        self.skipped = self.left_out = 0

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
        failed = self.narrow()
        rows = 0 if failed else self._choose(self.steps[-1].after)
        return Resolution(
            table=self.table,
            demand=self.demand,
            policy=self.policy,
            candidates=self.table.select(rows),
            failed=failed,
            named=self.named,
            containers=self.containers,
            steps=tuple(self.steps),
            peaks=self.peaks,
            skipped=self.skipped,
            left_out=self.left_out,
        )

    def narrow(self) -> str:
        """Run the steps that may leave nothing; return the rule of the one that did."""
        if any(not one.matching for one in self.containers):
            return "G5"
        rows = self.index.all
        for one in self.containers:
            rows &= one.matching
        self.steps.append(Step("D1", self.index.all, rows))
        for rule, fitting in (
            ("N4", self.index.admitted_by(self.demand.terms)),
            ("D10", self._on_platform()),
        ):
            if not rows:
                break
            self.steps.append(Step(rule, rows, rows & fitting))
            rows &= fitting
        if not rows:
            return self.steps[-1].rule
        return self._narrow_by_amount(rows)

    def _on_platform(self) -> int:
        return self.index.on_platform_of(self.demand.terms) & self.index.by_os.get(
            self.demand.os, 0
        )

    def _narrow_by_amount(self, rows: int) -> str:
        """Apply A2 per container, then D2 to the Pod."""
        largest = max((need.count for need in self.demand.specs), default=0)
        if not rows & self.index.per_node(largest):
            self.steps.append(Step("A2", rows, 0))
            return "A2"
        enough = self._enough_for_pod()
        self.steps.append(Step("D2", rows, rows & enough))
        return "" if rows & enough else "D2"

    def _enough_for_pod(self) -> int:
        rows = 0
        for resource, having in self.index.by_resource.items():
            rows |= having & self.index.per_node(self.peaks[resource])
        return rows

    def _choose(self, rows: int) -> int:
        """Apply the policy (D4, D5), one output (D9) and live status (D7)."""
        if self.policy is Policy.EVERY_FIT:
            self.steps.append(Step("D4", rows, rows))
            return self._one_output(rows)
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
        return self._one_output(tiers[able])

    def _first_output(self, rows: int) -> int:
        """Return those that share output and resource with the first row in D8 order."""
        row = self.table.rows[first(rows)]
        return rows & self.index.by_output[row.output, row.resource]

    def _one_output(self, rows: int) -> int:
        left = self._first_output(rows)
        if left != rows:
            self.left_out = rows & ~left
            self.steps.append(Step("D9", rows, left))
        return left

    def _lacks(self, tier: int) -> bool:
        """Tell whether a tier has devices but no node with enough usable ones (D7)."""
        if not self.availability.rows:
            return False
        rows = self.table.select(self._first_output(tier))
        short = [self.availability.lacks(row.id, self.peaks[row.resource]) for row in rows]
        return any(short) and all(
            lacking or self.availability.is_empty(row.id)
            for row, lacking in zip(rows, short, strict=True)
        )
