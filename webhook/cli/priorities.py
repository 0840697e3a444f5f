"""Which priority a Pod will have, as far as a cluster tells: what admission decides by (D3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from selection_spec.table import Table
from webhook.admission.translate import Context
from webhook.cli.cluster import refusals
from webhook.inventory.facts import mapping
from webhook.inventory.priority_classes import PriorityClasses, priority_classes
from webhook.terms import PRIORITY_CLASSES_PATH

if TYPE_CHECKING:
    from webhook.kube.cluster import Cluster


def _none() -> None:
    """Without a cluster there is nothing to be known."""


@dataclass(frozen=True, slots=True)
class Priorities:
    """Fills in what the API server fills in before it asks the webhook.

    Attributes:
        table: Whose rules go by priority.
        classes: Returns the cluster's PriorityClasses, None where there are none to be seen.
    """

    table: Table
    classes: Callable[[], PriorityClasses | None] = _none

    def of_options(self, said: Context) -> Context:
        """Complete what was said of a Pod; a number that was said is believed."""
        if said.priority_class is None and said.priority is not None:
            return said
        return self._completed(said, said.priority_class, None)

    def of_pod(self, pod: dict[str, Any], said: Context) -> Context:
        """Complete what a Pod says itself, unless something else was said of it.

        Args:
            pod: A Pod that can be read, or a template.
            said: What is known of it; comes back as it is where nothing more can be known.
        """
        if said.priority_class is not None or said.priority is not None:
            return self.of_options(said)
        if mapping(pod.get("metadata")).get("uid"):
            return said  # It is stored, with what it was given.
        name, value = (pod["spec"].get(part) for part in ("priorityClassName", "priority"))
        return self._completed(
            said,
            name if isinstance(name, str) and name else None,
            value if type(value) is int else None,
        )

    def beside(self, objects: Iterable[object]) -> Priorities:
        """Return it for Pods that are applied together with these, PriorityClasses among them."""
        own = priority_classes(
            one for one in map(mapping, objects) if one.get("kind") == "PriorityClass"
        )

        def classes() -> PriorityClasses | None:
            found = self.classes()
            return None if found is None else found.with_new(own)

        return replace(self, classes=classes)

    def _completed(self, said: Context, name: str | None, value: int | None) -> Context:
        if name is None and value is None and not self.table.priorities:
            return said
        found = self.classes()
        if found is None:
            return said
        given = found.given(name, value)
        return replace(
            said,
            priority_class=given.name,
            priority=given.value if said.priority is None else said.priority,
            refusal=given.refusal,
        )


def priorities_of(cluster: Cluster, table: Table) -> Priorities:
    """Return what a cluster knows; it is asked when that is needed, and once.

    Raises:
        UnreadableError: Later, by the methods: the cluster does not answer.
    """
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

    @cache
    def classes() -> PriorityClasses | None:
        with refusals():
            try:
                return priority_classes(cluster.items(PRIORITY_CLASSES_PATH))
            except ApiError as error:
                if not error.is_forbidden:
                    raise
                click.echo(f"note: {error.message}; judged without them", err=True)
                return None

    return Priorities(table, classes)
