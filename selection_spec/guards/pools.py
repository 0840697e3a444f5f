"""Specs whose rows have several outputs or resources, of which a Pod gets one (semantics D9)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from selection_spec.errors import Level, Problem
from selection_spec.grammar import ANY
from selection_spec.laws import Found, Path, vram_gb
from selection_spec.parts import pool_of
from selection_spec.rows import CLAIMS, Policy
from selection_spec.schema import TableSpec


def several_pools(spec: TableSpec, named: Mapping[str, Mapping[int, Path]]) -> Found:
    """Yield for each name the rows that its specs do not give though they fit.

    Args:
        spec: A spec that breaks no law.
        named: For each name that users may write its rows, and where each is called so.
    """
    kinds = _Kinds(spec)
    for name, places in named.items():
        lost = kinds.lost(places)
        if lost is not None:
            yield places[lost.rows[0]], _problem(spec, name, lost)


@dataclass(frozen=True, slots=True)
class _Lost:
    """Rows that specs of one name do not give.

    Attributes:
        rows: Their numbers, in D8 order.
        least: The memory that the smallest of these specs asks for, in GB.
        most: That of the largest; None where none of the name gives any of them.
        instead: What such specs give.
        last: Whether some spec of the name would stand for nothing without these rows.
        is_plain: Whether the spec without any memory is among them.
    """

    rows: tuple[int, ...]
    least: int
    most: int | None
    instead: str
    last: bool
    is_plain: bool


@dataclass(frozen=True, slots=True)
class _Given:
    """What Pods get by a spec: by some policy, and by none though D9 alone is in the way."""

    kept: frozenset[int]
    lost: frozenset[int]
    instead: str


class _Kinds:
    """The rows of a table by what a spec gives of them."""

    def __init__(self, spec: TableSpec) -> None:
        self._rows = spec.devices
        self._pools = [pool_of(row, spec.output) for row in spec.devices]
        self._sizes = [vram_gb(row.vram) or 0 for row in spec.devices]
        self._policies = {spec.default_policy, *(rule.policy for rule in spec.priorities)}

    def lost(self, numbers: Collection[int]) -> _Lost | None:
        """Return what the smallest specs of a name's rows leave out, None where none do."""
        steps = sorted({self._sizes[number] for number in numbers})
        found = {least: self._given(numbers, least) for least in steps}
        first = next((least for least in steps if found[least].lost), None)
        if first is None:
            return None
        rows = tuple(sorted(found[first].lost, key=self._order))
        most = first
        for least in steps[steps.index(first) :]:
            if found[least].kept.intersection(rows):
                break
            most = least
        rest = [self._sizes[number] for number in numbers if number not in rows]
        return _Lost(
            rows=rows,
            least=first,
            most=None if not self._are_given(rows, found) else most,
            instead=found[first].instead,
            last=max(rest) < steps[-1],
            is_plain=first == steps[0],
        )

    @staticmethod
    def _are_given(rows: tuple[int, ...], found: Mapping[int, _Given]) -> bool:
        return any(one.kept.intersection(rows) for one in found.values())

    def _given(self, numbers: Collection[int], least: int) -> _Given:
        kept: set[int] = set()
        lost: set[int] = set()
        instead = ""
        for of_policy in self._fitting(numbers, least):
            first = min(of_policy, key=self._order)
            same = {one for one in of_policy if self._pools[one] == self._pools[first]}
            kept |= same
            lost |= of_policy - same
            if of_policy - same:
                instead = instead or self._pools[first]
        return _Given(frozenset(kept), frozenset(lost - kept), instead)

    def _fitting(self, numbers: Collection[int], least: int) -> Iterator[set[int]]:
        """Yield by policy the rows with at least so much memory (D4, D5)."""
        rows = {number for number in numbers if self._sizes[number] >= least}
        if Policy.EVERY_FIT in self._policies:
            yield rows
        if Policy.SMALLEST_FIT in self._policies:
            smallest = min(self._sizes[number] for number in rows)
            yield {number for number in rows if self._sizes[number] == smallest}

    def _order(self, number: int) -> tuple[int, int, str]:
        return self._rows[number].cost, self._sizes[number], self._rows[number].name


def _problem(spec: TableSpec, name: str, lost: _Lost) -> Problem:
    others = " and ".join(
        dict.fromkeys(pool_of(spec.devices[row], spec.output) for row in lost.rows)
    )
    more = f" and {len(lost.rows) - 1} more" if len(lost.rows) > 1 else ""
    row = spec.devices[lost.rows[0]]
    which = f"{row.name}-{row.vram}{more} ({others})"
    asked = f"gpu-{name}" if lost.is_plain else f"gpu-{name}-{lost.least}gb"
    if lost.most is None:
        text = f"{asked} gives {lost.instead} only, never {which}"
    else:
        text = f"{asked} up to {lost.most}gb gives {lost.instead} only, not {which}"
    return Problem(text, hint=_hint(name, lost, others, row.name), rule="D9", level=Level.WARNING)


def _hint(name: str, lost: _Lost, others: str, device: str) -> str:
    if not lost.last:
        return "set any: false there" if name == ANY else "use another name there"
    if CLAIMS in f"{lost.instead} {others}":
        return "rows moved together do not have this"
    return "give them one resource" if name == device else f"gpu-{device} gives it"
