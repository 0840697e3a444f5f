"""Knative: the one container of a service need not have a name."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.advice.findings.objects import Object
from webhook.advice.findings.view import View, numbered
from webhook.workloads import are_containers


def revision(one: Object) -> Iterator[View]:
    """Yield the Pod of a service's revisions, where its structure does not tell of it."""
    template = one.part(("spec", "template"))
    spec = template.part(("spec",)).value
    containers = spec.get("containers")
    if containers and not are_containers(containers):
        named = [{"name": f"user-container-{at}", **of} for at, of in numbered(containers)]
        held = {**spec, "containers": named}
        yield one.view({**template.value, "spec": held}, {(): template.path})
