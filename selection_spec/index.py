"""Sets of rows as integers, so that resolving costs the same for ten rows and for a thousand.

Bit *i* of a set stands for row *i* in D8 order. Every question that a rule asks ("at least 24 GB",
"label gpu-model may be a30") is one table look-up and one AND.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeVar

from selection_spec.labels import ARCH_LABEL, OS_LABEL, Operator, Requirement
from selection_spec.rows import Row

_Key = TypeVar("_Key")


def members(rows: int) -> list[int]:
    """Return the row numbers in a set, ascending, that is in D8 order."""
    return [number for number, bit in enumerate(reversed(f"{rows:b}")) if bit == "1"]


def first(rows: int) -> int:
    """Return the number of the first row of a set that is not empty."""
    return (rows & -rows).bit_length() - 1


class _AtLeast:
    """Answers "rows whose number is at least n" for one numeric field."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.steps = sorted(set(numbers))
        self.exactly = [_where(number == step for number in numbers) for step in self.steps]
        self._sets = [_where(number >= step for number in numbers) for step in self.steps]

    def __call__(self, least: int) -> int:
        place = bisect_left(self.steps, least)
        return self._sets[place] if place < len(self._sets) else 0


@dataclass(frozen=True, slots=True)
class _KeyIndex:
    """What the rows say about one label key."""

    values: dict[str, int]
    open: int
    absent: int
    not_in: tuple[tuple[int, frozenset[str]], ...]

    def admitted(self, requirements: Sequence[Requirement]) -> int:
        """Return the rows whose nodes may fulfil all requirements on this key (N4).

        A row that says nothing about a key by which other rows are told apart has no such label.
        """
        rows = 0
        if not any(one.operator is Operator.DOES_NOT_EXIST for one in requirements):
            rows |= self.open
        if not any(one.operator in (Operator.IN, Operator.EXISTS) for one in requirements):
            rows |= self.absent
        for value, having in self._possible(requirements):
            if all(requirement.admits(value) for requirement in requirements):
                rows |= having
        for row, excluded in self.not_in:
            if _not_in_admitted(requirements, excluded):
                rows |= row
        return rows

    def _possible(self, requirements: Sequence[Requirement]) -> Iterable[tuple[str, int]]:
        """Return the values to try: those that an In names, or else all."""
        for requirement in requirements:
            if requirement.operator is Operator.IN:
                return [
                    (value, self.values[value])
                    for value in requirement.values
                    if value in self.values
                ]
        return self.values.items()


def _not_in_admitted(requirements: Sequence[Requirement], excluded: frozenset[str]) -> bool:
    """Tell whether a node with any value but these, or none, may fulfil the requirements."""
    wanted = [set(one.values) for one in requirements if one.operator is Operator.IN]
    return not wanted or bool(set.intersection(*wanted) - excluded)


class RowIndex:
    """The look-up tables of a list of rows in D8 order.

    Attributes:
        label_keys: The label keys by which any row knows its nodes (N4).
        telling_keys: Those and the labels of os and architecture (D10).
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.all = (1 << len(rows)) - 1
        self.open_to_any = _where(row.any and not row.reserved for row in rows)
        self.reserved = _where(row.reserved for row in rows)
        self.vram = _AtLeast([row.vram_gb for row in rows])
        self.per_node = _AtLeast([row.per_node for row in rows])
        self.by_name = _group((name, n) for n, row in enumerate(rows) for name in _names(row))
        self.by_output = _group(((row.output, row.resource), n) for n, row in enumerate(rows))
        self.by_resource = _group((row.resource, n) for n, row in enumerate(rows))
        self.by_os = _group((row.os, n) for n, row in enumerate(rows))
        self.by_cost = _group((row.cost, n) for n, row in enumerate(rows))
        self._keys = _key_indexes([row.nodes for row in rows])
        self._platform = _key_indexes([_platform(row) for row in rows])

        self.label_keys = frozenset(self._keys)
        self.telling_keys = self.label_keys | frozenset(self._platform)

    def admitted_by(self, terms: Sequence[Sequence[Requirement]]) -> int:
        """Return the rows that at least one node selector term admits (N4).

        Keys that no row uses say nothing about rows and are passed over.
        """
        return reduce(or_, (self._by_term(term, self._keys) for term in terms), 0)

    def on_platform_of(self, terms: Sequence[Sequence[Requirement]]) -> int:
        """Return the rows whose os and arch at least one node selector term admits (D10)."""
        return reduce(or_, (self._by_term(term, self._platform) for term in terms), 0)

    def _by_term(self, term: Sequence[Requirement], keys: Mapping[str, _KeyIndex]) -> int:
        by_key: dict[str, list[Requirement]] = {}
        for requirement in term:
            by_key.setdefault(requirement.key, []).append(requirement)
        rows = self.all
        for key, requirements in by_key.items():
            index = keys.get(key)
            if index is not None:
                rows &= index.admitted(requirements)
        return rows


def _names(row: Row) -> tuple[str, ...]:
    return (row.name, *row.aliases)


def _where(flags: Iterable[bool]) -> int:
    return sum(1 << number for number, flag in enumerate(flags) if flag)


def _group(pairs: Iterable[tuple[_Key, int]]) -> dict[_Key, int]:
    groups: dict[_Key, int] = {}
    for key, number in pairs:
        groups[key] = groups.get(key, 0) | 1 << number
    return groups


def _platform(row: Row) -> tuple[Requirement, ...]:
    return (
        Requirement(ARCH_LABEL, Operator.IN, (row.arch,)),
        Requirement(OS_LABEL, Operator.IN, (row.os,)),
    )


def _key_indexes(rows: Sequence[tuple[Requirement, ...]]) -> dict[str, _KeyIndex]:
    keys = {requirement.key for row in rows for requirement in row}
    return {key: _key_index(key, rows) for key in sorted(keys)}


def _key_index(key: str, rows: Sequence[tuple[Requirement, ...]]) -> _KeyIndex:
    values: dict[str, int] = {}
    unknown = absent = 0
    not_in: list[tuple[int, frozenset[str]]] = []
    for number, row in enumerate(rows):
        bit = 1 << number
        said = next((one for one in row if one.key == key), None)
        if said is None or said.operator is Operator.DOES_NOT_EXIST:
            absent |= bit
        elif said.operator is Operator.IN:
            for value in said.values:
                values[value] = values.get(value, 0) | bit
        elif said.operator is Operator.NOT_IN:
            not_in.append((bit, frozenset(said.values)))
        else:
            unknown |= bit
    return _KeyIndex(values, unknown, absent, tuple(not_in))
