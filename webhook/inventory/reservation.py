"""Which nodes are to carry our reserve taint, and what stands in the way (semantics D6, N9, H7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from selection_spec.rows import Row
from selection_spec.table import Table
from webhook.inventory.daemon_facts import DaemonFacts
from webhook.inventory.facts import NodeFacts, Taint
from webhook.inventory.matching import Matcher
from webhook.inventory.pod_facts import PodFacts
from webhook.inventory.taints import tolerated
from webhook.terms import RESERVED_TAINT


@dataclass(frozen=True, slots=True)
class Blocked:
    """A reserved row whose nodes are not tainted yet.

    Attributes:
        row: The row's id.
        daemons: The DaemonSets, as ``namespace/name``, whose Pods belong on its nodes and would
            not come back there.
    """

    row: str
    daemons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reservation:
    """What the reserve switch comes to right now.

    Attributes:
        taints: By node name the reserve taint it is to have, None where it is to have none; only
            nodes that differ from that.
        reserved: Nodes that carry their row's taint, by row id.
        blocked: The rows that wait for DaemonSets.
        stranded: Pending Pods that can no longer start: all of their rows are reserved, and none
            of these waits for DaemonSets.
    """

    taints: Mapping[str, Taint | None] = field(default_factory=dict)
    reserved: Mapping[str, int] = field(default_factory=dict)
    blocked: tuple[Blocked, ...] = ()
    stranded: tuple[PodFacts, ...] = ()


def reserve_taint(row_id: str) -> Taint:
    """Return the taint of a reserved row's nodes (N9)."""
    return Taint(RESERVED_TAINT, row_id, "NoSchedule")


def reservation(
    table: Table,
    matcher: Matcher,
    nodes: Iterable[NodeFacts],
    daemons: Sequence[DaemonFacts],
    pods: Iterable[PodFacts],
) -> Reservation:
    """Work out the reserve switch.

    A row is tainted as a whole or not at all: one node less for a DaemonSet is one too many. A
    node that carries the taint already keeps it while its row stays reserved, whatever DaemonSets
    were made since: they can be given the toleration at any time, and taking the taint away would
    let others in.
    """
    reserved = {row.id for row in table.rows if row.reserved}
    homes: dict[str, list[NodeFacts]] = defaultdict(list)
    taints: dict[str, Taint | None] = {}
    for node in nodes:
        row = _home(matcher.rows_of(node))
        if row is not None:
            homes[row].append(node)
        elif _ours(node):
            taints[node.name] = None
    blocked = []
    for row, members in sorted(homes.items()):
        wanted = reserve_taint(row)
        missing = [node for node in members if _ours(node) != [wanted]]
        locked_out = _locked_out(wanted, missing, daemons)
        if locked_out:
            blocked.append(Blocked(row, locked_out))
        else:
            taints |= {node.name: wanted for node in missing}
    waiting = {one.row for one in blocked}
    return Reservation(
        taints=taints,
        reserved={
            row: sum(reserve_taint(row) in node.taints for node in members)
            for row, members in homes.items()
        },
        blocked=tuple(blocked),
        stranded=tuple(pod for pod in pods if _is_stranded(pod, reserved - waiting)),
    )


def reserved_as(rows: Sequence[Row]) -> Taint | None:
    """Return the reserve taint of a node of these rows, None where none of them is reserved."""
    row = _home(rows)
    return None if row is None else reserve_taint(row)


def _home(rows: Sequence[Row]) -> str | None:
    """Return the reserved row that a node belongs to; the first where there are several."""
    return next((row.id for row in rows if row.reserved), None)


def _ours(node: NodeFacts) -> list[Taint]:
    """Return the taints of our key: one, or none, unless somebody else has placed some."""
    return [taint for taint in node.taints if taint.key == RESERVED_TAINT]


def _locked_out(
    taint: Taint, nodes: Sequence[NodeFacts], daemons: Sequence[DaemonFacts]
) -> tuple[str, ...]:
    return tuple(
        sorted(
            daemon.key
            for daemon in daemons
            if not daemon.tolerates(taint) and any(map(daemon.runs_on, nodes))
        )
    )


def _is_stranded(pod: PodFacts, reserved: set[str]) -> bool:
    return bool(
        not pod.node
        and not pod.finished
        and pod.candidates
        and reserved.issuperset(pod.candidates)
        and not any(tolerated(reserve_taint(row), pod.tolerations) for row in pod.candidates)
    )
