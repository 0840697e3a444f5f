"""A little cluster as values: it obeys actions, replaces Pods, and time goes on in it.

It keeps the truth (which device is sick, which monitor is silent) apart from what can be seen of
it, so that a law can compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from selection_spec.health import HealthPolicy
from tests.builders import DRIVER, GPU
from webhook.health.actions import Action, Doing
from webhook.health.fences import UNHEALTHY, is_tainted, rule_name
from webhook.health.gather import devices_of, remembered
from webhook.health.ledger import Ledger
from webhook.health.moment import Moment
from webhook.health.observed import Holdings, Observed
from webhook.health.records import State
from webhook.health.step import Step, step
from webhook.health.stored import record_text
from webhook.health.stored_ledger import ledger_of, ledger_text
from webhook.health.subjects import Subject, dra_subject, plugin_subject
from webhook.inventory.claim_facts import ClaimFacts
from webhook.inventory.facts import NodeCondition, NodeFacts, Taint
from webhook.inventory.pod_facts import Owner, PodFacts
from webhook.inventory.pod_trouble import Trouble
from webhook.inventory.rule_facts import RuleFacts
from webhook.inventory.slice_facts import DeviceFacts, SliceFacts
from webhook.inventory.taints import keeps_pods_away
from webhook.terms import HEALTH_LABEL, SUSPECT, UNHEALTHY_TAINT

START: Final = 1_800_000_000.0
WINDOW_S: Final = 60.0
"""For how long what befell Pods counts."""

PLUGIN_ROW: Final = "a100-80gb"
DRA_ROW: Final = "h100-80gb"

# How a sick device of a plugin shows: it is withheld, or only the Pod that has it is told. One of
# DRA shows by its driver's taint with this effect, or with the one that says: I cannot tell.
WITHHELD: Final = "withheld"
TOLD: Final = "told"
UNMONITORED: Final = "unmonitored"
_TOLD_OF = (WITHHELD, TOLD, "NoSchedule", "NoExecute")

FATAL, ERROR, WARNING = "GPUIsLost", "DStateProcess", "NTPProblem"
"""Conditions that are listened to, one of each severity."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a cluster is made of.

    Attributes:
        devices: On each node.
        serves_rules: Whether Kubernetes has DeviceTaintRules.
        names_devices: Whether kubelets write ``allocatedResourcesStatus``.
        on_failure: What each Pod's annotation says; there are as many Pods.
    """

    plugin_nodes: int = 2
    dra_nodes: int = 0
    devices: int = 2
    serves_rules: bool = True
    names_devices: bool = True
    on_failure: tuple[str, ...] = ("", "")


@dataclass(slots=True)
class Running:
    """A Pod and what befell it."""

    name: str
    namespace: str
    program: str
    on_failure: str
    generation: int = 0
    device: Subject | None = None
    crashes: tuple[float, ...] = ()
    rejected: float = 0.0

    @property
    def uid(self) -> str:
        return f"{self.name}-{self.generation}"


@dataclass
class Simulated:
    """The cluster; ``now`` is seconds since 1970.

    Attributes:
        sick: How each sick device shows.
        restarting: Nodes whose device plugin restarts.
        placed: Nodes that were tainted by an action.
        unmarked: What a person took our mark from.
        befallen: What befell Pods on a subject: when, and whose Pods they were.
    """

    shape: Shape
    now: float = START
    nodes: dict[str, NodeFacts] = field(default_factory=dict)
    conditions: dict[str, dict[str, str]] = field(default_factory=dict)
    sick: dict[Subject, str] = field(default_factory=dict)
    restarting: set[str] = field(default_factory=set)
    pods: list[Running] = field(default_factory=list)
    rules: dict[str, RuleFacts] = field(default_factory=dict)
    state: State = field(default_factory=State)
    ledger: str = ""
    placed: set[str] = field(default_factory=set)
    unmarked: set[Subject] = field(default_factory=set)
    befallen: dict[Subject, list[tuple[float, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for prefix, count in (("a", self.shape.plugin_nodes), ("h", self.shape.dra_nodes)):
            for number in range(count):
                name = f"{prefix}-{number}"
                capacity = {GPU: self.shape.devices} if prefix == "a" else {}
                self.nodes[name] = NodeFacts(name, uid=name, boot="1", capacity=capacity)
                self.conditions[name] = {}
        for number, on_failure in enumerate(self.shape.on_failure):
            namespace = f"team-{number % 2}"
            pod = Running(f"p{number}", namespace, f"{namespace}/ReplicaSet/w{number}", on_failure)
            pod.device = self._free_device()
            self.pods.append(pod)

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """By node its row."""
        return {name: (PLUGIN_ROW if name[0] == "a" else DRA_ROW,) for name in self.nodes}

    def devices(self, node: str) -> Iterator[Subject]:
        """Yield the devices of a node."""
        for number in range(self.shape.devices):
            if node[0] == "a":
                yield plugin_subject(node, GPU, f"GPU-{node}-{number}")
            else:
                yield dra_subject(node, DRIVER, node, f"gpu-{number}")

    def observed(self) -> Observed:
        """Return what can be seen of it."""
        slices = [
            SliceFacts(name, DRIVER, name, 1, 1, name, tuple(self._slice_devices(name)))
            for name in self.nodes
            if name[0] == "h"
        ]
        claims = [
            ClaimFacts(((pod.device.driver, pod.device.pool, pod.device.device),), pods=(pod.uid,))
            for pod in self.pods
            if pod.device is not None and pod.device.driver and not pod.rejected
        ]
        return Observed(
            nodes={name: self._seen(node) for name, node in self.nodes.items()},
            rows=self.rows,
            resources=frozenset({GPU}),
            pods=tuple(self._pod(pod, pod.device) for pod in self.pods if pod.device is not None),
            devices=devices_of(slices),
            holdings=Holdings(claims),
            rules=tuple(self.rules.values()) if self.shape.serves_rules else None,
        )

    def speaks_against(self, subject: Subject) -> bool:
        """Tell whether a subject is truly at fault as far as anybody can see it right now."""
        node = self.nodes[subject.node]
        if not node.ready:
            return False
        lately = {who for at, who in self.befallen.get(subject, ()) if self.now - at < WINDOW_S}
        if lately and (subject.is_node or len(lately) > 1):
            return True
        if subject.is_node:
            return any(self.conditions[node.name].get(one) == "True" for one in (FATAL, ERROR))
        if subject.resource and not subject.device:
            return 0 < self._allocatable(node) < node.capacity[GPU]
        is_told = (
            self.shape.names_devices
            and node.name not in self.restarting
            and (not subject.resource or self._allocatable(node) > 0)
            and any(pod.device == subject and not pod.rejected for pod in self.pods)
        )
        how = self.sick.get(subject)
        return how in ("NoSchedule", "NoExecute") or (how in _TOLD_OF and is_told)

    def is_fenced(self, subject: Subject) -> bool:
        """Tell whether no new Pod can come to a subject."""
        return is_tainted(self.nodes[subject.node]) or self.is_kept(subject)

    def is_kept(self, subject: Subject) -> bool:
        """Tell whether no new Pod can come to a device, whatever its node's taints are."""
        node = self.nodes[subject.node]
        rule = self.rules.get(rule_name(subject))
        return (
            (rule is not None and keeps_pods_away(rule.taint))
            or (bool(subject.resource) and 0 < self._allocatable(node) < node.capacity[GPU])
            or (not self.shape.serves_rules and self.sick.get(subject) in _TOLD_OF[2:])
        )

    def step(self, policy: HealthPolicy, *, restarts: bool = False) -> Step:
        """Plan one step; a process that restarts knows only what was written down."""
        if restarts:
            self.state = remembered(self.nodes, ledger_of(self.ledger) or Ledger())
        return step(Moment(self.observed(), policy, self.now), self.state)

    def obey(self, taken: Step) -> None:
        """Write down what is to be remembered, do what was planned, and replace Pods."""
        self._write(taken.state)
        for action in taken.actions:
            self._obey(action)
        self._schedule()

    def _write(self, state: State) -> None:
        former, self.state, self.ledger = self.state, state, ledger_text(state.ledger)
        for name, node in self.nodes.items():
            record, before = state.records.get(name), former.records.get(name)
            labels = dict(node.labels)
            if record is not None and record.label:
                # A label that was seen and is gone would be a waiver: it is placed once.
                if not (before is not None and before.label):
                    labels[HEALTH_LABEL] = SUSPECT
            elif before is not None and before.label:
                labels.pop(HEALTH_LABEL, None)
            text = "" if record is None else record_text(record, self.now)
            self.nodes[name] = replace(node, labels=labels, verdicts=text)

    def _obey(self, action: Action) -> None:
        subject, node = action.subject, self.nodes[action.subject.node]
        match action.doing:
            case Doing.TAINT:
                self.nodes[node.name] = replace(node, taints=(UNHEALTHY,))
                self.placed.add(node.name)
            case Doing.UNTAINT:
                assert node.name in self.placed, f"{node.name} was tainted by somebody else"
                self.nodes[node.name] = replace(node, taints=())
                self.placed.discard(node.name)
            case Doing.RULE:
                taint = Taint(UNHEALTHY_TAINT, "", action.effect)
                selector = subject.driver, subject.pool, subject.device
                name = rule_name(subject)
                self.rules[name] = RuleFacts(name, selector, taint, is_ours=True)
            case Doing.UNRULE:
                del self.rules[rule_name(subject)]
            case Doing.EVICT:
                self._replace(action)
            case Doing.REMOVE:
                assert action.pod is not None
                self.pods = [pod for pod in self.pods if pod.uid != action.pod.uid]

    def _replace(self, action: Action) -> None:
        for pod in self.pods:
            if action.pod is not None and pod.uid == action.pod.uid:
                pod.generation += 1
                pod.device, pod.crashes = None, ()

    def _schedule(self) -> None:
        for pod in self.pods:
            if pod.device is None:
                pod.device = self._free_device()

    def _free_device(self) -> Subject | None:
        """Return a device for a new Pod as scheduler and kubelet find one: nothing sick."""
        held = {pod.device for pod in self.pods if not pod.rejected}
        for name, node in self.nodes.items():
            if is_tainted(node) or not node.ready or name in self.restarting:
                continue
            for device in self.devices(name):
                rule = self.rules.get(rule_name(device))
                is_kept = rule is not None and keeps_pods_away(rule.taint)
                if not (device in held or device in self.sick or is_kept):
                    return device
        return None

    def _seen(self, node: NodeFacts) -> NodeFacts:
        conditions = tuple(
            NodeCondition(type_, status, since=START)
            for type_, status in self.conditions[node.name].items()
        )
        counts = {GPU: self._allocatable(node)} if node.capacity else {}
        return replace(node, conditions=conditions, allocatable=counts)

    def _allocatable(self, node: NodeFacts) -> int:
        if node.name in self.restarting:
            return 0
        gone = sum(one.node == node.name and how == WITHHELD for one, how in self.sick.items())
        return node.capacity[GPU] - gone

    def _slice_devices(self, node: str) -> Iterable[DeviceFacts]:
        for device in self.devices(node):
            shown = self.sick.get(device)
            taints = () if shown is None else (driver_taint(shown),)
            yield DeviceFacts(device.device, taints=taints)

    def _pod(self, pod: Running, device: Subject) -> PodFacts:
        return PodFacts(
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            owner=Owner("ReplicaSet", f"w-{pod.name}", f"w-{pod.name}"),
            node=device.node,
            devices={GPU: 1} if device.resource else {},
            finished=bool(pod.rejected),
            trouble=self._trouble(pod, device),
            on_failure=pod.on_failure,
            program=pod.program,
        )

    def _trouble(self, pod: Running, device: Subject) -> Trouble | None:
        names = self.shape.names_devices and not pod.rejected
        is_sick = self.sick.get(device) in _TOLD_OF or device.node in self.restarting
        of_claim = f"{device.driver}/{device.pool}/{device.device}"
        entry = (device.resource, device.device) if device.resource else ("claim:x", of_claim)
        unhealthy = (entry,) if names and is_sick else ()
        if not (unhealthy or pod.crashes or pod.rejected):
            return None
        return Trouble(unhealthy, (entry,) if names else (), pod.crashes, pod.rejected)


def driver_taint(shown: str) -> Taint:
    """Return the taint by which a driver shows that a device is sick, or that it cannot tell."""
    if shown == UNMONITORED:
        return Taint("gpu.nvidia.com/unmonitored", "", "NoSchedule")
    return Taint("gpu.nvidia.com/xid", "79", shown)
