"""Numbers as people read them: percentiles and tables for 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 80


def percentile(seconds: Sequence[float], share: float) -> float:
    """Return the value below which so large a share (0 to 1) of the values lies."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table: the first column to the left, all others to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  " + "  ".join([row[0].ljust(widths[0]), *_right(row[1:], widths[1:])]).rstrip()
        for row in (head, *rows)
    )


def _right(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
