"""Events about health on nodes and Pods, each told once (semantics H4, H11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from webhook.controllers.health_acts import Outcome, Result
from webhook.controllers.pauses import Pauses
from webhook.controllers.pod_events import (
    Words,
    event,
    event_name,
    object_event_name,
    warning_event,
)
from webhook.health import words
from webhook.health.actions import Doing
from webhook.health.step import Step
from webhook.health.words import Reason, Told
from webhook.inventory.facts import NodeFacts
from webhook.inventory.pod_facts import PodFacts
from webhook.kube.cluster import Cluster, Json
from webhook.kube.errors import ApiError, ClusterError

# Of one run; what is left is told in the next ones.
_EVENTS = 50

# Events on nodes have no namespace of their own; this is where Kubernetes looks for them.
_NODES_NAMESPACE = "default"


class HealthEvents:
    """Tells what came of a step.

    Args:
        cluster: Where it is told.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._told: set[str] = set()
        self._refused: Pauses[str] = Pauses()

    def tell(
        self,
        step: Step,
        outcomes: Iterable[Outcome],
        nodes: Mapping[str, NodeFacts],
        now: float,
    ) -> None:
        """Create what was not told yet; what cannot be told holds nothing up."""
        time = datetime.fromtimestamp(now, UTC)
        wanted = dict(self._wanted(step, outcomes, nodes, time))
        self._refused.keep(wanted)
        new = [
            name for name in wanted if name not in self._told and self._refused.is_over(name, now)
        ]
        for name in new[:_EVENTS]:
            one = wanted[name]
            path = f"/api/v1/namespaces/{one['metadata']['namespace']}/events"
            try:
                self._cluster.create(path, one)
            except ApiError as error:
                if not (error.is_conflict or error.is_leaving):
                    self._refused.failed(name, now)
                    continue
            except ClusterError:
                return
            self._told.add(name)
        self._told &= wanted.keys()

    def _wanted(
        self,
        step: Step,
        outcomes: Iterable[Outcome],
        nodes: Mapping[str, NodeFacts],
        time: datetime,
    ) -> Iterator[tuple[str, Json]]:
        now = time.timestamp()
        for decision in step.decisions:
            node = nodes.get(decision.case.subject.node)
            if node is None:
                continue
            for told in words.of_node(decision, step.breakers, now):
                name = object_event_name(node.name, node.uid, told.cause)
                yield name, _on_node(name, node, told, time)
            pods = {holder.pod.uid: holder.pod for holder in decision.holders or ()}
            for uid, told in words.kept(decision):
                yield _on_pod(pods[uid], told, time)
        for outcome in outcomes:
            if outcome.action.pod is not None and (told_ := _of(outcome)) is not None:
                yield _on_pod(outcome.action.pod, told_, time)


def _of(outcome: Outcome) -> Told | None:
    """Return what a Pod is told about its eviction."""
    action = outcome.action
    if outcome.result is Result.DONE and action.doing is Doing.EVICT:
        said = f"evicted from {action.subject}, which has failed: {action.why}"
        return Told(Reason.EVICTED, "evicted", said)
    if outcome.result is Result.REFUSED:
        said = f"{action.subject} has failed, but the eviction is refused: {outcome.why}"
        return Told(Reason.REFUSED, f"refused {outcome.why}", said)
    return None


def _on_node(name: str, node: NodeFacts, told: Told, time: datetime) -> Json:
    involved = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
    said = Words(told.reason, told.message, is_warning=told.is_bad)
    return event(name, _NODES_NAMESPACE, involved, said, time)


def _on_pod(pod: PodFacts, told: Told, time: datetime) -> tuple[str, Json]:
    name = event_name(pod, told.cause)
    return name, warning_event(name, pod, told.reason, told.message, time)
