"""Workloads that ask for more devices at once than all nodes that fit have together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from selection_spec.demand import Kind
from selection_spec.rows import CLAIMS
from selection_spec.table import Table
from webhook.admission.translate import Outcome, Verdict
from webhook.advice.findings.rules_of_objects import FLEET
from webhook.advice.findings.spot import Spot
from webhook.advice.findings.views import View
from webhook.advice.words import listed
from webhook.inventory.facts import NodeFacts
from webhook.inventory.status import table_status
from webhook.jsonpatch import Path

Sizes = Mapping[str, int]
"""How many devices the nodes of a row have together, by the row's id; others are not known."""

# By these a workload says how many of its Pods run at the same time, beside or above the template.
_COUNTS: Final = ("replicas", "parallelism", "groupSize", "numNodes")


def sizes_of(table: Table, nodes: Iterable[NodeFacts]) -> Sizes:
    """Return how many devices the rows have on these nodes; what drivers offer they do not tell.

    Without any nodes nothing is known.
    """
    seen = tuple(nodes)
    if not seen:
        return {}
    return {
        one.row.id: one.devices
        for one in table_status(table, seen).rows
        if one.is_counted and one.row.pool != CLAIMS
    }


def beyond(view: View, outcome: Outcome, sizes: Sizes) -> Iterator[Spot]:
    """Yield it where a workload's Pods together want more than there is.

    Args:
        view: One of its Pods.
        outcome: What becomes of that.
        sizes: How large the rows are.
    """
    if outcome.verdict is Verdict.DENIED or outcome.resolution is None or outcome.request is None:
        return
    rows = [row.id for row in outcome.resolution.candidates]
    if not all(row in sizes for row in rows):
        return
    each = sum(need.count for need in outcome.request.specs if need.kind is not Kind.INIT)
    pods, at = at_once(view)
    there = sum(sizes[row] for row in rows)
    if pods * each > there:
        yield Spot(
            FLEET,
            at,
            f"{pods} Pods with {each} each ask for {pods * each} devices at once, and all nodes of "
            f"{listed(rows)} have {there}",
            "ask for fewer at once, or by a spec that allows more kinds",
            view.owner,
            view.object,
        )


def at_once(view: View) -> tuple[int, Path]:
    """Return how many Pods like it run at the same time, and the path that says so.

    The numbers on the way from the object to the template multiply: a JobSet's replicas and each
    Job's parallelism. A Job runs no more Pods than it needs to complete.
    """
    path = view.place(())
    pods, at = 1, view.place(("spec",))
    node: object = view.item
    here = view.object
    for step in (*path[len(view.object) :], None):
        if isinstance(node, dict):
            for name in _COUNTS:
                count = node.get(name)
                if type(count) is int and count >= 0:
                    most = node.get("completions") if name == "parallelism" else None
                    pods *= min(count, most) if type(most) is int else count
                    at = (*here, name)
        if step is None:
            break
        node = node[step] if isinstance(node, (dict, list)) else None  # type: ignore[index]
        here = (*here, step)
    return pods, at
