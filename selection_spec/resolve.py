"""From a Pod's demand to the rows it may use (semantics D1 to D10), a pure function.

The steps are in ``narrowing``; here is what decides which of them are taken, and how often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from selection_spec.availability import Availability
from selection_spec.demand import Demand, Need, claim_owners
from selection_spec.index import first
from selection_spec.narrowing import Bounds, Narrowing
from selection_spec.resolution import Resolution
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
    together = Narrowing(table, demand, policy, availability).run()
    if not (table.mixed_nodes and table.index.claims and demand.specs):
        return together
    apart = _apart(together, policy, availability)
    if not together.failed:
        first_together = table.index.by_id[together.candidates[0].id]
        is_claim = bool(first_together & table.index.claims)
        if apart.failed or not (
            is_claim or apart.candidates[0].order < together.candidates[0].order
        ):
            return together
    return apart


def _apart(together: Resolution, policy: Policy, availability: Availability) -> Resolution:
    """Let each claim keep its own candidates, whatever the others of the Pod may use (D1)."""
    table, demand = together.table, together.demand
    opened = tuple(row.id for row in table.select(together.named))
    claims: dict[Need, list[Need]] = {}
    owners = claim_owners(demand.needs)
    for need in demand.specs:
        claims.setdefault(owners[need.name], []).append(need)
    parts = tuple(
        Narrowing(
            table,
            replace(demand, needs=tuple(needs), opened=(*demand.opened, *opened), held=()),
            policy,
            availability,
            Bounds(within=table.index.claims),
        ).run()
        for needs in claims.values()
    )
    failed = next((part.failed for part in parts if part.failed), "")
    candidates = dict.fromkeys(row for part in parts for row in part.candidates)
    return replace(
        together,
        candidates=() if failed else tuple(sorted(candidates, key=lambda row: row.order)),
        failed=failed,
        steps=(),
        skipped=reduce(or_, (part.skipped for part in parts)),
        left_out=reduce(or_, (part.left_out for part in parts)),
        missing=reduce(or_, (part.missing for part in parts)),
        apart=parts,
    )


def cure(resolution: Resolution) -> Row | None:
    """Return the first row that a denied Pod would get if it named it (D6), None if none.

    A row fits or not whatever the other rows are, so that all of them are opened at once; those
    that took part before have failed already.
    """
    table = resolution.table
    opened = Narrowing(
        table,
        resolution.demand,
        Policy.EVERY_FIT,
        resolution.availability,
        Bounds(opened=table.index.all, within=resolution.within),
    )
    if opened.narrow():
        return None
    return table.rows[first(opened.steps[-1].after)]
