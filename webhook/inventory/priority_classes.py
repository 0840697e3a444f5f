"""PriorityClasses, and what the API server makes of them before it asks any webhook (D3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from selection_spec.errors import Problem
from webhook.inventory.facts import Json, mapping


@dataclass(frozen=True, slots=True)
class Priority:
    """A Pod's priority.

    Attributes:
        name: Its class, None for none.
        value: Its number, None where the Pod is refused.
        refusal: Why the API server refuses the Pod over it, in its own words; None if it does not.
    """

    name: str | None = None
    value: int | None = None
    refusal: Problem | None = None


@dataclass(frozen=True, slots=True)
class PriorityClasses:
    """Those of a cluster.

    Attributes:
        values: The number of each, by its name.
        default: The one of Pods that name none, None where such Pods have no class and zero.
    """

    values: Mapping[str, int] = field(default_factory=dict)
    default: str | None = None

    def given(self, name: str | None, value: int | None = None) -> Priority:
        """Return what a new Pod is given by the admission plugin Priority (k8s).

        Args:
            name: The class that the Pod names.
            value: The number that it says itself, which has to be the right one.
        """
        own = name or self.default
        if own is not None and own not in self.values:
            return Priority(own, refusal=_refusal(f"no PriorityClass with name {own} was found"))
        computed = 0 if own is None else self.values[own]
        if value not in (None, computed):
            text = (
                f"the integer value of priority ({value}) must not be provided in pod spec; "
                f"priority admission controller computed {computed} from the given PriorityClass "
                "name"
            )
            return Priority(own, refusal=_refusal(text))
        return Priority(own, computed)

    def with_new(self, others: PriorityClasses) -> PriorityClasses:
        """Return them after others were applied, too."""
        return PriorityClasses({**self.values, **others.values}, others.default or self.default)


def priority_classes(objects: Iterable[Json]) -> PriorityClasses:
    """Read raw PriorityClasses (``scheduling.k8s.io/v1``); others are passed over.

    Of several defaults that with the smallest number is the default (k8s).
    """
    values: dict[str, int] = {}
    defaults = []
    for one in objects:
        name, value = mapping(one.get("metadata")).get("name"), one.get("value")
        if isinstance(name, str) and type(value) is int:
            values[name] = value
            if one.get("globalDefault") is True:
                defaults.append(name)
    return PriorityClasses(values, min(defaults, key=values.__getitem__, default=None))


def _refusal(text: str) -> Problem:
    return Problem(text, path="spec.priorityClassName", rule="D3")
