"""What a change of the table means for what users write: who gains which rows, who loses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from selection_spec.errors import Level
from selection_spec.resolution import Resolution
from selection_spec.rows import CLAIMS, Policy, Row
from selection_spec.table import Table
from webhook.advice.asks import Ask, answer
from webhook.advice.diff_nodes import Grounds, Served

Broken = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shift:
    """How a list of row ids changed; a row that only has another id now is neither."""

    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether anything changed."""
        return bool(self.lost or self.gained)

    def __str__(self) -> str:
        """Say it: ``loses a30-24gb; gains h100-80gb``."""
        parts = (("loses", self.lost), ("gains", self.gained))
        return "; ".join(f"{verb} {', '.join(ids)}" for verb, ids in parts if ids)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a cluster.

    Attributes:
        grounds: Its nodes; None where these are not known.
        broken: By row of the one table, and of the other, why no Pod starts whose claim names it.
    """

    grounds: Grounds | None = None
    broken: tuple[Broken, Broken] = ({}, {})


NOTHING: Final = Known()


@dataclass(frozen=True, slots=True)
class SpecChange:
    """A request that is answered with other rows than before, under one policy.

    Attributes:
        before: Ids of the old table's rows, in D8 order.
        after: Ids of the new table's rows.
        served: What becomes of the nodes that could serve it; None where nodes are not known.
        left_out: Ids of lost rows that would do, were they not taken otherwise than the first of
            the rows: some by claims, some by a resource (D9).
        never: Why Pods with it would never start from now on, "" where they would in time.
    """

    ask: Ask
    policy: Policy
    before: tuple[str, ...]
    after: tuple[str, ...]
    shift: Shift
    served: Served | None = None
    left_out: tuple[str, ...] = ()
    never: str = ""

    @property
    def level(self) -> Level | None:
        """An error where nothing is left, a warning where something is lost.

        Where nodes are known they alone count: a row without any gave nobody anything.
        """
        if self.never:
            return Level.ERROR
        if self.served is not None:
            if not self.served.lost:
                return None
            return Level.WARNING if self.served.after else Level.ERROR
        if self.before and not self.after:
            return Level.ERROR
        return Level.WARNING if self.shift.lost else None

    @property
    def is_idle(self) -> bool:
        """Whether rows are lost that gave nothing: no node could serve it, and none can."""
        return (
            not self.never
            and self.served is not None
            and not self.served.before
            and not self.served.after
            and bool(self.shift.lost)
        )


def spec_changes(
    old: Table,
    new: Table,
    asks: Iterable[Ask],
    successors: Mapping[str, str],
    known: Known = NOTHING,
) -> Iterator[SpecChange]:
    """Yield what becomes of each request under both policies, where it is not the same.

    Args:
        old: The one table.
        new: The other.
        asks: The requests.
        successors: For each old row id the new one (``row_changes``).
        known: What else is known: rows that stay may have other nodes than before.
    """
    for ask in asks:
        for policy in Policy:
            then, now = (answer(table, ask.spec, ask.most, policy) for table in (old, new))
            before, after = then.candidates, now.candidates
            moved = shift(before, after, successors)
            served = None
            if known.grounds is not None:
                served = known.grounds.served(before, after, ask.most, successors)
            never = newly_broken(before, after, known.broken)
            if moved or never or (served is not None and (served.lost or served.gained)):
                yield SpecChange(
                    ask,
                    policy,
                    tuple(row.id for row in before),
                    tuple(row.id for row in after),
                    moved,
                    served,
                    _left_out(now, moved, successors),
                    never,
                )


def newly_broken(before: Iterable[Row], after: Iterable[Row], broken: tuple[Broken, Broken]) -> str:
    """Return why no Pod starts that may use the rows of the new table; "" where that is not new."""
    then, now = broken
    if any(row.id in then for row in before):
        return ""
    return "; ".join(f"{row.id}: {now[row.id]}" for row in after if row.id in now)


def _left_out(now: Resolution, moved: Shift, successors: Mapping[str, str]) -> tuple[str, ...]:
    """Return the lost rows that other outputs than theirs have driven out (D9)."""
    lost = {successors.get(row, "") for row in moved.lost}
    rows = [row for row in now.table.select(now.left_out) if row.id in lost]
    is_claim = bool(now.candidates) and now.candidates[0].pool == CLAIMS
    return tuple(row.id for row in rows if (row.pool == CLAIMS) is not is_claim)


def shift(before: Sequence[Row], after: Sequence[Row], successors: Mapping[str, str]) -> Shift:
    """Compare the rows of two tables."""
    now = {row.id for row in after}
    then = {successors.get(row.id, "") for row in before}
    return Shift(
        lost=tuple(row.id for row in before if successors.get(row.id, "") not in now),
        gained=tuple(row.id for row in after if row.id not in then),
    )
