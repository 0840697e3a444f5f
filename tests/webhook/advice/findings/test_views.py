"""Every kind of the Pods' homes: where in a document the Pods are, and what is in them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from selection_spec.documents import field_path
from webhook.advice.findings.views import View, objects, views

GPU = "preferred.jp/gpu-any"
POD_SPEC = f"{{containers: [{{name: main, resources: {{limits: {{{GPU}: 1}}}}}}]}}"
TEMPLATE = f"{{spec: {POD_SPEC}}}"
RESOURCES = f"resources: {{limits: {{{GPU}: 1}}}}"
COMPUTE = f"computeResources: {{limits: {{{GPU}: 1}}}}"


def _views(text: str) -> list[View]:
    return list(views(yaml.safe_load(text)))


def _keys(text: str) -> list[str]:
    """Where in a document the keys are that the Pods in it ask by."""
    found = []
    for view in _views(text):
        for name in ("initContainers", "containers"):
            for number, one in enumerate(view.pod["spec"].get(name, ())):
                for side in ("limits", "requests"):
                    if GPU in ((one.get("resources") or {}).get(side) or {}):
                        path = ("spec", name, number, "resources", side, GPU)
                        found.append(field_path(view.place(path)))
    return found


def _kind(api: str, kind: str, spec: str) -> str:
    return f"{{apiVersion: {api}, kind: {kind}, metadata: {{name: x}}, spec: {spec}}}"


_LIMITS = f'resources.limits["{GPU}"]'
_OF_TEMPLATE = f"spec.containers[0].{_LIMITS}"

_ARGO = (
    "{templates: ["
    f"{{name: a, container: {{image: x}}, sidecars: [{{name: s, {RESOURCES}}}]}}, "
    f"{{name: b, script: {{{RESOURCES}}}, initContainers: [{{{RESOURCES}}}]}}, "
    f"{{containerSet: {{containers: [{{name: c}}, {{name: d, {RESOURCES}}}]}}}}, "
    "{name: e, dag: {tasks: []}}]}"
)
_POD = _kind("v1", "Pod", POD_SPEC)
_DEPLOYMENT = _kind("apps/v1", "Deployment", f"{{template: {TEMPLATE}}}")
_WORKFLOWS = _kind(
    "argoproj.io/v1alpha1", "Workflow", f"{{templates: [{{container: {{{RESOURCES}}}}}]}}"
)

HOMES = {
    "Pod": (_kind("v1", "Pod", POD_SPEC), [f"spec.containers[0].{_LIMITS}"]),
    "PodTemplate": (
        f"{{apiVersion: v1, kind: PodTemplate, template: {TEMPLATE}}}",
        [f"template.{_OF_TEMPLATE}"],
    ),
    **{
        kind: (_kind(api, kind, f"{{template: {TEMPLATE}}}"), [f"spec.template.{_OF_TEMPLATE}"])
        for kind, api in {
            "Deployment": "apps/v1",
            "StatefulSet": "apps/v1",
            "DaemonSet": "apps/v1",
            "ReplicaSet": "apps/v1",
            "ReplicationController": "v1",
            "Job": "batch/v1",
            "Notebook": "kubeflow.org/v1",
        }.items()
    },
    "CronJob": (
        _kind("batch/v1", "CronJob", f"{{jobTemplate: {{spec: {{template: {TEMPLATE}}}}}}}"),
        [f"spec.jobTemplate.spec.template.{_OF_TEMPLATE}"],
    ),
    "PyTorchJob": (
        _kind(
            "kubeflow.org/v1",
            "PyTorchJob",
            f"{{pytorchReplicaSpecs: {{Master: {{template: {TEMPLATE}}}, "
            f"Worker: {{replicas: 2, template: {TEMPLATE}}}}}}}",
        ),
        [
            f"spec.pytorchReplicaSpecs.Master.template.{_OF_TEMPLATE}",
            f"spec.pytorchReplicaSpecs.Worker.template.{_OF_TEMPLATE}",
        ],
    ),
    "MPIJob": (
        _kind(
            "kubeflow.org/v2beta1",
            "MPIJob",
            f"{{mpiReplicaSpecs: {{Worker: {{template: {TEMPLATE}}}}}}}",
        ),
        [f"spec.mpiReplicaSpecs.Worker.template.{_OF_TEMPLATE}"],
    ),
    "RayCluster": (
        _kind(
            "ray.io/v1",
            "RayCluster",
            f"{{headGroupSpec: {{template: {TEMPLATE}}}, "
            f"workerGroupSpecs: [{{template: {TEMPLATE}}}]}}",
        ),
        [
            f"spec.headGroupSpec.template.{_OF_TEMPLATE}",
            f"spec.workerGroupSpecs[0].template.{_OF_TEMPLATE}",
        ],
    ),
    "RayJob": (
        _kind(
            "ray.io/v1",
            "RayJob",
            f"{{rayClusterSpec: {{headGroupSpec: {{template: {TEMPLATE}}}}}}}",
        ),
        [f"spec.rayClusterSpec.headGroupSpec.template.{_OF_TEMPLATE}"],
    ),
    "RayService": (
        _kind(
            "ray.io/v1",
            "RayService",
            f"{{rayClusterConfig: {{workerGroupSpecs: [{{template: {TEMPLATE}}}]}}}}",
        ),
        [f"spec.rayClusterConfig.workerGroupSpecs[0].template.{_OF_TEMPLATE}"],
    ),
    "JobSet": (
        _kind(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            f"{{replicatedJobs: [{{template: {{spec: {{template: {TEMPLATE}}}}}}}]}}",
        ),
        [f"spec.replicatedJobs[0].template.spec.template.{_OF_TEMPLATE}"],
    ),
    "LeaderWorkerSet": (
        _kind(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            f"{{leaderWorkerTemplate: {{leaderTemplate: {TEMPLATE}, workerTemplate: {TEMPLATE}}}}}",
        ),
        [
            f"spec.leaderWorkerTemplate.leaderTemplate.{_OF_TEMPLATE}",
            f"spec.leaderWorkerTemplate.workerTemplate.{_OF_TEMPLATE}",
        ],
    ),
    "Volcano Job": (
        _kind("batch.volcano.sh/v1alpha1", "Job", f"{{tasks: [{{template: {TEMPLATE}}}]}}"),
        [f"spec.tasks[0].template.{_OF_TEMPLATE}"],
    ),
    **{
        kind: (
            _kind("argoproj.io/v1alpha1", kind, spec),
            [
                f"{path}.templates[0].sidecars[0].{_LIMITS}",
                f"{path}.templates[1].initContainers[0].{_LIMITS}",
                f"{path}.templates[1].script.{_LIMITS}",
                f"{path}.templates[2].containerSet.containers[1].{_LIMITS}",
            ],
        )
        for kind, path, spec in (
            ("Workflow", "spec", _ARGO),
            ("WorkflowTemplate", "spec", _ARGO),
            ("ClusterWorkflowTemplate", "spec", _ARGO),
            ("CronWorkflow", "spec.workflowSpec", f"{{workflowSpec: {_ARGO}}}"),
        )
    },
    "InferenceService, a model": (
        _kind(
            "serving.kserve.io/v1beta1",
            "InferenceService",
            f"{{predictor: {{minReplicas: 1, model: {{{RESOURCES}}}}}}}",
        ),
        [f"spec.predictor.model.{_LIMITS}"],
    ),
    "InferenceService, containers": (
        _kind("serving.kserve.io/v1beta1", "InferenceService", f"{{transformer: {POD_SPEC}}}"),
        [f"spec.transformer.containers[0].{_LIMITS}"],
    ),
    "Task": (
        _kind(
            "tekton.dev/v1",
            "Task",
            f"{{stepTemplate: {{{COMPUTE}}}, steps: [{{name: a}}, {{{COMPUTE}}}], "
            f"sidecars: [{{{COMPUTE}}}]}}",
        ),
        [
            f'spec.stepTemplate.computeResources.limits["{GPU}"]',
            f'spec.steps[1].computeResources.limits["{GPU}"]',
            f'spec.sidecars[0].computeResources.limits["{GPU}"]',
        ],
    ),
    "Task of old": (
        _kind("tekton.dev/v1beta1", "Task", f"{{steps: [{{name: a, {RESOURCES}}}]}}"),
        [f"spec.steps[0].{_LIMITS}"],
    ),
    "TaskRun": (
        _kind("tekton.dev/v1", "TaskRun", f"{{taskSpec: {{steps: [{{{RESOURCES}}}]}}}}"),
        [f"spec.taskSpec.steps[0].{_LIMITS}"],
    ),
    "TaskRun's own": (
        _kind(
            "tekton.dev/v1",
            "TaskRun",
            f"{{taskRef: {{name: a}}, computeResources: {{limits: {{{GPU}: 1}}}}, "
            f"stepSpecs: [{{name: b, computeResources: {{limits: {{{GPU}: 1}}}}}}]}}",
        ),
        [
            f'spec.computeResources.limits["{GPU}"]',
            f'spec.stepSpecs[0].computeResources.limits["{GPU}"]',
        ],
    ),
    "PipelineRun's own": (
        _kind(
            "tekton.dev/v1",
            "PipelineRun",
            "{pipelineRef: {name: a}, taskRunSpecs: [{pipelineTaskName: a}, "
            f"{{pipelineTaskName: b, computeResources: {{limits: {{{GPU}: 1}}}}}}]}}",
        ),
        [f'spec.taskRunSpecs[1].computeResources.limits["{GPU}"]'],
    ),
    "Pipeline": (
        _kind(
            "tekton.dev/v1",
            "Pipeline",
            f"{{tasks: [{{name: a}}, {{taskSpec: {{steps: [{{{RESOURCES}}}]}}}}], "
            f"finally: [{{taskSpec: {{steps: [{{{RESOURCES}}}]}}}}]}}",
        ),
        [
            f"spec.tasks[1].taskSpec.steps[0].{_LIMITS}",
            f"spec.finally[0].taskSpec.steps[0].{_LIMITS}",
        ],
    ),
    "PipelineRun": (
        _kind(
            "tekton.dev/v1",
            "PipelineRun",
            f"{{pipelineSpec: {{tasks: [{{taskSpec: {{steps: [{{{RESOURCES}}}]}}}}]}}}}",
        ),
        [f"spec.pipelineSpec.tasks[0].taskSpec.steps[0].{_LIMITS}"],
    ),
    "Knative Service": (
        _kind(
            "serving.knative.dev/v1",
            "Service",
            f"{{template: {{spec: {{containers: [{{{RESOURCES}}}]}}}}}}",
        ),
        [f"spec.template.{_OF_TEMPLATE}"],
    ),
    "SparkApplication": (
        _kind(
            "sparkoperator.k8s.io/v1beta2",
            "SparkApplication",
            f"{{driver: {{cores: 1}}, executor: {{gpu: {{name: {GPU}, quantity: 2}}}}}}",
        ),
        ["spec.executor.gpu.name"],
    ),
    "a kind that nobody knows": (
        _kind("example.com/v1", "Farm", f"{{barns: [{{roof: {POD_SPEC}}}]}}"),
        [f"spec.barns[0].roof.containers[0].{_LIMITS}"],
    ),
    "List": (
        f"{{apiVersion: v1, kind: List, items: [{_POD}, 7, {_DEPLOYMENT}]}}",
        [f"items[0].{_OF_TEMPLATE}", f"items[2].spec.template.{_OF_TEMPLATE}"],
    ),
    "List of a custom kind": (
        f"{{apiVersion: argoproj.io/v1alpha1, kind: WorkflowList, items: [{_WORKFLOWS}]}}",
        [f"items[0].spec.templates[0].container.{_LIMITS}"],
    ),
}


@pytest.mark.parametrize(("text", "paths"), HOMES.values(), ids=HOMES)
def test_pods_are_found_at_their_paths(text: str, paths: list[str]) -> None:
    assert sorted(_keys(text)) == sorted(paths)


def test_where_a_pod_runs_may_be_said_around_it() -> None:
    (argo,) = _views(
        _kind(
            "argoproj.io/v1alpha1",
            "Workflow",
            "{nodeSelector: {a: b}, tolerations: [{}], podPriority: 3, "
            "templates: [{nodeSelector: {c: d}, container: {image: x}}]}",
        )
    )
    spec = argo.pod["spec"]
    assert (spec["nodeSelector"], spec["tolerations"], spec["priority"]) == ({"c": "d"}, [{}], 3)
    (kserve,) = _views(
        _kind(
            "serving.kserve.io/v1beta1",
            "InferenceService",
            "{predictor: {nodeSelector: {a: b}, model: {resources: {}}}}",
        )
    )
    assert kserve.pod["spec"]["nodeSelector"] == {"a": "b"}
    (tekton,) = _views(
        _kind(
            "tekton.dev/v1",
            "TaskRun",
            "{podTemplate: {nodeSelector: {a: b}}, taskSpec: {steps: [{name: a}]}}",
        )
    )
    assert tekton.pod["spec"]["nodeSelector"] == {"a": "b"}
    (spark,) = _views(
        _kind(
            "sparkoperator.k8s.io/v1beta2",
            "SparkApplication",
            f"{{driver: {{nodeSelector: {{a: b}}, gpu: {{name: {GPU}, quantity: 1}}}}}}",
        )
    )
    assert spark.pod["spec"]["nodeSelector"] == {"a": "b"}


def test_an_object_is_called_by_kind_and_name() -> None:
    text = "{apiVersion: v1, kind: List, items: [{kind: Pod, metadata: {generateName: a-}}, {}]}"
    assert [one.owner for one in objects(yaml.safe_load(text))] == ["Pod/a-", "None/?"]
    (view,) = _views(_kind("apps/v1", "Deployment", f"{{template: {TEMPLATE}}}"))
    assert (view.owner, view.kind, view.object) == ("Deployment/x", "Deployment", ())


@pytest.mark.parametrize(
    "document",
    [None, 1, "Pod", [], [{"kind": "Pod"}], {}, {"kind": 3}, {"kind": "List", "items": {"a": 1}}],
)
def test_what_is_no_object_has_no_pods(document: object) -> None:
    assert list(views(document)) == []


@pytest.mark.parametrize("junk", [None, 1, "a", [], {}, [None], [1], [[]], {"a": None}, [{}]])
@pytest.mark.parametrize(
    ("api", "kind", "path"),
    [
        ("argoproj.io/v1alpha1", "Workflow", ("spec",)),
        ("argoproj.io/v1alpha1", "Workflow", ("spec", "templates")),
        ("argoproj.io/v1alpha1", "CronWorkflow", ("spec", "workflowSpec")),
        ("tekton.dev/v1", "Task", ("spec", "steps")),
        ("tekton.dev/v1", "Task", ("spec", "stepTemplate")),
        ("tekton.dev/v1", "Pipeline", ("spec", "tasks")),
        ("serving.kserve.io/v1beta1", "InferenceService", ("spec", "predictor")),
        ("serving.kserve.io/v1beta1", "InferenceService", ("spec", "predictor", "model")),
        ("serving.knative.dev/v1", "Service", ("spec", "template", "spec", "containers")),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication", ("spec", "driver", "gpu")),
        ("argoproj.io/v1alpha1", "Workflow", ("spec", "templateDefaults")),
        ("argoproj.io/v1alpha1", "Workflow", ("spec", "templateDefaults", "container")),
        ("tekton.dev/v1", "TaskRun", ("spec", "stepSpecs")),
        ("tekton.dev/v1", "TaskRun", ("spec", "podTemplate")),
        ("tekton.dev/v1", "PipelineRun", ("spec", "taskRunSpecs")),
        ("tekton.dev/v1", "PipelineRun", ("spec", "taskRunTemplate")),
        ("triggers.tekton.dev/v1", "TriggerTemplate", ("spec", "resourcetemplates")),
        ("serving.kserve.io/v1beta1", "InferenceService", ("spec", "predictor", "workerSpec")),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication", ("spec", "nodeSelector")),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication", ("spec", "driver", "sidecars")),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob", ("spec", "trainer")),
        ("example.com/v1", "Farm", ("spec", "containers")),
        ("apps/v1", "Deployment", ("spec", "template", "spec", "containers")),
        ("v1", "List", ("items",)),
        ("v1", "Pod", ("metadata",)),
    ],
)
def test_junk_in_any_place_is_passed_over(
    api: str, kind: str, path: tuple[str, ...], junk: object
) -> None:
    document: dict[str, Any] = {"apiVersion": api, "kind": kind}
    inner = document
    for step in path[:-1]:
        inner = inner.setdefault(step, {})
    inner[path[-1]] = junk
    for view in views(document):
        for resources in view.containers():
            assert all(isinstance(step, str | int) for step in resources)


def test_a_place_beside_all_that_is_known_is_the_object() -> None:
    (view,) = _views(
        _kind("argoproj.io/v1alpha1", "Workflow", "{templates: [{container: {image: x}}]}")
    )
    assert view.place(("metadata", "labels")) == ()
    assert view.place(("spec", "nodeSelector")) == ("spec", "templates", 0, "nodeSelector")


def test_what_nests_too_deep_is_not_searched() -> None:
    node: dict[str, Any] = yaml.safe_load(POD_SPEC)
    for _ in range(40):
        node = {"spec": node}
    assert list(views({"apiVersion": "v1", "kind": "Deep", **node})) == []
