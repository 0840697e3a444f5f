"""Argo: each template has one container, script or set of them, and may say where it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.advice.findings.kinds.assembly import (
    PLACING,
    Container,
    assembled,
    merged,
    named,
)
from webhook.advice.findings.objects import Object
from webhook.advice.findings.view import View, numbered
from webhook.inventory.facts import Json, mapping
from webhook.jsonpatch import Path

# Of these an empty one is heard, too: Argo asks whether they are there at all.
_HEARD_EMPTY: Final = ("affinity", "priority")

# What the template that a step stands in says for it.
_OF_PARENT: Final = ("nodeSelector", "affinity", "tolerations")

# The workflow's own priority is its place in the controller's queue.
_OF_WORKFLOW: Final = {"priorityClassName": "podPriorityClassName", "priority": "podPriority"}


def workflow(one: Object) -> Iterator[View]:
    """Yield the Pods of a workflow's templates, of those within steps and tasks as well."""
    root = one.part(("spec", "workflowSpec") if one.kind == "CronWorkflow" else ("spec",))
    defaults = Object(mapping(root.value.get("templateDefaults")), (*root.path, "templateDefaults"))
    for template, parent in _templates(root):
        main = list(_main_of(template, defaults))
        if main:
            path, value = template.path, template.value
            sidecars = named(value.get("sidecars"), (*path, "sidecars"), "sidecar")
            inits = named(value.get("initContainers"), (*path, "initContainers"), "init")
            placed = _placed(value, defaults.value, parent, root.value)
            yield assembled(one, path, placed, [*main, *sidecars], list(inits))


def _templates(root: Object) -> Iterator[tuple[Object, Json]]:
    """Yield templates, each with the one that it stands in; {} where it stands in none."""
    for number, value in numbered(root.value.get("templates")):
        template = Object(value, (*root.path, "templates", number))
        yield template, {}
        for inline in _inline(template):
            yield inline, value


def _inline(template: Object) -> Iterator[Object]:
    """Yield the templates that are written out in a template's steps and tasks."""
    steps = template.value.get("steps")
    lists: list[tuple[object, Path]] = [
        (group, ("steps", number))
        for number, group in enumerate(steps if isinstance(steps, list) else ())
    ]
    lists.append((mapping(template.value.get("dag")).get("tasks"), ("dag", "tasks")))
    for items, path in lists:
        for number, item in numbered(items):
            if isinstance(item.get("inline"), dict):
                yield Object(item["inline"], (*template.path, *path, number, "inline"))


def _main_of(template: Object, defaults: Object) -> Iterator[Container]:
    for part in ("container", "script"):
        held = template.value.get(part)
        if isinstance(held, dict):
            path = (*template.path, part)
            own = (held.get("resources"), (*path, "resources"))
            common = defaults.part((part,))
            others = (common.value.get("resources"), (*common.path, "resources"))
            yield merged({"name": "main", **held}, path, [own], others)
    of_set = mapping(template.value.get("containerSet")).get("containers")
    yield from named(of_set, (*template.path, "containerSet", "containers"), "main")


def _placed(template: Json, defaults: Json, parent: Json, root: Json) -> Json:
    """Return what says where a template's Pod runs, field by field what is said closest to it."""
    selectors = [part.get("nodeSelector") for part in (defaults, template)]
    if all(isinstance(one, dict) for one in selectors):
        template = {**template, "nodeSelector": {**mapping(selectors[0]), **mapping(selectors[1])}}
    placed: Json = {}
    for name in PLACING:
        around = parent.get(name) if name in _OF_PARENT else None
        far = root.get(_OF_WORKFLOW.get(name, name))
        said = (template.get(name), defaults.get(name), around, far)
        heard = (one for one in said if (one is not None if name in _HEARD_EMPTY else one))
        if (value := next(heard, None)) is not None:
            placed[name] = value
    return placed
