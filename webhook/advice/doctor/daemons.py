"""DaemonSets that the taint of reserved rows would lock out (semantics H7)."""

from __future__ import annotations

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
from webhook.terms import RESERVED_TAINT


def daemons(seen: Seen) -> Iterator[Finding]:
    """Check who could not come back to a reserved node."""
    nodes = _nodes(seen)
    if not nodes:
        yield fine("no node is reserved")
        return
    locked_out = []
    judged = 0
    for daemon in map(daemon_facts, seen.items(Topic.DAEMON_SETS)):
        homes = [taints for node, taints in nodes if daemon.runs_on(node)]
        judged += bool(homes)
        if not all(daemon.tolerates(taint) for taint in set().union(*homes)):
            locked_out.append(daemon.key)
    if locked_out:
        yield warning(
            f"{counted(len(locked_out), 'DaemonSet')} of reserved nodes would not come back to one "
            f"with our taint {RESERVED_TAINT}: {few(sorted(locked_out))}",
            f"give their templates the toleration key: {RESERVED_TAINT}, operator: Exists, effect: "
            "NoSchedule",
        )
    else:
        yield fine(f"{counted(judged, 'DaemonSet')} of reserved nodes, none would be locked out")


def _nodes(seen: Seen) -> list[tuple[NodeFacts, frozenset[Taint]]]:
    """Return each node of reserved rows as it is without our taints, and those it is to carry."""
    matcher = Matcher(seen.table)
    found = []
    for node in map(node_facts, seen.items(Topic.NODES)):
        reserved = frozenset(reserve_taint(row.id) for row in matcher.rows_of(node) if row.reserved)
        if reserved:
            others = tuple(taint for taint in node.taints if not is_own(taint))
            found.append((replace(node, taints=others), reserved))
    return found
