"""The loop behind ``reserved: true``: our taint on a row's nodes, and off them again (D6, N9)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import islice

from selection_spec.denial import few
from selection_spec.table import builtin_table
from webhook.controllers.board import Board, Part
from webhook.controllers.node_taints import set_taint
from webhook.controllers.pod_events import event_name, warning_event
from webhook.controllers.tables import Loaded, loaded
from webhook.controllers.world import World
from webhook.inventory.conditions import Condition
from webhook.inventory.facts import Taint
from webhook.inventory.matching import Matcher
from webhook.inventory.pod_facts import PodFacts
from webhook.inventory.reservation import Reservation, reservation
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError
from webhook.logs import Log
from webhook.terms import DEVICES_RESERVED, RESERVE_BLOCKED, RESERVED_TAINT

_LOOK_S = 30.0

# Nodes and Events of one run; the rest follows in the next ones. So a run takes a second or so:
# whoever takes a switch back, or asks the process to stop, need not wait for thousands of nodes.
_NODES = 100
_EVENTS = 100


class ReserveLoop:
    """Taints the nodes of reserved rows, so that Pods which pass admission by keep away, too.

    Running Pods stay. What is reserved is the table's to say; a table that cannot be read changes
    nothing.
    """

    name = "reserve"

    def __init__(
        self, cluster: Cluster, world: World, *, in_use: str, board: Board, log: Log
    ) -> None:
        self._cluster = cluster
        self._world = world
        self._in_use = in_use
        self._board = board
        self._log = log
        self._builtin = builtin_table()
        self._told: set[str] = set()
        self._failing: set[str] = set()

    def run(self, now: datetime) -> float:
        """Bring every node's reserve taint to what the table says, and tell who waits for what."""
        world = self._world
        if not world.ready(world.tables, world.nodes, world.pods, world.daemons):
            return 1.0
        found = self._table()
        if found.table is None or found.matcher is None:
            return _LOOK_S
        plan = reservation(
            found.table,
            found.matcher,
            self._world.nodes.held().values(),
            list(self._world.daemons.held().values()),
            self._world.pods.held().values(),
        )
        refused = self._taint(plan.taints)
        self._board.post(self.name, _part(plan, refused))
        more = self._tell(plan.stranded, found.table.domain, now)
        if refused is not None:
            raise refused
        if len(plan.taints) > _NODES:
            return 0.0
        return 1.0 if more else _LOOK_S

    def _taint(self, taints: Mapping[str, Taint | None]) -> ApiError | None:
        """Bring some nodes to their taint; return why one of them could not be, if any.

        Those that could not be come last the next time, so that they never hold up the others.
        """
        refused = None
        for node in islice(sorted(taints, key=self._failing.__contains__), _NODES):
            self._failing.discard(node)
            try:
                changed = set_taint(self._cluster, node, RESERVED_TAINT, taints[node])
            except ApiError as error:
                if error.is_not_found:  # deleted meanwhile
                    continue
                self._failing.add(node)
                refused = error
            else:
                if changed:
                    taint = str(taints[node] or "removed")
                    self._log.info("reserve taint", node=node, taint=taint)
        self._failing &= taints.keys()
        return refused

    def _table(self) -> Loaded:
        held = self._world.tables.held().get(self._in_use)
        if held is None:
            return Loaded(self._builtin, Matcher(self._builtin))
        return loaded(held.text)

    def _tell(self, stranded: tuple[PodFacts, ...], domain: str, now: datetime) -> bool:
        """Give each stranded Pod one Event; tell whether some are left for the next run."""
        names = {event_name(pod, " ".join(pod.candidates)): pod for pod in stranded}
        self._told &= names.keys()
        new = [name for name in names if name not in self._told]
        for name in new[:_EVENTS]:
            pod = names[name]
            try:
                event = warning_event(name, pod, DEVICES_RESERVED, _message(pod, domain), now)
                self._cluster.create(f"/api/v1/namespaces/{pod.namespace}/events", event)
            except ApiError as error:
                # It was told before this process began, or its namespace is being deleted.
                if not (error.is_conflict or error.is_leaving):
                    raise
            self._told.add(name)
        return len(new) > _EVENTS


def _part(plan: Reservation, refused: ApiError | None) -> Part:
    return Part(
        conditions=(_blocked(plan, refused),),
        fields={
            "reserved": {
                "nodes": sum(plan.reserved.values()),
                "pendingPods": len(plan.stranded),
            }
        },
    )


def _blocked(plan: Reservation, refused: ApiError | None) -> Condition:
    if plan.blocked:
        rows = few(f"{one.row} for {few(one.daemons)}" for one in plan.blocked)
        return Condition(
            RESERVE_BLOCKED,
            "True",
            "DaemonSetsLockedOut",
            f"not tainted yet: {rows}; their Pods would not come back to these nodes, so give "
            f"each DaemonSet the toleration key {RESERVED_TAINT}, operator Exists, effect "
            "NoSchedule",
        )
    if refused is not None:
        said = f"some nodes cannot be changed: {refused}"
        return Condition(RESERVE_BLOCKED, "True", "NodesRefuse", said)
    return Condition(RESERVE_BLOCKED, "False", "NothingWaits", "no reserved row waits")


def _message(pod: PodFacts, domain: str) -> str:
    return (
        f"every device that this Pod may use is reserved now ({few(pod.candidates)}); create it "
        f"again with the name of one, such as {domain}/gpu-{pod.candidates[0]}"
    )
