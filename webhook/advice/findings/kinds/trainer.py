"""Kubeflow's trainer: each node of a TrainJob is a Pod, of which the job says the resources."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.advice.findings.objects import Object
from webhook.advice.findings.view import View
from webhook.jsonpatch import Path


def train_job(one: Object) -> Iterator[View]:
    """Yield the Pod of a job's nodes."""
    trainer = one.part(("spec", "trainer"))
    resources = trainer.value.get("resourcesPerNode")
    if isinstance(resources, dict):
        at: Path = ("spec", "containers", 0)
        places = {
            (): trainer.path,
            at: trainer.path,
            (*at, "resources"): (*trainer.path, "resourcesPerNode"),
        }
        pod = {"spec": {"containers": [{"name": "node", "resources": resources}]}}
        yield one.view(pod, places)
