"""Conditions of a table's status, as Kubernetes writes them; the present is a value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from selection_spec.denial import few
from selection_spec.errors import Level, Problem
from webhook.inventory.facts import Json, mappings
from webhook.inventory.problems import counted
from webhook.inventory.status import RowCounts, TableStatus

ACCEPTED: Final = "Accepted"
"""Whether the table breaks no law and serves; where it does, the last good one goes on serving."""

READY: Final = "Ready"
"""Whether any of its rows has a device that a Pod could use now."""

FOLLOWING: Final = "Following"
"""Whether what the status counts can be seen; where it cannot, ``renewTime`` stands still (D7)."""

_MAX_MESSAGE = 4096


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition; ``status`` is True or False as text, ``reason`` a word, ``message`` prose."""

    type: str
    status: str
    reason: str
    message: str


def accepted(problems: Sequence[Problem]) -> Condition:
    """Return whether a table is accepted, by the problems that loading it found."""
    if not problems:
        return Condition(ACCEPTED, "True", "Valid", "the table breaks no law")
    lines = (f"{one.path}: {one.text()}" if one.path else one.text() for one in problems)
    return Condition(ACCEPTED, "False", "Invalid", few(lines, "\n"))


def following(trouble: str = "", *, uncounted: str = "", beside: str = "") -> Condition:
    """Return whether the cluster can be followed.

    Args:
        trouble: Why what was counted cannot be seen any more; "" while it can.
        uncounted: Why what DRA drivers offer was never seen; "" where it was.
        beside: Why something cannot be seen that this status does not count.
    """
    said = ""
    if trouble:
        said = f"counts are of earlier: {trouble}"
    elif uncounted:
        said = f"devices of DRA drivers are not counted: {uncounted}"
    elif beside:
        said = f"counts hold, but what depends on the following stands still: {beside}"
    if said:
        return Condition(FOLLOWING, "False", "CannotFollow", said)
    return Condition(FOLLOWING, "True", "UpToDate", "every change of the cluster is seen")


def uncounted(why: str) -> Condition:
    """Return that nothing of a table could be counted, and why."""
    return Condition(FOLLOWING, "False", "CannotCount", f"nothing is counted: {why}")


def ready(status: TableStatus) -> Condition:
    """Return whether a table has devices to give, with what else is worth knowing in a sentence."""
    devices = sum(row.devices for row in status.rows)
    usable = sum(row.usable for row in status.rows)
    with_nodes = sum(row.nodes > 0 for row in status.rows)
    said = [
        f"{with_nodes} of {_rows(len(status.rows))} match nodes",
        f"{usable} of {devices} devices are usable",
    ]
    wrong = [row.row.id for row in status.rows if _is_wrong(row)]
    if wrong:
        have = "has" if len(wrong) == 1 else "have"
        said.append(f"{_rows(len(wrong))} {have} problems: {few(wrong)}")
    unmatched = sum(one.nodes for one in status.unmatched)
    if unmatched:
        match = (
            "1 node with GPUs matches" if unmatched == 1 else f"{unmatched} nodes with GPUs match"
        )
        said.append(f"{match} no row")
    reason = "ProblemsFound" if wrong or unmatched else "AllFine"
    if not usable:
        reason = "NoUsableDevices"
    return Condition(READY, str(usable > 0), reason, "; ".join(said))


def merged(
    conditions: Iterable[Condition], former: object, generation: int, now: str
) -> list[dict[str, Any]]:
    """Return a status' conditions with new ones in the place of former ones of the same type.

    Args:
        conditions: What is true now.
        former: ``status.conditions`` as it was read; those of other types stay as they are.
        generation: The ``metadata.generation`` of the table that was looked at.
        now: The present, as Kubernetes writes it. Kept from the former condition where its status
            is the same: ``lastTransitionTime`` tells since when.
    """
    kept: dict[str, Json] = {
        one["type"]: one for one in mappings(former) if isinstance(one.get("type"), str)
    }
    for condition in conditions:
        before = kept.get(condition.type, {})
        stayed = before.get("status") == condition.status
        since = before.get("lastTransitionTime") if stayed else None
        kept[condition.type] = {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message[:_MAX_MESSAGE],
            "observedGeneration": generation,
            "lastTransitionTime": since or now,
        }
    return list(kept.values())


def _is_wrong(row: RowCounts) -> bool:
    return any(problem.level is Level.ERROR for problem in row.problems)


def _rows(count: int) -> str:
    return counted(count, "row")
