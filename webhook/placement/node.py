"""Where a Pod may run: selectors, affinity, tolerations (semantics N2, N3, N5, N6, N9, C4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from selection_spec.demand import Term
from selection_spec.errors import Problem
from selection_spec.labels import Toleration
from selection_spec.resolution import Resolution
from selection_spec.rows import CLAIMS
from webhook.jsonpatch import Edit, Extend, Put
from webhook.selectors import (
    PREFERRED,
    REQUIRED,
    alternatives,
    narrowed,
    node_selector,
    required_terms,
    within,
)
from webhook.terms import HEALTH_LABEL, MAX_NODE_TERMS, RESERVED_TAINT, SUSPECT

_NODE_AFFINITY = ("spec", "affinity", "nodeAffinity")
_HIGHEST_WEIGHT = 100

# Up to four cost steps; every weight outvotes all that follow, and Kubernetes' own spreading (N6).
_FEW_WEIGHTS = (100, 10, 1)

_HEALTH_PREFERENCE = {
    "weight": 1,
    "preference": {
        "matchExpressions": [{"key": HEALTH_LABEL, "operator": "NotIn", "values": [SUSPECT]}]
    },
}


@dataclass(frozen=True, slots=True)
class NodePlacement:
    """What a resolution asks of a Pod, whatever the Pod already says.

    Attributes:
        terms: The candidates' nodes as alternatives; none where devices decide the node (C4).
    """

    terms: tuple[Term, ...]
    tolerations: tuple[Toleration, ...]
    preferred: tuple[dict[str, Any], ...]


def plan(resolution: Resolution, *, nodes_first: bool = False) -> NodePlacement:
    """Write the candidates of a resolution in the Pod's terms.

    Args:
        resolution: One that did not fail.
        nodes_first: Whether the Pod's node is chosen before the scheduler sees its claims, so that
            devices cannot decide it (N8).
    """
    rows = resolution.candidates
    by_devices = rows[0].pool == CLAIMS and not nodes_first
    return NodePlacement(
        terms=() if by_devices else alternatives(row.nodes for row in rows),
        tolerations=_tolerations(resolution),
        preferred=tuple(_preferred(resolution)),
    )


def edits(pod: dict[str, Any], placement: NodePlacement) -> list[Edit]:
    """Return what places the Pod on the candidates' nodes, an AND with all it says itself.

    An affinity that would have too many terms is the business of ``too_many_terms``.
    """
    spec = pod["spec"]
    return [
        *_required(spec, placement.terms),
        *_tolerate(spec, placement.tolerations),
        *_prefer(spec, placement.preferred),
    ]


def too_many_terms(pod: dict[str, Any], placement: NodePlacement) -> Problem | None:
    """Return the problem of a Pod whose terms times ours are more than 64 (N3)."""
    spec = pod["spec"]
    terms = required_terms(spec)
    ours = placement.terms
    if (
        not ours
        or not terms
        or narrowed(terms, node_selector(spec), ours, MAX_NODE_TERMS) is not None
    ):
        return None
    return Problem(
        f"the Pod's own node affinity has {len(terms)} terms and the devices that fit need "
        f"{len(ours)} alternatives: more than {MAX_NODE_TERMS} terms together",
        path=".".join((*_NODE_AFFINITY, REQUIRED)),
        hint="write fewer terms, or name a device",
        rule="N3",
    )


def _required(spec: dict[str, Any], ours: Sequence[Term]) -> Iterator[Edit]:
    """N2 and N3: nodeSelector for one alternative of plain labels, else required affinity."""
    if not ours:
        return
    selector = node_selector(spec)
    if len(ours) == 1 and all(one.is_plain for one in ours[0]):
        for one in ours[0]:
            if one not in selector:
                yield Put(("spec", "nodeSelector", one.key), one.values[0], "N2")
        return
    terms = required_terms(spec)
    path = (*_NODE_AFFINITY, REQUIRED, "nodeSelectorTerms")
    if terms is None:
        if not within(selector, ours):
            whole = [{"matchExpressions": [one.to_json() for one in term]} for term in ours]
            yield Put(path, whole, "N2")
    elif terms:
        together = narrowed(terms, selector, ours, MAX_NODE_TERMS)
        if together is not None and together != terms:
            yield Put(path, together, "N3")


def _tolerations(resolution: Resolution) -> tuple[Toleration, ...]:
    """N5 and N9: the candidates' own, and the reserve taint of those that the Pod named."""
    rows = resolution.candidates
    own = [toleration for row in rows for toleration in row.tolerations]
    named = {row.id for row in resolution.table.select(resolution.named)}
    reserved = [
        Toleration(RESERVED_TAINT, "Equal", row.id, "NoSchedule") for row in rows if row.id in named
    ]
    return tuple(dict.fromkeys((*own, *reserved)))


def _tolerate(spec: dict[str, Any], ours: Sequence[Toleration]) -> Iterator[Edit]:
    there = spec.get("tolerations")
    existing = there if isinstance(there, list) else []
    missing = tuple(
        toleration.to_json()
        for toleration in ours
        if not any(covers(other, toleration) for other in existing)
    )
    if missing:
        yield Extend(("spec", "tolerations"), missing, "N5")


def covers(existing: object, wanted: Toleration) -> bool:
    """Tell whether a toleration that is there tolerates all that ours would (N5)."""
    if not isinstance(existing, dict) or existing.get("tolerationSeconds") is not None:
        return False
    if existing.get("effect") and existing["effect"] != wanted.effect:
        return False
    operator = existing.get("operator") or "Equal"
    if operator == "Exists":
        return not existing.get("key") or existing["key"] == wanted.key
    return (
        operator == wanted.operator == "Equal"
        and existing.get("key") == wanted.key
        and (existing.get("value") or "") == (wanted.value or "")
    )


def _preferred(resolution: Resolution) -> Iterator[dict[str, Any]]:
    """N6: cumulative terms, a weight a cost step but the last; then away from suspect nodes."""
    if resolution.table.prefer_cheaper:
        rows = resolution.candidates
        steps = sorted({row.cost for row in rows})
        for cost, weight in zip(steps, weights(len(steps)), strict=False):
            for term in alternatives(row.nodes for row in rows if row.cost <= cost):
                expressions = [one.to_json() for one in term]
                yield {"weight": weight, "preference": {"matchExpressions": expressions}}
    if resolution.table.has_health:
        yield _HEALTH_PREFERENCE


def weights(steps: int) -> tuple[int, ...]:
    """Return the weights of the first n−1 of n cost steps: geometric, from 100 down to 1 (N6)."""
    if steps - 1 <= len(_FEW_WEIGHTS):
        return _FEW_WEIGHTS[: max(0, steps - 1)]
    return tuple(
        max(1, round(_HIGHEST_WEIGHT ** (1 - place / (steps - 2)))) for place in range(steps - 1)
    )


def _prefer(spec: dict[str, Any], ours: Sequence[dict[str, Any]]) -> Iterator[Edit]:
    node: Any = spec
    for key in ("affinity", "nodeAffinity", PREFERRED):
        node = node.get(key) if isinstance(node, dict) else None
    existing = node if isinstance(node, list) else []
    missing = tuple(term for term in ours if term not in existing)
    if missing:
        yield Extend((*_NODE_AFFINITY, PREFERRED), missing, "N6")
