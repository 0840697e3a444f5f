"""The state of the cluster that health is judged by, as values (semantics H2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from selection_spec.labels import Toleration
from webhook.health.subjects import Kind, Subject, dra_subject
from webhook.inventory.claim_facts import ClaimFacts
from webhook.inventory.daemon_facts import DaemonFacts
from webhook.inventory.facts import NodeFacts, Taint
from webhook.inventory.job_facts import JobFacts
from webhook.inventory.pod_facts import PodFacts
from webhook.inventory.rule_facts import RuleFacts
from webhook.inventory.slice_facts import SliceFacts

DeviceKey = tuple[str, str, str]
"""Driver, pool and name of a device."""


class Devices:
    """What DRA drivers offer on nodes, to be looked up in.

    A device that is on no single node is left out: nothing could be done for it on a node.

    Args:
        slices: Those that count (``slice_facts.current``).
    """

    def __init__(self, slices: Iterable[SliceFacts] = ()) -> None:
        self.nodes: dict[DeviceKey, str] = {}
        self.tainted: dict[DeviceKey, tuple[Taint, ...]] = {}
        self.counts: dict[tuple[str, str], int] = defaultdict(int)
        self.pools: set[tuple[str, str]] = set()
        for one in slices:
            if not one.node:
                continue
            self.counts[one.node, one.driver] += len(one.devices)
            self.pools.add((one.driver, one.pool))
            for device in one.devices:
                key = one.driver, one.pool, device.name
                self.nodes[key] = one.node
                if device.taints:
                    self.tainted[key] = device.taints

    def is_gone(self, subject: Subject) -> bool:
        """Tell whether a device's driver no longer offers it, though it offers what else it has.

        A driver without anything on the node is being restarted, or gone: nobody can tell.
        """
        key = subject.driver, subject.pool, subject.device
        is_there = key[:2] in self.pools or (subject.node, subject.driver) in self.counts
        return bool(subject.driver) and key not in self.nodes and is_there

    def subject(self, key: DeviceKey) -> Subject | None:
        """Return a device as a subject; None where it is on no node."""
        node = self.nodes.get(key)
        return None if node is None else dra_subject(node, *key)


class Holdings:
    """Who holds which device by a claim, to be looked up in.

    ``tolerations`` has the taints that the claim puts up with on a device, by the Pod's uid and the
    device; ``lasting`` the same pairs where the claim was not made for that Pod, and outlives it.
    """

    def __init__(self, claims: Iterable[ClaimFacts] = ()) -> None:
        self.pods: dict[DeviceKey, list[str]] = defaultdict(list)
        self.devices: dict[str, list[DeviceKey]] = defaultdict(list)
        self.tolerations: dict[tuple[str, DeviceKey], tuple[Toleration, ...]] = {}
        self.lasting: set[tuple[str, DeviceKey]] = set()
        for claim in claims:
            for key in claim.devices:
                self.pods[key] += claim.pods
            for uid in claim.pods:
                self.devices[uid] += claim.devices
                for key, tolerations in claim.tolerations:
                    self.tolerations[uid, key] = tolerations
                if not claim.is_of_pod:
                    self.lasting.update((uid, key) for key in claim.devices)


@dataclass(frozen=True)
class Observed:
    """What there is right now.

    Attributes:
        nodes: The nodes of the table's rows, by name.
        rows: By node the ids of its rows.
        resources: The extended resources of the table's rows.
        drivers: The DRA drivers whose devices are GPUs; none stands for all.
        pods: Pods on these nodes that hold or held devices, rejected ones among them.
        rules: The DeviceTaintRules; None where Kubernetes has none (H7).
        jobs: Those whose Pods may be evicted, by uid, as far as they were looked up.
        daemons: DaemonSets, which a taint may lock out.
    """

    nodes: Mapping[str, NodeFacts] = field(default_factory=dict)
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    resources: frozenset[str] = frozenset()
    drivers: frozenset[str] = frozenset()
    pods: Sequence[PodFacts] = ()
    devices: Devices = field(default_factory=Devices)
    holdings: Holdings = field(default_factory=Holdings)
    rules: Sequence[RuleFacts] | None = None
    jobs: Mapping[str, JobFacts] = field(default_factory=dict)
    daemons: Sequence[DaemonFacts] = ()

    def judges(self, subject: Subject) -> bool:
        """Tell whether a subject is on a node of ours, and none of another kind of device."""
        is_gpu = not (subject.driver and self.drivers) or subject.driver in self.drivers
        return is_gpu and subject.node in self.nodes

    @cached_property
    def our_rules(self) -> Mapping[str, RuleFacts]:
        """The DeviceTaintRules that have our label, by name."""
        return {one.name: one for one in self.rules or () if one.is_ours}

    @cached_property
    def by_uid(self) -> Mapping[str, PodFacts]:
        """The Pods by uid."""
        return {pod.uid: pod for pod in self.pods}

    @cached_property
    def by_node(self) -> Mapping[str, Sequence[PodFacts]]:
        """The Pods by node."""
        found: dict[str, list[PodFacts]] = defaultdict(list)
        for pod in self.pods:
            found[pod.node].append(pod)
        return found

    @cached_property
    def row_nodes(self) -> Mapping[str, int]:
        """How many nodes each row has."""
        return self._sums(lambda _: 1)

    @cached_property
    def row_devices(self) -> Mapping[str, int]:
        """How many devices each row's nodes have, by whomever they are offered."""
        return self._sums(self._devices_of)

    def size(self, row: str, kind: Kind) -> int:
        """Return how many nodes or devices a row has."""
        return (self.row_nodes if kind is Kind.NODE else self.row_devices).get(row, 0)

    def _devices_of(self, node: NodeFacts) -> int:
        by_plugin = sum(node.capacity.get(one, 0) for one in self.resources)
        drivers = self.drivers or {driver for _, driver in self.devices.counts}
        by_driver = (self.devices.counts.get((node.name, one), 0) for one in drivers)
        # The same cards, where several offer them.
        return max(by_plugin, *by_driver, 0)

    def _sums(self, of: Callable[[NodeFacts], int]) -> dict[str, int]:
        found: dict[str, int] = defaultdict(int)
        for name, rows in self.rows.items():
            node = self.nodes.get(name)
            if node is not None:
                for row in rows:
                    found[row] += of(node)
        return found
