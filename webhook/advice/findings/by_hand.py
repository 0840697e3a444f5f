"""Pods that say by hand, line by line, what a spec says in one line and goes on to say."""

from __future__ import annotations

from collections.abc import Iterator

from selection_spec.denial import few
from selection_spec.documents import field_path
from selection_spec.table import Table
from webhook.advice.convert.proposal import Proposal, proposal
from webhook.advice.findings.rules_of_objects import BY_HAND
from webhook.advice.findings.spot import Spot
from webhook.advice.findings.views import View
from webhook.inventory.facts import mapping
from webhook.jsonpatch import Path
from webhook.shapes import CONTAINER_LISTS


def by_hand(view: View, table: Table) -> Iterator[Spot]:
    """Yield a spot where a spec means the same rows as a Pod's own selectors and tolerations."""
    if not any(resource in table.rivals for _, resource in _limits(view)):
        # Most Pods by far; to look for a spec takes as long as to judge one.
        return
    found = proposal(view, table)
    if found is None or not found.gone:
        # What chooses no nodes by hand loses nothing when labels change.
        return
    gone = few(field_path(view.place(path)) for path in found.gone)
    yield Spot(
        BY_HAND,
        view.place(_asking(view, found)),
        f"{found.resource} and what leads to its nodes by hand ({gone}) say what {found.key} says",
        "gpuspec convert shows how, and --write does it",
        view.owner,
        view.object,
    )


def _asking(view: View, found: Proposal) -> Path:
    """Return where the first container of a proposal asks for the resource."""
    asking = (path for path, resource in _limits(view) if resource == found.resource)
    return next(asking, ("spec",))


def _limits(view: View) -> Iterator[tuple[Path, str]]:
    """Yield what containers have under limits, each with its path in the Pod."""
    spec = mapping(view.pod.get("spec"))
    for name in CONTAINER_LISTS:
        containers = spec.get(name)
        for number, one in enumerate(containers if isinstance(containers, list) else ()):
            for key in mapping(mapping(mapping(one).get("resources")).get("limits")):
                yield ("spec", name, number, "resources", "limits", key), key
