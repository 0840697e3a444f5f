"""Rows whose claims keep Pods from ever starting: selectors that are refused, or that fail (C3).

One such row among a claim's alternatives is enough: the API server refuses the whole template, and
an error on any device ends the scheduling of the Pod (Kubernetes).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from selection_spec.guards.checked import faults
from selection_spec.guards.syntax import NoCelError, parse
from selection_spec.rows import CLAIMS, Row
from webhook.inventory.claims import Offered, Recognised
from webhook.inventory.problems import counted
from webhook.inventory.recogniser import Recogniser

# A table in a cluster is judged again and again.
_REMEMBERED = 1024


def broken_rows(rows: Iterable[Row], offers: Offered | None) -> dict[str, str]:
    """Return by id of rows that are taken by claims why no Pod starts whose claim names them.

    Args:
        rows: Any rows.
        offers: What drivers offer; None where that is not known.
    """
    claimed = [row for row in rows if row.pool == CLAIMS]
    known = offers or Offered(())
    found = Recogniser(claimed).recognised(known, lambda _: True)
    reasons = {row.id: broken(row, found[row.id]) for row in claimed}
    return {row: why for row, why in reasons.items() if why}


def broken(row: Row, found: Recognised) -> str:
    """Return why no Pod starts whose claim names a row, "" where it may."""
    selectors = row.claim.selectors if row.claim is not None else ()
    if refused := refusal(selectors):
        return f"a selector of its claim is refused by the API server: {refused}"
    for reason, count in found.failing.most_common(1):
        return f"a selector of its claim fails on {counted(count, 'device')}: {reason}"
    return ""


def refusal(expressions: Iterable[str]) -> str:
    """Return why the API server would not take some expressions about a device, "" if it may."""
    return next(filter(None, map(_refusal, expressions)), "")


@lru_cache(_REMEMBERED)
def _refusal(expression: str) -> str:
    try:
        clauses = dict(faults(expression, parse(expression)))
    except NoCelError as error:
        return f"it is no CEL: {error}"
    except RecursionError:  # nested too deeply to be judged here
        return ""
    return next(iter(clauses), "")
