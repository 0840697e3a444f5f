"""DaemonSets that a taint of ours would lock out: of reserved rows, or of sick nodes (H7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from selection_spec.denial import few
from selection_spec.health import Mode
from selection_spec.rows import Row
from webhook.advice.doctor.findings import Finding, fine, warning
from webhook.advice.doctor.seen import Seen, Topic
from webhook.advice.words import counted
from webhook.health.fences import UNHEALTHY
from webhook.inventory.daemon_facts import daemon_facts
from webhook.inventory.facts import NodeFacts, Taint, node_facts
from webhook.inventory.matching import Matcher
from webhook.inventory.reservation import reserve_taint
from webhook.inventory.taints import is_own
from webhook.terms import RESERVED_TAINT, UNHEALTHY_TAINT

_Taints = Callable[[tuple[Row, ...]], frozenset[Taint]]


@dataclass(frozen=True, slots=True)
class _Home:
    """A node without our taints, and those of one key that it carries, or may come to carry."""

    node: NodeFacts
    taints: frozenset[Taint]


def daemons(seen: Seen) -> Iterator[Finding]:
    """Check who could not come back to a reserved node, or to one that is in quarantine."""
    if reserved := _homes(seen, _reserved):
        yield _judged(seen, reserved, RESERVED_TAINT, "reserved nodes")
    else:
        yield fine("no node is reserved")
    if sick := _homes(seen, partial(_quarantined, seen, is_observed=False)):
        yield _judged(seen, sick, UNHEALTHY_TAINT, "nodes that health may taint")
    if observed := _homes(seen, partial(_quarantined, seen, is_observed=True)):
        found = _judged(seen, observed, UNHEALTHY_TAINT, "nodes that health only observes")
        if found.todo:  # while all is only observed nothing locks anybody out: no warning yet
            yield fine(f"note: {found.what}; before another mode than Observe {found.todo}")


def _quarantined(seen: Seen, rows: tuple[Row, ...], *, is_observed: bool) -> frozenset[Taint]:
    mode = seen.table.health.mode_of(row.id for row in rows)
    is_wanted = bool(rows) and (mode is Mode.OBSERVE) is is_observed
    return frozenset({UNHEALTHY} if is_wanted else ())


def _reserved(rows: tuple[Row, ...]) -> frozenset[Taint]:
    return frozenset(reserve_taint(row.id) for row in rows if row.reserved)


def _judged(seen: Seen, homes: list[_Home], key: str, whose: str) -> Finding:
    """Return who would be locked out of some nodes by a taint of this key."""
    locked_out = []
    judged = 0
    for daemon in map(daemon_facts, seen.items(Topic.DAEMON_SETS)):
        taints = [home.taints for home in homes if daemon.runs_on(home.node)]
        judged += bool(taints)
        if not all(daemon.tolerates(taint) for taint in set().union(*taints)):
            locked_out.append(daemon.key)
    if not locked_out:
        return fine(f"{counted(judged, 'DaemonSet')} of {whose}, none would be locked out")
    return warning(
        f"{counted(len(locked_out), 'DaemonSet')} of {whose} would not come back to one with our "
        f"taint {key}: {few(sorted(locked_out))}",
        f"give their templates the toleration key: {key}, operator: Exists, effect: NoSchedule",
    )


def _homes(seen: Seen, taints: _Taints) -> list[_Home]:
    """Return the nodes of rows whose nodes have a taint, each as it is without any of ours."""
    matcher = Matcher(seen.table)
    found = []
    for node in map(node_facts, seen.items(Topic.NODES)):
        wanted = taints(matcher.rows_of(node))
        if wanted:
            others = tuple(taint for taint in node.taints if not is_own(taint))
            found.append(_Home(replace(node, taints=others), wanted))
    return found
