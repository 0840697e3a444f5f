"""Which nodes a Pod may go to, decided as the Kubernetes scheduler decides it.

Written from Kubernetes' own semantics (node affinity, taints and tolerations) and independent of
the product, so that a test may hold the product's output against it. That it agrees with the real
scheduler is itself tested (``tests/cluster/test_matcher_agrees.py``).

Room on the node (resources, ports, volumes) and preferences are no matter of this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]

_FILTERING_EFFECTS = ("NoSchedule", "NoExecute")  # PreferNoSchedule only lowers a score
_INTEGER = re.compile(r"-?[0-9]+")
_INT64 = range(-(2**63), 2**63)


def admitting_nodes(nodes: Iterable[Json], pod: Json) -> list[str]:
    """The names of the nodes that admit the Pod, in the order given."""
    return [node["metadata"]["name"] for node in nodes if admits(node, pod)]


def admits(node: Json, pod: Json) -> bool:
    """Whether the node's labels, name and taints let the Pod be scheduled there."""
    spec = pod["spec"]
    return (
        _selected(spec.get("nodeSelector") or {}, _labels(node))
        and _required_affinity_matches(spec.get("affinity") or {}, node)
        and _tolerated(node.get("spec", {}).get("taints") or (), spec.get("tolerations") or ())
    )


def _labels(node: Json) -> Mapping[str, str]:
    return node["metadata"].get("labels") or {}


def _selected(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in selector.items())


def _required_affinity_matches(affinity: Json, node: Json) -> bool:
    """No requirement matches every node; a requirement without terms matches none."""
    node_affinity = affinity.get("nodeAffinity") or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_term_matches(term, node) for term in required.get("nodeSelectorTerms") or ())


def _term_matches(term: Json, node: Json) -> bool:
    """Everything in a term must hold; a term with nothing in it matches no node."""
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    named = {"metadata.name": node["metadata"]["name"]}
    return all(_holds(e, _labels(node)) for e in expressions) and all(
        _holds(f, named) for f in fields
    )


def _holds(requirement: Json, labels: Mapping[str, str]) -> bool:
    key, values = requirement["key"], requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt" | "Lt" as operator:
            return _compares(operator, labels.get(key), values)
        case unknown:
            raise ValueError(f"the API server admits no node selector operator {unknown!r}")


def _compares(operator: str, label: str | None, values: Sequence[str]) -> bool:
    """Both sides are read as 64-bit integers; a label that is none does not match."""
    left, right = _integer(label), _integer(values[0])
    if left is None or right is None:
        return False
    return left > right if operator == "Gt" else left < right


def _integer(text: str | None) -> int | None:
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


def _tolerated(taints: Iterable[Json], tolerations: Sequence[Json]) -> bool:
    return all(
        any(_tolerates(toleration, taint) for toleration in tolerations)
        for taint in taints
        if taint["effect"] in _FILTERING_EFFECTS
    )


def _tolerates(toleration: Json, taint: Json) -> bool:
    """An empty effect stands for all effects, an empty key (with ``Exists``) for all keys."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    match toleration.get("operator") or "Equal":
        case "Exists":
            return True
        case "Equal":
            return (toleration.get("value") or "") == (taint.get("value") or "")
        case _:
            return False  # the numeric operators are off by default
