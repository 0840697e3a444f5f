"""What the loops look at: collections of the cluster, mirrored while this process leads."""

from __future__ import annotations

import threading
from collections.abc import Callable

from webhook.controllers.tables import TableHeld, table_held
from webhook.inventory.daemon_facts import DaemonFacts, daemon_facts
from webhook.inventory.facts import NodeFacts, node_facts
from webhook.inventory.pod_facts import PodFacts, pod_facts
from webhook.kube.cluster import Cluster, Json
from webhook.kube.reflector import Collection, Reflector
from webhook.terms import TABLES_PATH


class World:
    """The mirrors, and whether they are complete.

    Args:
        cluster: What is mirrored.
        changed: Called after every change of anything; must not block.
        troubled: Told why a collection cannot be read.
    """

    def __init__(
        self, cluster: Cluster, changed: Callable[[], None], troubled: Callable[[str], None]
    ) -> None:
        self.tables: Reflector[TableHeld] = Reflector(
            cluster, Collection(TABLES_PATH), table_held, changed=changed, troubled=troubled
        )
        self.nodes: Reflector[NodeFacts] = Reflector(
            cluster, Collection("/api/v1/nodes"), node_facts, changed=changed, troubled=troubled
        )
        self.pods: Reflector[PodFacts] = Reflector(
            cluster, Collection("/api/v1/pods"), _pod, changed=changed, troubled=troubled
        )
        self.daemons: Reflector[DaemonFacts] = Reflector(
            cluster,
            Collection("/apis/apps/v1/daemonsets"),
            daemon_facts,
            changed=changed,
            troubled=troubled,
        )

    @property
    def synced(self) -> bool:
        """Whether every collection was seen completely; nothing is judged before."""
        return all(one.synced for one in self._all)

    def start(self, stopping: threading.Event) -> None:
        """Follow all collections until ``stopping`` is set."""
        for one in self._all:
            threading.Thread(target=one.run, args=(stopping,), name=one.path, daemon=True).start()

    @property
    def _all(
        self,
    ) -> tuple[
        Reflector[TableHeld] | Reflector[NodeFacts] | Reflector[PodFacts] | Reflector[DaemonFacts],
        ...,
    ]:
        return (self.tables, self.nodes, self.pods, self.daemons)


def _pod(pod: Json) -> PodFacts | None:
    """Keep the Pods that hold or wait for devices: a few of all the Pods of a cluster."""
    facts = pod_facts(pod)
    return facts if (facts.devices or facts.candidates) and not facts.finished else None
