"""Which rows a claim that was written earlier may have devices of (semantics R2).

The counterpart of ``cel``: it reads only what that wrote. A claim of somebody else's is no row's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from selection_spec.cel import any_of, selectors
from selection_spec.nominal import least_mib
from selection_spec.rows import Claim, Row

_TEXT: Final = r'"(?:[^"\\]|\\.)*"'
_GUARD: Final = re.compile(rf"device\.driver == ({_TEXT}) && ")
_PRODUCTS: Final = re.compile(rf'\.orValue\(""\) in \[({_TEXT}(?:, {_TEXT})*)\]')
_MEMORY: Final = re.compile(r'\.compareTo\(quantity\("([0-9]{1,9})Mi"\)\) >= 0')

_Place = tuple[str, str]


class Recognition:
    """Finds rows by what was written for them; made once for a table.

    Args:
        rows: Rows in D8 order; those without a claim are never meant.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._alone: dict[tuple[str, tuple[str, ...]], int] = {}
        self._products: dict[tuple[_Place, str], int] = {}
        self._memory: dict[_Place, list[tuple[int, int]]] = {}
        self._own: dict[_Place, list[tuple[str, int]]] = {}
        for number, row in enumerate(rows):
            if row.claim is not None:
                self._add(row, row.claim, 1 << number)

    def _add(self, row: Row, claim: Claim, bit: int) -> None:
        key = claim.device_class, selectors(row)
        self._alone[key] = self._alone.get(key, 0) | bit
        place = claim.device_class, claim.driver
        if claim.selectors:
            self._own.setdefault(place, []).append((_condition(any_of([row])), bit))
        elif claim.products:
            for product in claim.products:
                known = place, product
                self._products[known] = self._products.get(known, 0) | bit
        else:
            self._memory.setdefault(place, []).append((least_mib(row.vram_gb), bit))

    def rows(self, device_class: str, expressions: Sequence[str]) -> int:
        """Return the rows of which a sub-request may take devices, as a set.

        Args:
            device_class: The DeviceClass of the sub-request.
            expressions: Its CEL selectors.
        """
        alone = self._alone.get((device_class, tuple(expressions)), 0)
        guard = _GUARD.match(expressions[0]) if len(expressions) == 1 else None
        if guard is None:
            return alone
        place, text = (device_class, json.loads(guard[1])), expressions[0]
        return alone | self._of_products(place, text) | self._of_the_rest(place, text)

    def _of_products(self, place: _Place, text: str) -> int:
        listed = _PRODUCTS.search(text)
        rows = 0
        for product in json.loads(f"[{listed[1]}]") if listed else ():
            rows |= self._products.get((place, product), 0)
        return rows

    def _of_the_rest(self, place: _Place, text: str) -> int:
        """Return rows known by memory, of which more is enough, and by CEL of the admin's own."""
        memory = _MEMORY.search(text)
        rows = 0
        for mib, bit in self._memory.get(place, ()) if memory else ():
            rows |= bit if memory is not None and int(memory[1]) <= mib else 0
        for condition, bit in self._own.get(place, ()):
            rows |= bit if condition in text else 0
        return rows


def _condition(expression: str) -> str:
    """Return what is behind the guard."""
    guard = _GUARD.match(expression)
    if guard is None:
        raise AssertionError(expression)  # cel begins with one
    return expression[guard.end() :]
