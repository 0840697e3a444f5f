"""Which rows of a table a node belongs to: its labels, as the scheduler judges them (N2, D10)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from selection_spec.labels import ARCH_LABEL, OS_LABEL, Operator, Requirement
from selection_spec.rows import Row
from selection_spec.table import Table
from webhook.inventory.facts import NodeFacts

_INTEGER = re.compile(r"-?[0-9]{1,63}", re.ASCII)
_INT64 = range(-(2**63), 2**63)


class Matcher:
    """Finds the rows of a table that a node belongs to; made once a table, then asked for nodes.

    A row is looked up by the rarest label value that it lists, so that one node costs a few
    look-ups however many rows there are.
    """

    def __init__(self, table: Table) -> None:
        self._rows = table.rows
        self._by_value: dict[str, dict[str, list[int]]] = {}
        self._by_key: dict[str, list[int]] = {}
        self._always: list[int] = []
        listed = Counter(
            (one.key, value) for row in table.rows for one in _listing(row) for value in one.values
        )
        for number, row in enumerate(table.rows):
            self._file(number, row, listed)

    def rows_of(self, node: NodeFacts) -> tuple[Row, ...]:
        """Return the rows whose labels, os and arch a node has, in D8 order."""
        return tuple(row for row in self._labelled(node.labels) if on_platform(row, node.labels))

    def strangers_of(self, node: NodeFacts) -> tuple[Row, ...]:
        """Return the rows whose labels a node has, but not their os and arch (D10)."""
        return tuple(
            row for row in self._labelled(node.labels) if not on_platform(row, node.labels)
        )

    def _file(self, number: int, row: Row, listed: Counter[tuple[str, str]]) -> None:
        """Put a row where the labels of its nodes lead to it."""
        listing = _listing(row)
        if listing:
            rarest = min(listing, key=lambda one: max(listed[one.key, v] for v in one.values))
            by_value = self._by_value.setdefault(rarest.key, {})
            for value in rarest.values:
                by_value.setdefault(value, []).append(number)
            return
        present = (Operator.EXISTS, Operator.GT, Operator.LT)
        key = next((one.key for one in row.nodes if one.operator in present), None)
        (self._always if key is None else self._by_key.setdefault(key, [])).append(number)

    def _labelled(self, labels: Mapping[str, str]) -> Iterator[Row]:
        numbers = list(self._always)
        for key, by_value in self._by_value.items():
            if key in labels:
                numbers += by_value.get(labels[key], ())
        for key, those in self._by_key.items():
            if key in labels:
                numbers += those
        for number in sorted(numbers):
            row = self._rows[number]
            if all(fulfils(labels, one) for one in row.nodes):
                yield row


def fulfils(labels: Mapping[str, str], requirement: Requirement) -> bool:
    """Tell whether a node with these labels fulfils a requirement of node affinity (k8s).

    ``NotIn`` and ``DoesNotExist`` are fulfilled by a missing label; ``Gt`` and ``Lt`` only by an
    integer of 64 bits.
    """
    value = labels.get(requirement.key)
    match requirement.operator:
        case Operator.IN:
            return value in requirement.values
        case Operator.NOT_IN:
            return value not in requirement.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case Operator.GT:
            return _is_greater(value, requirement.values[0])
        case Operator.LT:
            return _is_greater(requirement.values[0], value)


def on_platform(row: Row, labels: Mapping[str, str]) -> bool:
    """Tell whether a node has a row's os and arch; one without these labels may have them (D10)."""
    return labels.get(OS_LABEL, row.os) == row.os and labels.get(ARCH_LABEL, row.arch) == row.arch


def _is_greater(one: str | None, other: str | None) -> bool:
    left, right = _integer(one), _integer(other)
    return left is not None and right is not None and left > right


def _integer(text: str | None) -> int | None:
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


def _listing(row: Row) -> list[Requirement]:
    return [one for one in row.nodes if one.operator is Operator.IN]
