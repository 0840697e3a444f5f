"""What the verbs about health read of a cluster; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from webhook.advice.health.disruptions import PodState, disruption_budget, pod_state, refusal
from webhook.advice.health.replica import matters
from webhook.cli.saved import progress
from webhook.health.gather import Facts, devices_of
from webhook.health.ledger import Ledger
from webhook.health.observed import Devices, Holdings
from webhook.health.permits import jobs_needed
from webhook.health.stored_ledger import ledger_of
from webhook.inventory.claim_facts import claim_facts
from webhook.inventory.daemon_facts import daemon_facts
from webhook.inventory.facts import Json, NodeFacts, mapping, node_facts
from webhook.inventory.job_facts import JobFacts
from webhook.inventory.pod_facts import PodFacts, pod_facts
from webhook.inventory.rule_facts import RuleFacts, rule_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.kube.jobs import job_of
from webhook.terms import (
    CLAIMS_PATH,
    DRA_GROUP,
    HEALTH_OBJECT,
    LEDGER_FIELD,
    NODES_PATH,
    RULE_VERSIONS,
    RULES_RESOURCE,
    SLICES_PATH,
)

if TYPE_CHECKING:
    from webhook.kube.cluster import Cluster

NODES = NODES_PATH
"""Where the API server has nodes."""

_PODS = "/api/v1/pods"
_DAEMON_SETS = "/apis/apps/v1/daemonsets"
_DISRUPTION_BUDGETS = "/apis/policy/v1/poddisruptionbudgets"

# Pods that are on a node; the others hold nothing.
_ON_NODES = "spec.nodeName!="

_Kept = TypeVar("_Kept")


@dataclass(frozen=True, slots=True)
class Marked:
    """What bears marks of ours, and where rules are served; None where they are not."""

    nodes: dict[str, NodeFacts]
    devices: Devices
    rules: tuple[RuleFacts, ...] | None
    rules_path: str | None


class Reader:
    """Reads a cluster; what may not be seen is noted, and left out.

    Args:
        cluster: Which one.

    Attributes:
        unseen: What could not be looked at, and why: a sentence each.
        states: By uid of Pods what PodDisruptionBudgets go by.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.unseen: list[str] = []
        self.states: dict[str, PodState] = {}

    def marked(self) -> Marked:
        """Read nodes, devices and rules.

        Raises:
            ApiError: The nodes cannot be seen.
        """
        with progress(self.cluster.items(NODES), "Reading nodes") as bar:
            nodes = {one.name: one for one in map(node_facts, bar)}
        slices = self.listed(SLICES_PATH, slice_facts, "which devices drivers offer and taint")
        path, rules = self._rules()
        return Marked(nodes, devices_of(slices), rules, path)

    def facts(self, marked: Marked) -> Facts:
        """Read who holds what, too."""
        claims = self.listed(CLAIMS_PATH, claim_facts, "which devices claims hold")
        daemons = self.listed(_DAEMON_SETS, daemon_facts, "which DaemonSets a taint would lock out")
        return Facts(
            nodes=marked.nodes,
            pods=self._pods(),
            devices=marked.devices,
            holdings=Holdings(claims),
            rules=marked.rules,
            daemons=daemons,
        )

    def jobs(self, pods: Iterable[PodFacts]) -> dict[str, JobFacts]:
        """Read the Jobs of Pods, by uid; those that are gone are left out."""
        found = {}
        for namespace, name, uid in sorted(jobs_needed(tuple(pods))):
            get = partial(self.object, what=f"whether Job {namespace}/{name} would live on")
            if (job := job_of(get, namespace, name, uid)) is not None:
                found[uid] = job
        return found

    def refusals(self, pods: Iterable[PodFacts]) -> dict[str, str]:
        """Return why PodDisruptionBudgets would refuse to have Pods evicted now, by uid."""
        known = [(one, self.states[one.uid]) for one in pods if one.uid in self.states]
        if not known:
            return {}
        what = "whose eviction PodDisruptionBudgets would refuse"
        budgets = self.listed(_DISRUPTION_BUDGETS, disruption_budget, what)
        found = {one.uid: refusal(one.namespace, state, budgets) for one, state in known}
        return {uid: why for uid, why in found.items() if why}

    def ledger(self, namespace: str) -> Ledger:
        """Read what was done lately; an empty one where nothing was, or that cannot be seen."""
        path = ledger_path(namespace)
        text = ledger_text_of(self.object(path, "what is left of the budget, and what is stopped"))
        ledger = ledger_of(text) if text else Ledger()
        if ledger is None:
            self.unseen.append(
                f"what is left of the budget cannot be told: field {LEDGER_FIELD} of ConfigMap "
                f"{namespace}/{HEALTH_OBJECT} cannot be read"
            )
        return ledger or Ledger()

    def object(self, path: str, what: str) -> Json | None:
        """Return an object; None where there is none, or it may not be seen.

        Args:
            path: Its path.
            what: What cannot be told without it.
        """
        from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

        try:
            return self.cluster.get(path)
        except ApiError as error:
            self._note(error, what)
            return None

    def listed(
        self, path: str, keep: Callable[[Json], _Kept | None], what: str
    ) -> tuple[_Kept, ...]:
        """Return what is kept of a list; nothing where there is no such kind, or it is unseen."""
        from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

        try:
            return tuple(one for one in map(keep, self.cluster.items(path)) if one is not None)
        except ApiError as error:
            self._note(error, what)
            return ()

    def pod(self, namespace: str, name: str) -> PodFacts | None:
        """Read one Pod; None where there is none, or it may not be seen."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        found = self.object(path, f"what becomes of Pod {namespace}/{name}")
        return None if found is None else pod_facts(found)

    def _note(self, error: Exception, what: str) -> None:
        """Note what is forbidden; what is not there is nothing to tell.

        Raises:
            ApiError: It is neither.
        """
        from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

        if not isinstance(error, ApiError) or not (error.is_not_found or error.is_forbidden):
            raise error
        if error.is_forbidden:
            self.unseen.append(f"{what} cannot be told: {error.message}")

    def _pods(self) -> tuple[PodFacts, ...]:
        from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

        try:
            pods = self.cluster.items(_PODS, fieldSelector=_ON_NODES)
            with progress(pods, "Reading Pods") as bar:
                return tuple(facts for facts in map(self._kept, bar) if matters(facts))
        except ApiError as error:
            self._note(error, "who holds devices, and what befell Pods,")
            return ()

    def _kept(self, raw: Json) -> PodFacts:
        facts = pod_facts(raw)
        if matters(facts):
            self.states[facts.uid] = pod_state(raw)
        return facts

    def _rules(self) -> tuple[str | None, tuple[RuleFacts, ...] | None]:
        from webhook.kube.versions import served_path  # noqa: PLC0415 -- see webhook.cli.cluster

        path = served_path(self.cluster, DRA_GROUP, RULE_VERSIONS, RULES_RESOURCE)
        if path is None:
            return None, None
        return path, self.listed(path, rule_facts, "which DeviceTaintRules there are")


def ledger_path(namespace: str) -> str:
    """Return where the ConfigMap with what was done lately is."""
    return f"/api/v1/namespaces/{namespace}/configmaps/{HEALTH_OBJECT}"


def ledger_text_of(config_map: Json | None) -> str:
    """Return the ledger as it is written in the ConfigMap; "" where there is none."""
    text = mapping(mapping(config_map).get("data")).get(LEDGER_FIELD)
    return text if isinstance(text, str) else ""
