"""From facts about a cluster to what health is judged by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from selection_spec.drivers import PLUGIN_RESOURCES
from selection_spec.table import Table
from webhook.health.ledger import Ledger
from webhook.health.observed import Devices, Holdings, Observed
from webhook.health.records import State
from webhook.health.stored import record_of
from webhook.inventory.daemon_facts import DaemonFacts
from webhook.inventory.facts import NodeFacts
from webhook.inventory.job_facts import JobFacts
from webhook.inventory.matching import Matcher
from webhook.inventory.pod_facts import PodFacts
from webhook.inventory.rule_facts import RuleFacts
from webhook.inventory.slice_facts import SliceFacts, current


@dataclass(frozen=True, slots=True)
class Facts:
    """What was read of a cluster.

    Attributes:
        nodes: All of them, by name.
        pods: Those that have, had or wait for devices.
        devices: What DRA drivers offer, made by ``Devices(current(slices))``.
        holdings: Who holds what by claims.
        rules: The DeviceTaintRules; None where Kubernetes has none.
        jobs: By uid, as far as they were looked up.
        daemons: All DaemonSets.
    """

    nodes: Mapping[str, NodeFacts]
    pods: Iterable[PodFacts] = ()
    devices: Devices = field(default_factory=Devices)
    holdings: Holdings = field(default_factory=Holdings)
    rules: Sequence[RuleFacts] | None = None
    jobs: Mapping[str, JobFacts] = field(default_factory=dict)
    daemons: Sequence[DaemonFacts] = ()


class Homes:
    """Tells the nodes of a table's rows, again and again; one that did not change costs nothing.

    Args:
        table: The table in use.
        matcher: Its matcher.
    """

    def __init__(self, table: Table, matcher: Matcher) -> None:
        self.table = table
        self._matcher = matcher
        claimed = (row.claim.driver for row in table.rows if row.claim is not None)
        self._drivers = frozenset(PLUGIN_RESOURCES).union(claimed)
        self._seen: dict[str, tuple[NodeFacts, tuple[str, ...]]] = {}

    def observed(self, facts: Facts) -> Observed:
        """Return what concerns this table's rows, and nodes on which something is written down."""
        rows = self._rows(facts.nodes.values())
        nodes = {name: node for name, node in facts.nodes.items() if name in rows or node.verdicts}
        return Observed(
            nodes=nodes,
            rows=rows,
            resources=self.table.resources,
            drivers=self._drivers,
            pods=tuple(pod for pod in facts.pods if pod.node in nodes),
            devices=facts.devices,
            holdings=facts.holdings,
            rules=facts.rules,
            jobs=facts.jobs,
            daemons=facts.daemons,
        )

    def ledger(self, ledger: Ledger) -> Ledger:
        """Return a ledger without breakers of rows that this table no longer has (H5)."""
        return ledger.of_rows([row.id for row in self.table.rows])

    def _rows(self, nodes: Iterable[NodeFacts]) -> Mapping[str, tuple[str, ...]]:
        seen = {}
        for node in nodes:
            entry = self._seen.get(node.name)
            if entry is None or entry[0] is not node:
                entry = node, tuple(row.id for row in self._matcher.rows_of(node))
            seen[node.name] = entry
        self._seen = seen
        return {name: rows for name, (_, rows) in seen.items() if rows}


def devices_of(slices: Iterable[SliceFacts]) -> Devices:
    """Return what drivers offer, of complete pools only."""
    return Devices(current(slices))


def remembered(nodes: Mapping[str, NodeFacts], ledger: Ledger) -> State:
    """Return what was written down by whoever led before."""
    found = {name: record_of(node.verdicts, name) for name, node in nodes.items() if node.verdicts}
    return State({name: one for name, one in found.items() if one is not None}, ledger)
