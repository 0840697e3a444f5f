"""KServe: a model server's resources stand beside what places its Pod."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.advice.findings.kinds.assembly import PLACING, Container, assembled, named
from webhook.advice.findings.objects import Object
from webhook.advice.findings.view import View
from webhook.inventory.facts import Json

_NAME = "kserve-container"
_OTHERS = frozenset({*PLACING, "workerSpec"})


def inference(one: Object) -> Iterator[View]:
    """Yield the Pods of the roles of a service, and those of their workers on other nodes."""
    for role in ("predictor", "transformer", "explainer"):
        held = one.part(("spec", role))
        servers = list(_servers(held))
        if servers:
            beside = named(held.value.get("containers"), (*held.path, "containers"), "container")
            yield assembled(one, held.path, held.value, [*servers, *beside])
        yield from _workers(one, held)


def runtime(one: Object) -> Iterator[View]:
    """Yield the Pod of a runtime's workers; its own is found as any Pod's spec is."""
    yield from _workers(one, one.part(("spec",)))


def _servers(held: Object) -> Iterator[Container]:
    """Yield what is a model server; there is one, or KServe refuses the service."""
    number = 0
    for name, server in held.value.items():
        if name not in _OTHERS and _is_server(server):
            called = f"{_NAME}-{number}" if number else _NAME
            yield Container({"name": called, **server}, (*held.path, name))
            number += 1


def _is_server(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("resources"), dict)


def _workers(one: Object, held: Object) -> Iterator[View]:
    spec: Json = held.part(("workerSpec",)).value
    path = (*held.path, "workerSpec")
    containers = list(named(spec.get("containers"), (*path, "containers"), "worker"))
    if containers:
        yield assembled(one, path, spec, containers)
