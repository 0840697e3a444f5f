"""Whose eviction a PodDisruptionBudget would refuse at this moment (H9).

The controller learns that by asking for the eviction. Whoever only looks works it out from what the
API server would go by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from selection_spec.labels import Operator, Requirement, of_labels
from webhook.inventory.facts import Json, mapping, mappings


@dataclass(frozen=True, slots=True)
class PodState:
    """What the API server goes by of a Pod that is to be evicted."""

    labels: Mapping[str, str] = field(default_factory=dict)
    is_running: bool = True
    is_ready: bool = False


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget.

    Attributes:
        selector: What a Pod's labels have to be, all of it; None where no Pod is meant.
        allowed: How many of its Pods may be disrupted now.
        frees_unhealthy: Whether Pods that are not Ready may go, whatever is allowed.
    """

    namespace: str
    name: str
    selector: tuple[Requirement, ...] | None
    allowed: int
    frees_unhealthy: bool

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a Pod of its namespace with these labels is one of its Pods."""
        return self.selector is not None and all(_fits(one, labels) for one in self.selector)


def disruption_budget(raw: Json) -> DisruptionBudget:
    """Read a raw PodDisruptionBudget (``policy/v1``)."""
    metadata, spec, status = (mapping(raw.get(part)) for part in ("metadata", "spec", "status"))
    selector = spec.get("selector")
    desired, healthy = (_whole(status.get(name)) for name in ("desiredHealthy", "currentHealthy"))
    # As the API server has it: by default a Pod that is not Ready goes where enough others are.
    is_always = spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
    # What the controller of budgets has not looked at yet allows nothing.
    is_stale = _whole(status.get("observedGeneration")) < _whole(metadata.get("generation"))
    return DisruptionBudget(
        str(metadata.get("namespace") or ""),
        str(metadata.get("name") or ""),
        _requirements(selector) if isinstance(selector, dict) else None,
        0 if is_stale else _whole(status.get("disruptionsAllowed")),
        is_always or healthy >= desired > 0,
    )


def pod_state(raw: Json) -> PodState:
    """Read what counts of a raw Pod."""
    metadata, status = mapping(raw.get("metadata")), mapping(raw.get("status"))
    labels = mapping(metadata.get("labels"))
    conditions = mappings(status.get("conditions"))
    return PodState(
        {key: value for key, value in labels.items() if isinstance(value, str)},
        is_running=status.get("phase") == "Running",
        is_ready=any(
            one.get("type") == "Ready" and one.get("status") == "True" for one in conditions
        ),
    )


def refusal(namespace: str, pod: PodState, budgets: Iterable[DisruptionBudget]) -> str:
    """Return why a Pod's eviction would be refused now; "" where nothing would refuse it."""
    mine = [one for one in budgets if one.namespace == namespace and one.selects(pod.labels)]
    if not (pod.is_running and mine):
        return ""
    if len(mine) > 1:
        names = ", ".join(sorted(one.key for one in mine))
        return (
            f"more than one PodDisruptionBudget is about it ({names}): Kubernetes never evicts it"
        )
    (budget,) = mine
    if budget.allowed > 0 or (not pod.is_ready and budget.frees_unhealthy):
        return ""
    said = f"the PodDisruptionBudget {budget.key} allows no disruption now"
    if pod.is_ready:
        return said
    return f"{said}; it is not Ready: unhealthyPodEvictionPolicy: AlwaysAllow there lets it go"


def _requirements(selector: Json) -> tuple[Requirement, ...]:
    labels = mapping(selector.get("matchLabels"))
    plain = of_labels({key: str(value) for key, value in labels.items()})
    return (*plain, *map(_requirement, mappings(selector.get("matchExpressions"))))


def _requirement(raw: Json) -> Requirement:
    values = raw.get("values")
    return Requirement(
        str(raw.get("key") or ""),
        Operator(str(raw.get("operator"))),
        tuple(map(str, values)) if isinstance(values, list) else (),
    )


def _fits(one: Requirement, labels: Mapping[str, str]) -> bool:
    if one.key not in labels:
        return one.operator in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
    return one.admits(labels[one.key])


def _whole(value: object) -> int:
    return value if type(value) is int else 0
