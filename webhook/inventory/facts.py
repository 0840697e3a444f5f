"""What is kept of cluster objects, and nothing else of them: the memory of a large cluster.

Every reader takes a raw object as the API server sends it and never raises on odd ones: a field of
a wrong shape counts as absent. Strings that many objects share are interned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from selection_spec.errors import QuantityError
from selection_spec.quantity import parse_quantity
from webhook.inventory.times import seconds
from webhook.terms import VERDICTS_ANNOTATION

Json = dict[str, Any]

# Conditions of the kubelet and of Kubernetes' network, which Kubernetes acts upon by itself.
_KUBERNETES_OWN = frozenset(
    {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"}
)


@dataclass(frozen=True, slots=True)
class Taint:
    """A node's taint."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """Return it as kubectl writes it: ``key=value:effect``."""
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


@dataclass(frozen=True, slots=True)
class NodeCondition:
    """A condition of a node; ``since`` is when its status changed last, in seconds since 1970."""

    type: str
    status: str
    reason: str = ""
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What is kept of a node.

    Attributes:
        capacity: Extended resources by name, whole devices; cpu, memory and the like are left out.
        allocatable: The same, as far as the kubelet hands them out: capacity less what is sick.
        ready: Whether its Ready condition is True.
        cordoned: Whether ``kubectl cordon`` keeps new Pods away.
        conditions: Those that Kubernetes itself does not set: what monitors say (H2).
        boot: Which boot of the machine this is (H3).
        verdicts: What the health module has written down about it (H11), as it wrote it.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    capacity: Mapping[str, int] = field(default_factory=dict)
    allocatable: Mapping[str, int] = field(default_factory=dict)
    ready: bool = True
    cordoned: bool = False
    uid: str = ""
    conditions: tuple[NodeCondition, ...] = ()
    boot: str = ""
    verdicts: str = ""


def node_facts(node: Json) -> NodeFacts:
    """Read a raw Node."""
    metadata, spec, status = (mapping(node.get(part)) for part in ("metadata", "spec", "status"))
    return NodeFacts(
        name=str(metadata.get("name", "")),
        labels=texts(metadata.get("labels")),
        taints=taints_of(node),
        capacity=_devices(status.get("capacity")),
        allocatable=_devices(status.get("allocatable")),
        ready=any(
            condition.get("type") == "Ready" and condition.get("status") == "True"
            for condition in mappings(status.get("conditions"))
        ),
        cordoned=spec.get("unschedulable") is True,
        uid=str(metadata.get("uid") or ""),
        conditions=_conditions(status),
        boot=str(mapping(status.get("nodeInfo")).get("bootID") or ""),
        verdicts=_text(mapping(metadata.get("annotations")).get(VERDICTS_ANNOTATION)),
    )


def taints_of(node: Json) -> tuple[Taint, ...]:
    """Read the taints of a raw Node, in their order."""
    return tuple(
        Taint(*(intern(str(taint.get(part) or "")) for part in ("key", "value", "effect")))
        for taint in mappings(mapping(node.get("spec")).get("taints"))
    )


def is_extended(resource: str) -> bool:
    """Tell whether a resource is one that a device plugin may offer: it has a domain."""
    return "/" in resource


# Far above any machine, and so that the sum over all nodes of a cluster fits the API's integers. A
# node that says more has this many, and its row's status says that perNode does not fit it.
_MOST_DEVICES = 1_000_000


def whole(amount: object) -> int:
    """Return an amount of devices as Kubernetes counts them, 0 where it is none, within reason."""
    try:
        quantity = parse_quantity(amount)
        return 0 if quantity.is_zero else min(quantity.count(), _MOST_DEVICES)
    except QuantityError:
        return 0


def mappings(value: object) -> Iterable[Json]:
    """Return the mappings of a list, none where it is no list."""
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def mapping(value: object) -> Json:
    """Return a mapping, an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def texts(value: object) -> dict[str, str]:
    """Return a mapping of texts such as labels, interned."""
    return {intern(str(key)): intern(str(text)) for key, text in mapping(value).items()}


def _conditions(status: Json) -> tuple[NodeCondition, ...]:
    return tuple(
        NodeCondition(
            type=intern(_text(one.get("type"))),
            status=intern(_text(one.get("status"))),
            reason=intern(_text(one.get("reason"))),
            since=seconds(one.get("lastTransitionTime")),
        )
        for one in mappings(status.get("conditions"))
        if _text(one.get("type")) not in _KUBERNETES_OWN
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _devices(value: object) -> dict[str, int]:
    return {
        intern(name): whole(amount) for name, amount in mapping(value).items() if is_extended(name)
    }
