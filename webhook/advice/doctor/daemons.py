"""DaemonSets of GPU nodes that our taints would lock out (semantics H7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from selection_spec.denial import few
from webhook.advice.doctor.findings import Finding, fine, warning
from webhook.advice.doctor.seen import Seen, Topic
from webhook.advice.words import counted
from webhook.inventory.daemon_facts import daemon_facts
from webhook.inventory.facts import NodeFacts, Taint, node_facts
from webhook.inventory.matching import Matcher
from webhook.inventory.reservation import reserve_taint
from webhook.inventory.taints import is_own
from webhook.terms import UNHEALTHY_TAINT

_UNHEALTHY = Taint(UNHEALTHY_TAINT, "", "NoSchedule")


def daemons(seen: Seen) -> Iterator[Finding]:
    """Check who could not come back to a GPU node that carries a taint of ours."""
    nodes = _nodes(seen)
    locked_out: dict[str, set[str]] = defaultdict(set)
    judged = 0
    for daemon in map(daemon_facts, seen.items(Topic.DAEMON_SETS)):
        homes = [taints for node, taints in nodes if daemon.runs_on(node)]
        judged += bool(homes)
        for taint in {taint for taints in homes for taint in taints}:
            if not daemon.tolerates(taint):
                locked_out[taint.key].add(daemon.key)
    for key, names in sorted(locked_out.items()):
        yield warning(
            f"{counted(len(names), 'DaemonSet')} of GPU nodes would not come back to one with our "
            f"taint {key}: {few(sorted(names))}",
            f"give their templates the toleration key: {key}, operator: Exists, effect: NoSchedule",
        )
    if not locked_out:
        yield fine(
            f"{counted(judged, 'DaemonSet')} of GPU nodes, none would be locked out"
            if judged
            else "no DaemonSet is for GPU nodes"
        )


def _nodes(seen: Seen) -> list[tuple[NodeFacts, tuple[Taint, ...]]]:
    """Return each GPU node without our taints, and those that it may carry one day."""
    matcher = Matcher(seen.table)
    found = []
    for node in map(node_facts, seen.items(Topic.NODES)):
        rows = matcher.rows_of(node)
        if rows:
            reserved = tuple(reserve_taint(row.id) for row in rows if row.reserved)
            others = tuple(taint for taint in node.taints if not is_own(taint))
            found.append((replace(node, taints=others), (*reserved, _UNHEALTHY)))
    return found
