"""Values that somebody else fills in before a Pod is made: what they decide cannot be judged yet.

Workflows and the like take parameters wherever a text stands: Argo's ``{{inputs.parameters.x}}``,
Tekton's ``$(params.x)``, ``${x}`` of others. Built-in kinds have nobody who would fill them in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from webhook.advice.findings.objects import TEMPLATES, is_custom
from webhook.advice.findings.view import View
from webhook.inventory.facts import mapping, mappings
from webhook.shapes import CONTAINER_LISTS

# What of a Pod decides which devices it gets; a placeholder anywhere else changes nothing of that.
_JUDGED: Final = (
    *("nodeSelector", "affinity", "tolerations", "priorityClassName", "priority", "os"),
    *("overhead", "resources", "resourceClaims"),
)
_JUDGED_OF_CONTAINER: Final = ("resources", "restartPolicy")

_BRACKETS: Final = (("{{", "}}"), ("$(", ")"), ("${", "}"))

_MAX_DEPTH: Final = 64


def rests_on_placeholders(view: View) -> bool:
    """Tell whether what devices a Pod gets is decided only when its operator makes it.

    Such a Pod is not to be judged as it is written: admission judges what comes of it.
    """
    is_made_later = is_custom(view.item) or TEMPLATES in view.object
    return is_made_later and rests_on(view.pod, _is_placeholder)


def rests_on(pod: object, is_open: Callable[[str], bool]) -> bool:
    """Tell whether texts that say nothing yet decide what devices a Pod gets.

    Args:
        pod: The Pod.
        is_open: Tells such a text.
    """
    spec = mapping(mapping(pod).get("spec"))
    containers = [
        container.get(field)
        for side in CONTAINER_LISTS
        for container in mappings(spec.get(side))
        for field in _JUDGED_OF_CONTAINER
    ]
    judged = (*(spec.get(field) for field in _JUDGED), *containers)
    return any(_has(value, is_open) for value in judged)


def _has(value: object, is_open: Callable[[str], bool], depth: int = 0) -> bool:
    if isinstance(value, str):
        return is_open(value)
    if depth > _MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return any(_has(one, is_open, depth + 1) for entry in value.items() for one in entry)
    return isinstance(value, list) and any(_has(one, is_open, depth + 1) for one in value)


def _is_placeholder(text: str) -> bool:
    return any(closing in text.partition(opening)[2] for opening, closing in _BRACKETS)
