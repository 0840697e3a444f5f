"""Does what was planned, one thing at a time, if it is still right (semantics H7 to H9)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from webhook.controllers.node_taints import set_taint
from webhook.health.actions import Action, Doing
from webhook.health.cases import Mark
from webhook.health.fences import NO_EFFECT, NO_SCHEDULE, UNHEALTHY, is_tainted, rule_name
from webhook.health.signals.allocatable import Withheld, withheld
from webhook.health.subjects import Kind, Subject
from webhook.inventory.facts import Json, Taint, mapping, mappings, node_facts
from webhook.inventory.pod_facts import PodFacts, pod_facts
from webhook.inventory.rule_facts import RuleFacts, rule_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.inventory.taints import keeps_pods_away
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError, ClusterError
from webhook.terms import DRA_GROUP, RULE_LABEL, SLICES_PATH, UNHEALTHY_TAINT

_RULE_KIND = "DeviceTaintRule"

# What Kubernetes says, with status 500, of a Pod that it therefore never evicts.
_TWO_BUDGETS = "more than one PodDisruptionBudget"


class Result(StrEnum):
    """What became of an action; also a value of a metric's label."""

    DONE = "done"
    NEEDLESS = "needless"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one action.

    Attributes:
        why: What the API server said, where it is not done.
        is_given_back: Whether an eviction does not count against the budget: where it was refused,
            and not where it may have come about all the same, by us or another controller.
    """

    action: Action
    result: Result
    why: str = ""
    is_given_back: bool = False


class Applier:
    """Acts on a cluster; every action may be repeated, and is then needless.

    Args:
        cluster: What is changed.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def apply(self, action: Action, rules_path: str | None) -> Outcome:
        """Do one thing.

        Args:
            action: What.
            rules_path: Where DeviceTaintRules are served; None where they are not.
        """
        try:
            return self._apply(action, rules_path)
        except ApiError as error:
            if error.is_not_found:  # deleted meanwhile
                return Outcome(action, Result.NEEDLESS, str(error))
            is_sure = error.code < HTTPStatus.INTERNAL_SERVER_ERROR
            return Outcome(action, Result.FAILED, str(error), is_given_back=is_sure)
        except ClusterError as error:
            return Outcome(action, Result.FAILED, str(error))

    def _apply(self, action: Action, rules_path: str | None) -> Outcome:
        match action.doing:
            case Doing.TAINT:
                return self._taint(action, UNHEALTHY)
            case Doing.UNTAINT:
                return self._taint(action, None)
            case Doing.RULE:
                return self._rule(action, rules_path)
            case Doing.UNRULE:
                return self._no_rule(action, rules_path)
            case Doing.EVICT | Doing.REMOVE:
                return self._evict(action, rules_path)

    def _taint(self, action: Action, wanted: Taint | None) -> Outcome:
        changed = set_taint(self._cluster, action.subject.node, UNHEALTHY_TAINT, wanted)
        return Outcome(action, Result.DONE if changed else Result.NEEDLESS)

    def _rule(self, action: Action, rules_path: str | None) -> Outcome:
        if rules_path is None:
            return Outcome(action, Result.FAILED, "DeviceTaintRules are no longer served")
        name = rule_name(action.subject)
        body = _rule_json(action.subject, action.effect, rules_path)
        if action.effect == NO_EFFECT:
            try:
                self._cluster.create(rules_path, body)
            except ApiError as error:
                if not error.is_conflict:
                    raise
            else:
                return Outcome(action, Result.DONE)
        found = rule_facts(self._cluster.get(f"{rules_path}/{name}"))
        if not found.is_ours:
            return Outcome(action, Result.FAILED, f"{_RULE_KIND} {name} is somebody else's")
        if _says(found, action.subject, action.effect):
            return Outcome(action, Result.NEEDLESS)
        query = {"fieldManager": "gpuspec-health", "force": "true"}
        self._cluster.patch(f"{rules_path}/{name}", body, "apply", **query)
        return Outcome(action, Result.DONE)

    def _no_rule(self, action: Action, rules_path: str | None) -> Outcome:
        if rules_path is None:
            return Outcome(action, Result.NEEDLESS)
        path = f"{rules_path}/{rule_name(action.subject)}"
        if not rule_facts(self._cluster.get(path)).is_ours:
            return Outcome(action, Result.NEEDLESS)
        self._cluster.delete(path)
        return Outcome(action, Result.DONE)

    def _evict(self, action: Action, rules_path: str | None) -> Outcome:
        """Ask for an eviction, after another look at the Pod and at what keeps others away."""
        pod = action.pod
        if pod is None:
            raise AssertionError(action)
        found = self._cluster.get(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}")
        if why := _differs(pod, pod_facts(found), action) or self._unfenced(action, rules_path):
            return Outcome(action, Result.NEEDLESS, why)
        try:
            self._cluster.create(
                f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction", _eviction(pod)
            )
        except ApiError as error:
            if error.code == HTTPStatus.TOO_MANY_REQUESTS or _TWO_BUDGETS in error.message:
                why = _refusal(error, found)
                return Outcome(action, Result.REFUSED, why, is_given_back=True)
            if error.is_conflict:  # another Pod of this name
                return Outcome(action, Result.NEEDLESS, error.message)
            raise
        return Outcome(action, Result.DONE)

    def _unfenced(self, action: Action, rules_path: str | None) -> str:
        """Return why new Pods could come again; "" where what keeps them away is read back (H8)."""
        subject = action.subject
        if action.fence is Mark.RULE:
            rule = rule_facts(self._cluster.get(f"{rules_path}/{rule_name(subject)}"))
            is_there = rule.is_ours and _says(rule, subject, NO_SCHEDULE)
            return "" if is_there else f"our DeviceTaintRule {rule.name} has changed"
        if action.fence is Mark.NONE and subject.kind is Kind.DRA:
            return (
                "" if self._is_tainted(subject) else f"its driver no longer taints {subject.name}"
            )
        node = node_facts(self._cluster.get(f"/api/v1/nodes/{subject.node}"))
        if action.fence is Mark.NONE and subject.kind is Kind.PLUGIN:
            is_kept = withheld(node, subject.resource) is Withheld.SOME
            return "" if is_kept else f"node {node.name} no longer withholds {subject.resource}"
        return "" if is_tainted(node) else f"node {node.name} no longer has our taint"

    def _is_tainted(self, subject: Subject) -> bool:
        """Tell whether a device's driver keeps Pods off it, by the newest that it has published."""
        where = f"spec.nodeName={subject.node},spec.driver={subject.driver}"
        found = map(slice_facts, self._cluster.items(SLICES_PATH, fieldSelector=where))
        slices = [one for one in found if one.pool == subject.pool]
        newest = max((one.generation for one in slices), default=0)
        return any(
            device.name == subject.device and any(map(keeps_pods_away, device.taints))
            for one in slices
            if one.generation == newest
            for device in one.devices
        )


def _says(rule: RuleFacts, subject: Subject, effect: str) -> bool:
    selector = subject.driver, subject.pool, subject.device
    said = rule.selector, rule.taint.key, rule.taint.effect
    return said == (selector, UNHEALTHY_TAINT, effect)


def _differs(pod: PodFacts, found: PodFacts, action: Action) -> str:
    if found.uid != pod.uid:
        return "it is another Pod of this name"
    if found.leaves:
        return "it is being deleted"
    if found.node != pod.node or found.on_failure != pod.on_failure:
        return "it has changed"
    is_dead = action.doing is Doing.REMOVE
    return "" if found.finished is is_dead else "it has ended"


def _eviction(pod: PodFacts) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        # A StatefulSet's next Pod has the same name (H9).
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    }


def _refusal(error: ApiError, pod: Json) -> str:
    """Return what a PodDisruptionBudget says, and what helps a Pod that is not even Ready."""
    conditions = mappings(mapping(pod.get("status")).get("conditions"))
    is_ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
    if is_ready:
        return error.message
    return (
        f"{error.message}; the Pod is not Ready: unhealthyPodEvictionPolicy: AlwaysAllow in its "
        "PodDisruptionBudget would let it go"
    )


def _rule_json(subject: Subject, effect: str, rules_path: str) -> Json:
    version = rules_path.rsplit("/", 2)[1]
    return {
        "apiVersion": f"{DRA_GROUP}/{version}",
        "kind": _RULE_KIND,
        "metadata": {"name": rule_name(subject), "labels": {RULE_LABEL: "unhealthy"}},
        "spec": {
            "deviceSelector": {
                "driver": subject.driver,
                "pool": subject.pool,
                "device": subject.device,
            },
            "taint": {"key": UNHEALTHY_TAINT, "value": "", "effect": effect},
        },
    }
