"""A cluster that lives on in values: a history happens to it, and our actions take effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, TypeVar

from webhook.health.actions import Action, Doing
from webhook.health.fences import UNHEALTHY, rule_name
from webhook.health.gather import Facts, devices_of
from webhook.health.observed import Holdings
from webhook.health.records import Record
from webhook.inventory.claim_facts import ClaimFacts, claim_facts
from webhook.inventory.daemon_facts import DaemonFacts, daemon_facts
from webhook.inventory.facts import NodeFacts, Taint, mapping, node_facts
from webhook.inventory.job_facts import JobFacts, job_facts
from webhook.inventory.pod_facts import PodFacts, pod_facts
from webhook.inventory.rule_facts import RuleFacts, rule_facts
from webhook.inventory.slice_facts import SliceFacts, slice_facts
from webhook.terms import HEALTH_LABEL, SUSPECT, UNHEALTHY_TAINT

Json = dict[str, Any]

_Value = TypeVar("_Value")

KINDS: Final = (
    "Node",
    "Pod",
    "ResourceSlice",
    "ResourceClaim",
    "DeviceTaintRule",
    "Job",
    "DaemonSet",
)
"""The kinds of objects that a history may tell of."""


class Change(StrEnum):
    """What happened to an object, as watches call it."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a history.

    Attributes:
        at: In seconds since 1970.
        is_dated: Whether the history tells that; where not, ``at`` is the earliest that it allows.
    """

    at: float
    change: Change
    kind: str
    content: Json
    is_dated: bool = True

    @property
    def name(self) -> str:
        """What it is about, for people: ``Node n1``, ``Pod ml/train-0``."""
        metadata = mapping(self.content.get("metadata"))
        namespace = metadata.get("namespace")
        return f"{self.kind} {f'{namespace}/' if namespace else ''}{metadata.get('name')}"


class Replica:
    """The simulated cluster.

    What a history has of our own marks is left out: they are placed as the settings that are tried
    would place them. A Pod that was evicted stays away, whatever its history says.

    Args:
        has_rules: Whether it serves DeviceTaintRules.
    """

    def __init__(self, *, has_rules: bool) -> None:
        self._has_rules = has_rules
        self._nodes: dict[str, NodeFacts] = {}
        self._pods: dict[str, PodFacts] = {}
        self._slices: dict[str, SliceFacts] = {}
        self._claims: dict[str, ClaimFacts] = {}
        self._rules: dict[str, RuleFacts] = {}
        self._jobs: dict[str, JobFacts] = {}
        self._daemons: dict[str, DaemonFacts] = {}
        self._tainted: set[str] = set()
        self._labelled: set[str] = set()
        self._gone: set[str] = set()
        # Evictions by Job: each counts as a failure, whatever the history says of the Job (H9).
        self._failures: Counter[str] = Counter()
        self._facts: Facts | None = None

    @property
    def facts(self) -> Facts:
        """What there is, our marks among it."""
        if self._facts is None:
            self._facts = Facts(
                nodes={name: self._marked(node) for name, node in self._nodes.items()},
                pods=tuple(self._pods.values()),
                devices=devices_of(self._slices.values()),
                holdings=Holdings(self._claims.values()),
                rules=tuple(self._rules.values()) if self._has_rules else None,
                jobs={uid: self._failed(uid, job) for uid, job in self._jobs.items()},
                daemons=tuple(self._daemons.values()),
            )
        return self._facts

    def happen(self, event: Event) -> None:
        """Let an event of the history happen."""
        self._facts = None
        metadata = mapping(event.content.get("metadata"))
        name, uid = str(metadata.get("name")), str(metadata.get("uid") or "")
        key = f"{metadata.get('namespace') or ''}/{name}"
        content = None if event.change is Change.DELETED else event.content
        match event.kind:
            case "Node":
                self._node(name, content)
            case "Pod":
                self._pod(key, content)
            case "ResourceSlice":
                _put(self._slices, name, None if content is None else slice_facts(content))
            case "ResourceClaim":
                _put(self._claims, key, None if content is None else claim_facts(content))
            case "DeviceTaintRule":
                self._rule(name, content)
            case "Job":
                _put(self._jobs, uid, None if content is None else job_facts(content))
            case "DaemonSet":
                _put(self._daemons, key, None if content is None else daemon_facts(content))

    def obey(self, action: Action) -> None:
        """Let an action take effect."""
        self._facts = None
        subject, pod = action.subject, action.pod
        match action.doing:
            case Doing.TAINT:
                self._tainted.add(subject.node)
            case Doing.UNTAINT:
                self._tainted.discard(subject.node)
            case Doing.RULE:
                self._rules[rule_name(subject)] = placed_rule(action)
            case Doing.UNRULE:
                self._rules.pop(rule_name(subject), None)
            case Doing.EVICT | Doing.REMOVE:
                if pod is not None:
                    self._gone.add(pod.uid)
                    self._pods.pop(pod.key, None)
                    self._failures[pod.owner.uid] += action.doing is Doing.EVICT

    def label(self, records: Mapping[str, Record]) -> None:
        """Give nodes our label as their records say."""
        labelled = {name for name, record in records.items() if record.label}
        if labelled != self._labelled:
            self._labelled, self._facts = labelled, None

    def _node(self, name: str, content: Json | None) -> None:
        facts = None if content is None else _unmarked(node_facts(content))
        former = self._nodes.get(name)
        if facts is None or (former is not None and former.uid != facts.uid):
            self._tainted.discard(name)
        _put(self._nodes, name, facts)

    def _pod(self, key: str, content: Json | None) -> None:
        facts = None if content is None else pod_facts(content)
        if facts is not None and (facts.uid in self._gone or not matters(facts)):
            facts = None
        _put(self._pods, key, facts)

    def _rule(self, name: str, content: Json | None) -> None:
        facts = None if content is None else rule_facts(content)
        if facts is None or not facts.is_ours:
            _put(self._rules, name, facts)

    def _failed(self, uid: str, job: JobFacts) -> JobFacts:
        return after_evictions(job, self._failures[uid])

    def _marked(self, node: NodeFacts) -> NodeFacts:
        if node.name in self._tainted:
            node = tainted(node)
        if node.name in self._labelled:
            node = replace(node, labels={**node.labels, HEALTH_LABEL: SUSPECT})
        return node


def _unmarked(node: NodeFacts) -> NodeFacts:
    return replace(
        node,
        taints=tuple(one for one in node.taints if one.key != UNHEALTHY_TAINT),
        labels={key: value for key, value in node.labels.items() if key != HEALTH_LABEL},
        verdicts="",
    )


def placed_rule(action: Action) -> RuleFacts:
    """Return the DeviceTaintRule that an action places."""
    subject = action.subject
    selector = subject.driver, subject.pool, subject.device
    taint = Taint(UNHEALTHY_TAINT, "", action.effect)
    return RuleFacts(rule_name(subject), selector, taint, is_ours=True)


def after_evictions(job: JobFacts, count: int) -> JobFacts:
    """Return a Job with so many of its Pods evicted: each has failed, unless it ignores that."""
    return job if job.ignores else replace(job, retries=job.retries - count)


def tainted(node: NodeFacts) -> NodeFacts:
    """Return a node with our taint."""
    return replace(node, taints=(*node.taints, UNHEALTHY))


def matters(pod: PodFacts) -> bool:
    """Tell whether a Pod holds devices, or told of trouble with them when it ended.

    The controller looks at the same Pods.
    """
    holds = bool(pod.devices or pod.candidates or pod.has_claims)
    return holds and not (pod.finished and pod.trouble is None)


def _put(of: dict[str, _Value], key: str, value: _Value | None) -> None:
    if value is None:
        of.pop(key, None)
    else:
        of[key] = value
