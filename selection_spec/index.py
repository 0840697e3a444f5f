"""Sets of rows as integers, so that resolving costs the same for ten rows and for a thousand.

Bit *i* of a set stands for row *i* in D8 order. Every question that a rule asks ("at least 24 GB",
"label gpu-model may be a30") is one table look-up and one AND.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import compress, count
from operator import or_
from typing import TypeVar

from selection_spec.labels import (
    ARCH_LABELS,
    ON_EVERY_NODE,
    OS_LABELS,
    PLATFORM_LABELS,
    Operator,
    Requirement,
)
from selection_spec.rows import CLAIMS, Row

_Key = TypeVar("_Key")
_Member = TypeVar("_Member")

# Binary digits as bytes that are true and false.
_TRUTH = bytes.maketrans(b"01", b"\0\1")


def members(rows: int) -> list[int]:
    """Return the row numbers in a set, ascending, that is in D8 order."""
    return select(count(), rows)


def select(things: Iterable[_Member], rows: int) -> list[_Member]:
    """Return those of the things in D8 order whose numbers are in a set."""
    return list(compress(things, f"{rows:b}"[::-1].encode().translate(_TRUTH)))


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
    """What the rows say about one label key, as sets of rows.

    Attributes:
        values: By value, the rows that list it (In).
        lists: By row number, all that a row lists; the rows are ``listing``.
        unknown: Rows whose nodes have some value, nobody knows which.
        absent: Rows whose nodes do not have the label.
        not_in: Rows whose nodes have any value but these, or none; the rows are ``excluding``.
    """

    values: dict[str, int]
    lists: dict[int, frozenset[str]]
    listing: int
    unknown: int
    absent: int
    not_in: tuple[tuple[int, frozenset[str]], ...]
    excluding: int

    def admitted(self, requirements: Sequence[Requirement]) -> int:
        """Return the rows whose nodes may fulfil all requirements on this key (N4).

        A row that says nothing about a key by which other rows are told apart has no such label,
        unless every node has it. ``Gt`` and ``Lt`` exclude nothing.
        """
        operators = {one.operator for one in requirements}
        must_be_there = not operators.isdisjoint((Operator.IN, Operator.EXISTS))
        if Operator.DOES_NOT_EXIST in operators:
            return 0 if must_be_there else self.absent | self.excluding
        barred = _union(one.values for one in requirements if one.operator is Operator.NOT_IN)
        wanted = [set(one.values) for one in requirements if one.operator is Operator.IN]
        if wanted:
            return self._with_any_of(set.intersection(*wanted) - barred)
        may_be_missing = 0 if must_be_there else self.absent
        listing = self.listing & ~self._with_only(barred)
        return self.unknown | self.excluding | listing | may_be_missing

    def _with_any_of(self, values: set[str]) -> int:
        """Return the rows whose nodes may have one of these values."""
        rows = reduce(or_, (self.values.get(value, 0) for value in values), 0)
        if values:
            rows |= self.unknown
        for row, excluded in self.not_in:
            if values - excluded:
                rows |= row
        return rows

    def _with_only(self, values: set[str]) -> int:
        """Return the rows that list nothing but these values."""
        touched = reduce(or_, (self.values.get(value, 0) for value in values), 0)
        return sum(1 << number for number in members(touched) if self.lists[number] <= values)


def _union(values: Iterable[Iterable[str]]) -> set[str]:
    return set().union(*values)


class RowIndex:
    """The look-up tables of a list of rows in D8 order.

    Attributes:
        label_keys: The label keys by which any row knows its nodes (N4).
        telling_keys: Those and the labels of os and architecture (D10).
        by_pool: The rows of each pool (``rows.Row.pool``).
        claims: Those whose output is a claim, and ``by_class`` they by their DeviceClass (C3).
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.all = (1 << len(rows)) - 1
        self.open_to_any = _where(row.any and not row.reserved for row in rows)
        self.vram = _AtLeast([row.vram_gb for row in rows])
        self.per_node = _AtLeast([row.per_node for row in rows])
        self.by_name = _group((name, n) for n, row in enumerate(rows) for name in _names(row))
        self.by_pool = _group((row.pool, n) for n, row in enumerate(rows))
        self.claims = self.by_pool.get(CLAIMS, 0)
        self.by_class = _group(
            (row.claim.device_class, n)
            for n, row in enumerate(rows)
            if row.claim is not None and row.pool == CLAIMS
        )
        self.by_id = _group((row.id, n) for n, row in enumerate(rows))
        self.by_os = _group((row.os, n) for n, row in enumerate(rows))
        # What rows say about os and arch is judged by D10.
        self._keys = _key_indexes([_without_platform(row.nodes) for row in rows])
        self._platform = _key_indexes([_platform(row) for row in rows])

        self.label_keys = frozenset(self._keys)
        self.telling_keys = self.label_keys | frozenset(self._platform)

    def admitted_by(self, terms: Sequence[Sequence[Requirement]]) -> int:
        """Return the rows that at least one node selector term admits (N4).

        Keys that no row uses say nothing about rows and are passed over; os and arch are D10's.
        """
        return reduce(or_, (self._by_term(term, self._keys) for term in terms), 0)

    def on_platform_of(self, terms: Sequence[Sequence[Requirement]]) -> int:
        """Return the rows whose labels, os and arch one and the same term admits (D10)."""
        return reduce(
            or_,
            (
                self._by_term(term, self._keys) & self._by_term(term, self._platform)
                for term in terms
            ),
            0,
        )

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
    """Return what is said of a row's nodes by the labels of kubelets, old names included."""
    return tuple(
        Requirement(key, Operator.IN, (value,))
        for keys, value in ((ARCH_LABELS, row.arch), (OS_LABELS, row.os))
        for key in keys
    )


def _without_platform(nodes: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    return tuple(one for one in nodes if one.key not in PLATFORM_LABELS)


def _key_indexes(rows: Sequence[tuple[Requirement, ...]]) -> dict[str, _KeyIndex]:
    saying: dict[str, dict[int, Requirement]] = {}
    for number, row in enumerate(rows):
        for requirement in row:
            saying.setdefault(requirement.key, {})[number] = requirement
    every = (1 << len(rows)) - 1
    return {key: _key_index(key, said, every) for key, said in saying.items()}


def _key_index(key: str, said: Mapping[int, Requirement], every: int) -> _KeyIndex:
    def saying(*operators: Operator) -> dict[int, Requirement]:
        return {number: one for number, one in said.items() if one.operator in operators}

    listing = saying(Operator.IN)
    not_in = saying(Operator.NOT_IN)
    silent = every & ~_set(said)
    is_everywhere = key in ON_EVERY_NODE
    return _KeyIndex(
        values=_group((value, number) for number, one in listing.items() for value in one.values),
        lists={number: frozenset(one.values) for number, one in listing.items()},
        listing=_set(listing),
        unknown=_set(saying(Operator.EXISTS, Operator.GT, Operator.LT))
        | (silent if is_everywhere else 0),
        absent=_set(saying(Operator.DOES_NOT_EXIST)) | (0 if is_everywhere else silent),
        not_in=tuple((1 << number, frozenset(one.values)) for number, one in not_in.items()),
        excluding=_set(not_in),
    )


def _set(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)
