"""Selectors of the admin's own, held against the devices that a cluster's drivers publish (C3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from selection_spec.errors import Problem
from selection_spec.guards import Seen, doubts
from selection_spec.table import Table
from webhook.advice.fit import Finding
from webhook.inventory.slice_facts import QUANTITY, SliceFacts


def of_devices(table: Table, slices: Iterable[SliceFacts]) -> Iterator[Finding]:
    """Yield what is doubtful in selectors only because of the devices there are.

    Args:
        table: Whose selectors; the path of a finding begins with the id of a row.
        slices: What drivers publish; a driver without any devices is not known.
    """
    seen = _seen(slices)
    for row in table.rows:
        if row.claim is None or row.claim.driver not in seen:
            continue
        driver = row.claim.driver
        for place, expression in enumerate(row.claim.selectors):
            path = ("devices", row.id, "claim", "selectors", place, "cel", "expression")
            anywhere = set(doubts(expression, driver))
            for one in doubts(expression, driver, seen[driver]):
                if one not in anywhere:
                    message = f"{row.id}: {one.message}"
                    yield path, Problem(message, hint=one.hint, rule="C3", level=one.level)


def _seen(slices: Iterable[SliceFacts]) -> dict[str, Seen]:
    """Return by driver what its devices have."""
    found: dict[str, dict[tuple[str, ...], set[str]]] = {}
    for one in slices:
        of_driver = found.setdefault(one.driver, defaultdict(set)) if one.devices else {}
        for detail in {detail for device in one.devices for detail in device.details}:
            name, kind, _ = detail
            domain, _, plain = name.rpartition("/")
            part = "capacity" if kind == QUANTITY else "attributes"
            of_driver.setdefault((part, domain or one.driver, plain), set()).add(kind)
    return dict(found)
