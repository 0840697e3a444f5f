"""Tekton: the steps of a task are the containers of one Pod; a run says more of them by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from webhook.advice.findings.kinds.assembly import (
    Container,
    Resources,
    assembled,
    merged,
    placing,
)
from webhook.advice.findings.objects import Object
from webhook.advice.findings.view import View, numbered
from webhook.inventory.facts import Json, mapping

_NOTHING: Final = Object({}, ())
_NO_RESOURCES: Final[Resources] = (None, ())

# A task's parts, what one without a name is called, and what runs call their say in them.
_PARTS: Final = (
    ("steps", "step", ("stepOverrides", "stepSpecs")),
    ("sidecars", "sidecar", ("sidecarOverrides", "sidecarSpecs")),
)


def task(one: Object) -> Iterator[View]:
    """Yield the Pod of a task."""
    yield from _pods(one, one.part(("spec",)), _NOTHING, {})


def task_run(one: Object) -> Iterator[View]:
    """Yield the Pod of a run: of the task in it, or what it says of a task elsewhere."""
    run = one.part(("spec",))
    placed = placing(mapping(run.value.get("podTemplate")))
    yield from _pods(one, one.part(("spec", "taskSpec")), run, placed)


def pipeline(one: Object) -> Iterator[View]:
    """Yield the Pods of the tasks that are written out in a pipeline."""
    for _, inner in _tasks(one.part(("spec",))):
        yield from _pods(one, inner, _NOTHING, {})


def pipeline_run(one: Object) -> Iterator[View]:
    """Yield the Pods of a pipeline's run: of the tasks in it, and what it says of others."""
    spec = one.part(("spec",))
    of_all = one.part(("spec", "taskRunTemplate", "podTemplate")).value
    placed = placing(mapping(spec.value.get("podTemplate")), of_all)
    runs = {
        str(value.get("pipelineTaskName")): Object(value, (*spec.path, "taskRunSpecs", number))
        for number, value in numbered(spec.value.get("taskRunSpecs"))
    }
    written = list(_tasks(one.part(("spec", "pipelineSpec"))))
    nothing = [(name, _NOTHING) for name in runs.keys() - {name for name, _ in written}]
    for name, inner in (*written, *sorted(nothing, key=lambda other: runs[other[0]].path)):
        run = runs.get(name, _NOTHING)
        own = [mapping(run.value.get(field)) for field in ("taskPodTemplate", "podTemplate")]
        yield from _pods(one, inner, run, placing(placed, *own))


def _tasks(spec: Object) -> Iterator[tuple[str, Object]]:
    """Yield the tasks that are written out in a pipeline, each with its name there."""
    for part in ("tasks", "finally"):
        for number, value in numbered(spec.value.get(part)):
            if isinstance(value.get("taskSpec"), dict):
                path = (*spec.path, part, number, "taskSpec")
                yield str(value.get("name")), Object(value["taskSpec"], path)


def _pods(one: Object, written: Object, run: Object, placed: Json) -> Iterator[View]:
    """Yield the one Pod of a task and its run, if there is anything to tell of it."""
    containers = list(_of_task(written, run))
    if containers:
        yield assembled(one, written.path, placed, containers)
        return
    containers = list(_of_run(run))
    if containers:
        yield assembled(one, run.path, placed, containers)


def _of_task(written: Object, run: Object) -> Iterator[Container]:
    """Yield the containers of a task that is written out, with what its run says of them."""
    whole = _whole(run)
    for part, name, fields in _PARTS:
        more = _by_name(run, fields)
        is_step = part == "steps"
        common = _resources_of(written.part(("stepTemplate",))) if is_step else _NO_RESOURCES
        for number, value in numbered(written.value.get(part)):
            step = Object(value, (*written.path, part, number))
            given = [_resources_of(step), more.get(_name_of(value), _NO_RESOURCES)]
            called = {"name": f"{name}-{_name_of(value) or number}"}
            container = merged(called, step.path, given, common)
            if is_step and whole is not None:
                # It holds in place of what the steps say; the first step stands for all of them.
                first = [whole] if number == 0 else []
                container = replace(merged(called, step.path, first), sources=container.sources)
            yield container


def _whole(run: Object) -> Resources | None:
    """Return what a run says of the resources of its task as a whole; None where nothing."""
    given = run.value.get("computeResources")
    return (given, (*run.path, "computeResources")) if isinstance(given, dict) else None


def _of_run(run: Object) -> Iterator[Container]:
    """Yield the containers that a run says something of, where their task is somewhere else."""
    whole = _whole(run)
    if whole is not None:
        yield merged({"name": "task"}, run.path, [whole])
    for _, name, fields in _PARTS:
        for called, (resources, path) in _by_name(run, fields).items():
            if isinstance(resources, dict):
                yield merged({"name": f"{name}-{called}"}, path[:-1], [(resources, path)])


def _by_name(run: Object, fields: tuple[str, ...]) -> dict[str, Resources]:
    """Return what a run says of the resources of steps or sidecars, by their names."""
    return {
        _name_of(value): _resources_of(Object(value, (*run.path, field, number)))
        for field in fields
        for number, value in numbered(run.value.get(field))
    }


def _name_of(value: Json) -> str:
    return str(value.get("name") or "")


def _resources_of(one: Object) -> Resources:
    """Return the resources of a step, by whichever name this version of Tekton has for them."""
    field = "computeResources" if "computeResources" in one.value else "resources"
    return one.value.get(field), (*one.path, field)
