"""Spark: drivers and executors name a resource and how much of it."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.advice.findings.kinds.assembly import Container, assembled, named, placing
from webhook.advice.findings.objects import Object
from webhook.advice.findings.view import View
from webhook.inventory.facts import Json, mapping
from webhook.jsonpatch import Path


def application(one: Object) -> Iterator[View]:
    """Yield the Pods of an application's driver and executors."""
    root = one.part(("spec", "template") if one.kind == "ScheduledSparkApplication" else ("spec",))
    common = {key: root.value[key] for key in ("nodeSelector",) if key in root.value}
    for role in ("driver", "executor"):
        held = root.part((role,))
        containers = [*_main(role, held), *_named(held, "sidecars")]
        inits = list(_named(held, "initContainers"))
        if containers or inits:
            placed = placing(common, held.value)
            yield assembled(one, held.path, placed, containers, inits)


def _named(held: Object, field: str) -> Iterator[Container]:
    return named(held.value.get(field), (*held.path, field), "container")


def _main(role: str, held: Object) -> Iterator[Container]:
    gpu = mapping(held.value.get("gpu"))
    key = gpu.get("name")
    if isinstance(key, str):
        at = (*held.path, "gpu")
        resources: Json = {"limits": {key: gpu.get("quantity")}}
        places: dict[Path, Path] = {(): at, ("limits",): at, ("limits", key): (*at, "name")}
        yield Container({"name": role, "resources": resources}, held.path, places)
