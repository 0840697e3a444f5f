"""Pods in whatever kind of document, each as a Pod that admission could be asked about.

Kinds that hold a Pod's parts in a shape of their own are known by their paths (``kinds``); every
other one by structure: a mapping with a list of named containers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from webhook.advice.findings.kinds import argo, knative, kserve, spark, tekton, trainer
from webhook.advice.findings.objects import Object, objects
from webhook.advice.findings.view import View
from webhook.inventory.facts import Json
from webhook.jsonpatch import Path
from webhook.workloads import are_containers, pod_templates

__all__ = ["View", "objects", "views"]

# No workload nests Pods deeper than a List of CronJobs, by far.
_MAX_DEPTH: Final = 32

_KNOWN: Final[Mapping[tuple[str, str], Callable[[Object], Iterator[View]]]] = {
    ("argoproj.io", "Workflow"): argo.workflow,
    ("argoproj.io", "WorkflowTemplate"): argo.workflow,
    ("argoproj.io", "ClusterWorkflowTemplate"): argo.workflow,
    ("argoproj.io", "CronWorkflow"): argo.workflow,
    ("tekton.dev", "Task"): tekton.task,
    ("tekton.dev", "ClusterTask"): tekton.task,
    ("tekton.dev", "TaskRun"): tekton.task_run,
    ("tekton.dev", "Pipeline"): tekton.pipeline,
    ("tekton.dev", "PipelineRun"): tekton.pipeline_run,
    ("serving.kserve.io", "InferenceService"): kserve.inference,
    ("serving.kserve.io", "ServingRuntime"): kserve.runtime,
    ("serving.kserve.io", "ClusterServingRuntime"): kserve.runtime,
    ("serving.knative.dev", "Service"): knative.revision,
    ("serving.knative.dev", "Configuration"): knative.revision,
    ("sparkoperator.k8s.io", "SparkApplication"): spark.application,
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): spark.application,
    ("trainer.kubeflow.org", "TrainJob"): trainer.train_job,
}


def views(document: object) -> Iterator[View]:
    """Yield every Pod of a document, in its order; items of a List are documents of their own."""
    for one in objects(document):
        known = _KNOWN.get((one.group, one.kind))
        found = list(known(one)) if known is not None else []
        for template in pod_templates(one.value):
            found.append(one.view(template.pod, {(): one.path + template.path}))
        covered = {view.place(("spec",)) for view in found}
        for path, spec in _bare_specs(one.value, one.path, covered):
            found.append(one.view({"spec": spec}, {("spec",): path}))
        yield from found


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
    if are_containers(node.get("containers")):
        yield path, node
        return
    for key, value in node.items():
        yield from _bare_specs(value, (*path, key), covered)
