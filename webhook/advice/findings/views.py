"""Pods in whatever kind of document, each as a Pod that admission could be asked about.

Kinds that hold a Pod's parts in a shape of their own (Argo, Tekton, KServe, Spark) are known by
their paths; every other one by structure: a mapping with a list of named containers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from webhook.inventory.facts import Json, mapping
from webhook.jsonpatch import Path
from webhook.workloads import pod_templates

# No workload nests Pods deeper than a List of CronJobs, by far.
_MAX_DEPTH = 32

_LISTS = ("containers", "initContainers")

# What decides where a Pod runs, beside its containers; Argo and KServe keep it next to these.
_PLACING = ("nodeSelector", "affinity", "tolerations", "priorityClassName", "priority")


@dataclass(frozen=True, slots=True)
class View:
    """A Pod in a document.

    Attributes:
        pod: As admission would see it, as far as the document tells.
        places: Where its parts stand: by the path in the Pod the path in the document.
        owner: The object that it is in, as ``Deployment/train``.
        kind: That object's kind.
        item: That object.
        object: That object's path in the document.
    """

    pod: Json
    places: Mapping[Path, Path]
    owner: str
    kind: str
    item: Json
    object: Path

    def place(self, path: Path) -> Path:
        """Return where in the document a path of the Pod leads."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return self.places[path[:length]] + path[length:]
        return self.object

    def containers(self) -> Iterator[Path]:
        """Yield where in the document each container's resources are."""
        spec = mapping(self.pod.get("spec"))
        yield self.place(("spec", "resources"))
        for name in _LISTS:
            for number, _ in _numbered(spec.get(name)):
                yield self.place(("spec", name, number, "resources"))


@dataclass(frozen=True, slots=True)
class _Object:
    value: Json
    path: Path

    @property
    def kind(self) -> str:
        return str(self.value.get("kind"))

    @property
    def api(self) -> str:
        return str(self.value.get("apiVersion"))

    @property
    def owner(self) -> str:
        metadata = mapping(self.value.get("metadata"))
        return f"{self.kind}/{metadata.get('name') or metadata.get('generateName') or '?'}"

    def view(self, pod: Json, places: Mapping[Path, Path]) -> View:
        return View(pod, places, self.owner, self.kind, self.value, self.path)


def views(document: object) -> Iterator[View]:
    """Yield every Pod of a document, in its order; items of a List are documents of their own."""
    for one in objects(document):
        special = _SPECIAL.get((_group(one.api), one.kind))
        found = list(special(one)) if special is not None else []
        for template in pod_templates(one.value):
            found.append(one.view(template.pod, {(): one.path + template.path}))
        covered = {view.place(("spec",)) for view in found}
        for path, spec in _bare_specs(one.value, one.path, covered):
            found.append(one.view({"spec": spec}, {("spec",): path}))
        yield from found


def objects(document: object) -> Iterator[_Object]:
    """Yield a document's objects: itself, or the items of a List."""
    value = mapping(document)
    kind = str(value.get("kind"))
    if kind.endswith("List") and isinstance(value.get("items"), list):
        # The items of a PodList, as the API server sends it, do not say what they are.
        said = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")}
        inherited = said if said["kind"] else {}
        for number, item in _numbered(value["items"]):
            named = item if isinstance(item.get("kind"), str) else {**inherited, **item}
            yield _Object(_without_status(named), ("items", number))
    elif value:
        yield _Object(_without_status(value), ())


def _without_status(value: Json) -> Json:
    """Return an object as people write it: what a controller tells of it asks for nothing."""
    return {key: part for key, part in value.items() if key != "status"}


def _bare_specs(
    node: object, path: Path, covered: AbstractSet[Path]
) -> Iterator[tuple[Path, Json]]:
    """Yield mappings with named containers that are no template's spec and in none that is known.

    KServe's predictors and many operators' roles have a Pod's spec without a ``spec`` around it.
    """
    if len(path) > _MAX_DEPTH or path in covered:
        return
    if isinstance(node, list):
        for number, item in enumerate(node):
            yield from _bare_specs(item, (*path, number), covered)
    if not isinstance(node, dict):
        return
    if _are_containers(node.get("containers")):
        yield path, node
        return
    for key, value in node.items():
        yield from _bare_specs(value, (*path, key), covered)


def _are_containers(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in value)
    )


def _workflow(one: _Object) -> Iterator[View]:
    """Argo: each template has one container, script or set of them, and may say where it runs."""
    root = ("spec", "workflowSpec") if one.kind == "CronWorkflow" else ("spec",)
    spec = _at(one.value, root)
    for number, template in _numbered(spec.get("templates")):
        at = (*one.path, *root, "templates", number)
        main = list(_main_of(template, at))
        if main:
            placed = {key: spec[key] for key in _PLACING if key in spec}
            placed |= {key: template[key] for key in _PLACING if key in template}
            sidecars = _named(template.get("sidecars"), (*at, "sidecars"), "sidecar")
            parts = {
                "containers": [*main, *sidecars],
                "initContainers": list(
                    _named(template.get("initContainers"), (*at, "initContainers"), "init")
                ),
            }
            yield one.view(*_put_together(placed, parts, at))


def _main_of(template: Json, at: Path) -> Iterator[tuple[Json, Path]]:
    for part in ("container", "script"):
        held = template.get(part)
        if isinstance(held, dict):
            yield {"name": "main", **held}, (*at, part)
    of_set = mapping(template.get("containerSet")).get("containers")
    yield from _named(of_set, (*at, "containerSet", "containers"), "main")


def _named(value: object, at: Path, name: str) -> Iterator[tuple[Json, Path]]:
    """Yield the containers of a list, each with where it stands, and a name if it has none."""
    for number, item in _numbered(value):
        yield {"name": f"{name}-{number}", **item}, (*at, number)


def _put_together(
    placed: Json, parts: Mapping[str, list[tuple[Json, Path]]], at: Path
) -> tuple[Json, dict[Path, Path]]:
    """Return a Pod of containers that stand in several places, and those places."""
    places: dict[Path, Path] = {("spec",): at}
    spec = dict(placed)
    for name, containers in parts.items():
        if containers:
            spec[name] = [container for container, _ in containers]
        for number, (_, place) in enumerate(containers):
            places["spec", name, number] = place
    return {"spec": spec}, places


def _task(one: _Object) -> Iterator[View]:
    """Tekton: the steps of a task are the containers of one Pod; a run may say where it runs."""
    yield from _of_runs(one, ("spec",))
    for root in (("spec",), ("spec", "taskSpec")):
        template = _at(one.value, ("spec", "podTemplate"))
        task, at = _at(one.value, root), (*one.path, *root)
        places: dict[Path, Path] = {("spec",): at}
        containers: list[Json] = []
        for part, name in (("steps", "step"), ("sidecars", "sidecar")):
            common = mapping(task.get("stepTemplate")) if part == "steps" else {}
            for number, step in _numbered(task.get(part)):
                here: Path = ("spec", "containers", len(containers))
                place = places[here] = (*at, part, number)
                held, field = _resources_of(step)
                if held is None and _resources_of(common)[0] is not None:
                    (held, field), place = _resources_of(common), (*at, "stepTemplate")
                places[*here, "resources"] = (*place, field)
                containers.append({"name": f"{name}-{number}", "resources": held or {}})
        if containers:
            placed = {key: template[key] for key in _PLACING if key in template}
            yield one.view({"spec": {**placed, "containers": containers}}, places)


def _of_runs(one: _Object, root: Path) -> Iterator[View]:
    """Tekton: a run may say what all containers of its Pod have, or its steps by their names."""
    held = _at(one.value, root)
    template = mapping(held.get("podTemplate"))
    placed = {key: template[key] for key in _PLACING if key in template}
    parts: list[tuple[Path, Json]] = [((), held)]
    for name in ("stepSpecs", "sidecarSpecs"):
        parts += [((name, number), item) for number, item in _numbered(held.get(name))]
    for path, part in parts:
        if isinstance(part.get("computeResources"), dict):
            at = (*one.path, *root, *path)
            name = str(part.get("name", "step"))
            container = {"name": name, "resources": part["computeResources"]}
            places: dict[Path, Path] = {("spec",): at}
            places["spec", "containers", 0, "resources"] = (*at, "computeResources")
            yield one.view({"spec": {**placed, "containers": [container]}}, places)


def _resources_of(step: Json) -> tuple[object, str]:
    """Return a step's resources, and what this version of Tekton calls them."""
    field = "computeResources" if "computeResources" in step else "resources"
    return step.get(field), field


def _pipeline(one: _Object) -> Iterator[View]:
    """Tekton: a pipeline's tasks may be written out in it; a run may say what they have."""
    for number, _ in _numbered(_at(one.value, ("spec",)).get("taskRunSpecs")):
        yield from _of_runs(one, ("spec", "taskRunSpecs", number))
    for root in (("spec",), ("spec", "pipelineSpec")):
        for part in ("tasks", "finally"):
            for number, task in _numbered(_at(one.value, root).get(part)):
                inner = {"spec": mapping(task.get("taskSpec"))}
                at = (*one.path, *root, part, number, "taskSpec")
                for view in _task(_Object(inner, ())):
                    places = {key: (*at, *path[1:]) for key, path in view.places.items()}
                    yield one.view(view.pod, places)


def _inference(one: _Object) -> Iterator[View]:
    """KServe: a model server's resources stand beside what places its Pod."""
    for role in ("predictor", "transformer", "explainer"):
        at = (*one.path, "spec", role)
        held = _at(one.value, ("spec", role))
        for name, server in held.items():
            is_server = isinstance(server, dict) and isinstance(server.get("resources"), dict)
            if is_server and name not in _PLACING:
                pod = {"spec": {**held, "containers": [{"name": "kserve-container", **server}]}}
                places: dict[Path, Path] = {("spec",): at, ("spec", "containers", 0): (*at, name)}
                yield one.view(pod, places)


def _revision(one: _Object) -> Iterator[View]:
    """Knative: the one container of a service need not have a name."""
    root = ("spec", "template")
    spec = _at(one.value, (*root, "spec"))
    containers = spec.get("containers")
    if containers and not _are_containers(containers):
        named = [{"name": f"user-container-{at}", **of} for at, of in _numbered(containers)]
        pod = {**_at(one.value, root), "spec": {**spec, "containers": named}}
        yield one.view(pod, {(): (*one.path, *root)})


def _spark(one: _Object) -> Iterator[View]:
    """Spark: drivers and executors name a resource and how much of it."""
    for role in ("driver", "executor"):
        at = (*one.path, "spec", role)
        held = _at(one.value, ("spec", role))
        gpu = mapping(held.get("gpu"))
        if isinstance(gpu.get("name"), str):
            key = gpu["name"]
            limits = {"limits": {key: gpu.get("quantity")}}
            placed = {name: held[name] for name in _PLACING if name in held}
            pod = {"spec": {**placed, "containers": [{"name": role, "resources": limits}]}}
            resources: Path = ("spec", "containers", 0, "resources")
            places: dict[Path, Path] = {("spec",): at, resources: (*at, "gpu")}
            places[*resources, "limits"] = (*at, "gpu")
            places[*resources, "limits", key] = (*at, "gpu", "name")
            yield one.view(pod, places)


_SPECIAL = {
    ("argoproj.io", "Workflow"): _workflow,
    ("argoproj.io", "WorkflowTemplate"): _workflow,
    ("argoproj.io", "ClusterWorkflowTemplate"): _workflow,
    ("argoproj.io", "CronWorkflow"): _workflow,
    ("tekton.dev", "Task"): _task,
    ("tekton.dev", "TaskRun"): _task,
    ("tekton.dev", "Pipeline"): _pipeline,
    ("tekton.dev", "PipelineRun"): _pipeline,
    ("serving.kserve.io", "InferenceService"): _inference,
    ("serving.knative.dev", "Service"): _revision,
    ("serving.knative.dev", "Configuration"): _revision,
    ("sparkoperator.k8s.io", "SparkApplication"): _spark,
}


def _group(api: str) -> str:
    return api.rpartition("/")[0]


def _at(value: Json, path: Path) -> Json:
    found: Any = value
    for step in path:
        found = found[step] if isinstance(step, int) else mapping(found).get(step)
    return mapping(found)


def _numbered(value: object) -> Iterator[tuple[int, Json]]:
    """Yield the mappings of a list, each with its place in it."""
    for number, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield number, item
