"""Who gets which row: the memory bounds for which ``gpu-any`` stands for it, policy by policy."""

from __future__ import annotations

from dataclasses import dataclass

from selection_spec.grammar import ANY, Spec
from selection_spec.rows import Policy
from selection_spec.table import Table
from webhook.advice.asks import answer


@dataclass(frozen=True, slots=True)
class Span:
    """A range of bounds: ``gpu-any-<least>gb`` to ``gpu-any-<most>gb``, both included.

    A least of 1 stands for ``gpu-any`` without a bound as well.
    """

    least: int
    most: int


def reach(table: Table, policy: Policy) -> dict[str, tuple[Span, ...]]:
    """Return by row id the bounds for which one device of ``gpu-any`` may be of that row.

    Bounds between two sizes of memory are answered as the larger one. Rows that are missing are
    got by name alone (D6), or never by ``gpu-any`` (D9, D10).
    """
    found: dict[str, tuple[Span, ...]] = {}
    least = 1
    for size in sorted({row.vram_gb for row in table.rows}):
        for row in answer(table, Spec(ANY, size), 1, policy).candidates:
            spans = found.get(row.id, ())
            if spans and spans[-1].most == least - 1:
                found[row.id] = (*spans[:-1], Span(spans[-1].least, size))
            else:
                found[row.id] = (*spans, Span(least, size))
        least = size + 1
    return found
