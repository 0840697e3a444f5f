"""Pods by who made them: what a person can act upon."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from selection_spec.errors import Level
from webhook.advice.verdicts import Fate, PodVerdict
from webhook.inventory.facts import mapping
from webhook.inventory.pod_facts import Owner, PodFacts

Json = dict[str, Any]

_HASH_LABEL = "pod-template-hash"
_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class OwnerChange:
    """Pods of one owner that share a fate and its reason.

    Attributes:
        owner: Such as ``Deployment/web``; the Pod itself where it has none.
        running: How many are bound to a node.
        pending: How many are not.
        pods: The names of the first few.
    """

    namespace: str
    owner: str
    verdict: PodVerdict
    running: int
    pending: int
    pods: tuple[str, ...]

    @property
    def count(self) -> int:
        """All of them."""
        return self.running + self.pending


def by_owner(judged: Iterable[tuple[Json, PodFacts, PodVerdict]]) -> tuple[OwnerChange, ...]:
    """Gather Pods by fate, reason and owner: the worst first, then the owners of most Pods."""
    groups: dict[tuple[PodVerdict, str, str], list[PodFacts]] = {}
    for pod, facts, verdict in judged:
        key = (verdict, facts.namespace, str(owner_of(pod, facts)))
        groups.setdefault(key, []).append(facts)
    changes = [
        OwnerChange(
            namespace=namespace,
            owner=owner,
            verdict=verdict,
            running=sum(1 for one in pods if one.node),
            pending=sum(1 for one in pods if not one.node),
            pods=tuple(one.name for one in pods[:_EXAMPLES]),
        )
        for (verdict, namespace, owner), pods in groups.items()
    ]
    worst, levels = list(Fate), (Level.ERROR, Level.WARNING, None)
    return tuple(
        sorted(
            changes,
            key=lambda one: (
                worst.index(one.verdict.fate),
                levels.index(one.verdict.level),
                one.verdict.reason,
                -one.count,
                one.namespace,
                one.owner,
            ),
        )
    )


def owner_of(pod: Json, facts: PodFacts) -> Owner:
    """Return who made a Pod; for a Deployment's ReplicaSet the Deployment, as its hash tells."""
    suffix = f"-{mapping(mapping(pod.get('metadata')).get('labels')).get(_HASH_LABEL)}"
    if facts.owner.kind == "ReplicaSet" and facts.owner.name.endswith(suffix):
        return Owner("Deployment", facts.owner.name.removesuffix(suffix))
    return facts.owner
