"""What is kept of a DaemonSet: where its Pods may run and what they tolerate (semantics H7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from selection_spec.labels import Operator, Requirement, Toleration, of_labels
from webhook.inventory.facts import Json, NodeFacts, Taint, mapping, mappings, texts
from webhook.inventory.matching import fulfils
from webhook.inventory.pod_facts import tolerations_of
from webhook.inventory.taints import is_transient, keeps_pods_away, tolerated

_OPERATORS = frozenset(Operator)


@dataclass(frozen=True, slots=True)
class DaemonFacts:
    """What is kept of a DaemonSet.

    Attributes:
        selector: Its template's ``nodeSelector``.
        terms: Its template's required node affinity, as far as it speaks of labels; None where it
            has none. What cannot be judged here counts as fulfilled: a DaemonSet is rather named
            once too often.
    """

    namespace: str
    name: str
    selector: Mapping[str, str] = field(default_factory=dict)
    terms: tuple[tuple[Requirement, ...], ...] | None = None
    tolerations: tuple[Toleration, ...] = ()

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    def runs_on(self, node: NodeFacts) -> bool:
        """Tell whether its Pods belong on a node as that is now."""
        labels = node.labels
        return (
            all(fulfils(labels, one) for one in of_labels(self.selector))
            and (
                self.terms is None
                or any(all(fulfils(labels, one) for one in term) for term in self.terms)
            )
            and all(
                tolerated(taint, self.tolerations)
                for taint in node.taints
                # The DaemonSet controller adds tolerations of these to its Pods.
                if keeps_pods_away(taint) and not is_transient(taint)
            )
        )

    def tolerates(self, taint: Taint) -> bool:
        """Tell whether its Pods could start beside a taint."""
        return tolerated(taint, self.tolerations)


def daemon_facts(daemon_set: Json) -> DaemonFacts:
    """Read a raw DaemonSet (``apps/v1``)."""
    metadata = mapping(daemon_set.get("metadata"))
    template = mapping(mapping(daemon_set.get("spec")).get("template"))
    spec = mapping(template.get("spec"))
    return DaemonFacts(
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        selector=texts(spec.get("nodeSelector")),
        terms=_terms(spec),
        tolerations=tolerations_of(spec),
    )


def _terms(spec: Json) -> tuple[tuple[Requirement, ...], ...] | None:
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not isinstance(required, dict):
        return None
    return tuple(
        tuple(_requirement(one) for one in mappings(term.get("matchExpressions")) if _known(one))
        for term in mappings(required.get("nodeSelectorTerms"))
        if term  # an empty term matches nothing
    )


def _known(expression: Json) -> bool:
    return expression.get("operator") in _OPERATORS and isinstance(expression.get("key"), str)


def _requirement(expression: Json) -> Requirement:
    values = expression.get("values")
    return Requirement(
        expression["key"],
        Operator(expression["operator"]),
        tuple(map(str, values)) if isinstance(values, list) else (),
    )
