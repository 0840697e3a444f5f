"""What is kept of a Pod: who made it, where it is, which devices it holds, what it tolerates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from selection_spec.demand import Kind, Need, peak
from selection_spec.labels import Toleration
from webhook.inventory.facts import Json, is_extended, mapping, mappings, whole
from webhook.terms import REQUEST_ANNOTATION

_FINISHED = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Owner:
    """Who controls a Pod: its controller's kind and name; the Pod itself where there is none."""

    kind: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        """Return it as kubectl writes it: ``ReplicaSet/web-5d4``."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What is kept of a Pod.

    Attributes:
        node: Where it is bound, "" while it is pending.
        devices: Extended resources at the Pod's peak (semantics A7), by name.
        candidates: Ids of the rows that admission found for it (R5); information, not permission.
        finished: Whether it is done for good and holds nothing any more.
    """

    namespace: str
    name: str
    uid: str
    owner: Owner
    node: str = ""
    devices: Mapping[str, int] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    priority: int = 0
    finished: bool = False

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


def pod_facts(pod: Json) -> PodFacts:
    """Read a raw Pod."""
    metadata, spec, status = (mapping(pod.get(part)) for part in ("metadata", "spec", "status"))
    priority = spec.get("priority")
    return PodFacts(
        namespace=intern(str(metadata.get("namespace") or "")),
        name=str(metadata.get("name") or ""),
        uid=str(metadata.get("uid") or ""),
        owner=_owner(metadata),
        node=intern(str(spec.get("nodeName") or "")),
        devices=_devices(spec),
        candidates=_candidates(mapping(metadata.get("annotations")).get(REQUEST_ANNOTATION)),
        tolerations=tolerations_of(spec),
        priority=priority if type(priority) is int else 0,
        finished=str(status.get("phase")) in _FINISHED,
    )


def tolerations_of(spec: Json) -> tuple[Toleration, ...]:
    """Read the tolerations of a raw Pod spec."""
    return tuple(map(_toleration, mappings(spec.get("tolerations"))))


def _owner(metadata: Json) -> Owner:
    for one in mappings(metadata.get("ownerReferences")):
        if one.get("controller") is True:
            kind, name, uid = (str(one.get(part) or "") for part in ("kind", "name", "uid"))
            # There is no end of Jobs, and Python 3.12 never lets go of what was interned.
            return Owner(intern(kind), name, uid)
    return Owner("Pod", str(metadata.get("name") or ""), str(metadata.get("uid") or ""))


def _devices(spec: Json) -> dict[str, int]:
    """Return what the containers ask for together at their peak (A7)."""
    needs = [
        Need(str(one.get("name")), _kind(one, of), of, raw=_raw(one))
        for of in ("initContainers", "containers")
        for one in mappings(spec.get(of))
    ]
    return {
        intern(name): peak(needs, name) for name in {name for one in needs for name, _ in one.raw}
    }


def _kind(container: Json, of: str) -> Kind:
    if of == "containers":
        return Kind.MAIN
    return Kind.SIDECAR if container.get("restartPolicy") == "Always" else Kind.INIT


def _raw(container: Json) -> tuple[tuple[str, int], ...]:
    limits = mapping(mapping(container.get("resources")).get("limits"))
    amounts = {name: whole(amount) for name, amount in limits.items() if is_extended(name)}
    return tuple(sorted((name, amount) for name, amount in amounts.items() if amount))


def _candidates(annotation: object) -> tuple[str, ...]:
    if not isinstance(annotation, str):
        return ()
    try:
        request: Any = json.loads(annotation)
    except (ValueError, RecursionError):
        return ()
    candidates = mapping(request).get("candidates")
    if not isinstance(candidates, list):
        return ()
    return tuple(intern(one) for one in candidates if isinstance(one, str))


def _toleration(one: Json) -> Toleration:
    def text(part: str) -> str | None:
        value = one.get(part)
        return intern(value) if isinstance(value, str) and value else None

    return Toleration(
        key=text("key") or "",
        operator=text("operator") or "Equal",
        value=text("value"),
        effect=text("effect"),
    )
