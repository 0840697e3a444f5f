"""Tekton: one Pod for a task and its run, whoever of them says what its steps have."""

from __future__ import annotations

import pytest

from tests.webhook.advice.findings.judged import ids
from tests.webhook.advice.findings.kinds.sight import limits, views_of
from webhook.advice.findings.view import View

_API = "tekton.dev/v1"
_GPU = "computeResources: {limits: {gpu: 1}}"
_CPUS = "computeResources.limits.cpu"
_CPU = "computeResources: {limits: {cpu: 1}}"


def _one(kind: str, spec: str, api: str = _API) -> View:
    (view,) = views_of(api, kind, spec)
    return view


def test_what_a_run_says_of_steps_elsewhere_is_one_pod() -> None:
    view = _one(
        "TaskRun",
        f"{{taskRef: {{name: t}}, stepSpecs: [{{name: a, {_GPU}}}, {{name: b, {_GPU}}}, "
        f"{{name: c}}], sidecarSpecs: [{{name: a, {_GPU}}}]}}",
    )
    assert limits(view) == {
        "step-a": {"gpu": "spec.stepSpecs[0].computeResources.limits.gpu"},
        "step-b": {"gpu": "spec.stepSpecs[1].computeResources.limits.gpu"},
        "sidecar-a": {"gpu": "spec.sidecarSpecs[0].computeResources.limits.gpu"},
    }


@pytest.mark.parametrize("field", ["stepSpecs", "stepOverrides"])
def test_what_a_run_says_of_a_step_in_it_comes_together_with_the_steps_own(field: str) -> None:
    view = _one(
        "TaskRun",
        "{taskSpec: {stepTemplate: {computeResources: {limits: {mem: 1}}}, "
        f"steps: [{{name: a, computeResources: {{limits: {{cpu: 1, gpu: 9}}}}}}, {{name: b}}]}}, "
        f"{field}: [{{name: a, {_GPU}}}, {{name: nobody, {_GPU}}}]}}",
    )
    task = "spec.taskSpec"
    assert limits(view) == {
        "step-a": {
            "mem": f"{task}.stepTemplate.computeResources.limits.mem",
            "cpu": f"{task}.steps[0].computeResources.limits.cpu",
            "gpu": f"spec.{field}[0].computeResources.limits.gpu",
        },
        "step-b": {"mem": f"{task}.stepTemplate.computeResources.limits.mem"},
    }
    first = view.pod["spec"]["containers"][0]["resources"]
    assert first == {"limits": {"mem": 1, "cpu": 1, "gpu": 1}}
    assert ("spec", "taskSpec", "steps", 0, "computeResources") in set(view.containers())


def test_what_a_run_says_of_a_task_as_a_whole_holds_in_place_of_its_steps() -> None:
    view = _one(
        "TaskRun",
        f"{{taskSpec: {{steps: [{{name: a, {_CPU}}}, {{name: b, {_CPU}}}], "
        f"sidecars: [{{name: c, {_CPU}}}]}}, {_GPU}}}",
    )
    assert limits(view) == {
        "step-a": {"gpu": "spec.computeResources.limits.gpu"},
        "step-b": {},
        "sidecar-c": {"cpu": "spec.taskSpec.sidecars[0].computeResources.limits.cpu"},
    }
    assert ("spec", "taskSpec", "steps", 1, "computeResources") in set(view.containers())


def test_a_replaced_amount_is_not_judged_and_no_stray() -> None:
    key = "preferred.jp/gpu-any"
    text = (
        f"apiVersion: {_API}\nkind: TaskRun\nmetadata: {{name: x}}\nspec:\n"
        f"  taskSpec: {{steps: [{{name: a, computeResources: {{limits: {{{key}: 99}}}}}}]}}\n"
        f"  stepSpecs: [{{name: a, computeResources: {{limits: {{{key}: 1}}}}}}]\n"
    )
    assert ids(text) == []
    assert ids(text.replace("stepSpecs", "others")) == ["GS102", "GS207"]


@pytest.mark.parametrize(
    "template",
    [
        "taskRunTemplate: {podTemplate: {nodeSelector: {a: all}}}",
        "podTemplate: {nodeSelector: {a: all}}",
    ],
)
def test_a_pipelines_run_places_its_tasks_and_says_more_of_them_by_name(template: str) -> None:
    a, b, last, elsewhere = views_of(
        _API,
        "PipelineRun",
        f"{{{template}, pipelineSpec: {{tasks: [{{name: a, taskSpec: {{steps: [{{{_CPU}}}]}}}}, "
        f"{{name: b, taskSpec: {{steps: [{{name: s, {_CPU}}}]}}}}, "
        "{name: c, taskRef: {name: t}}], "
        f"finally: [{{name: d, taskSpec: {{steps: [{{{_CPU}}}]}}}}]}}, "
        "taskRunSpecs: [{pipelineTaskName: b, podTemplate: {nodeSelector: {a: b}}, "
        f"stepSpecs: [{{name: s, {_GPU}}}]}}, "
        f"{{pipelineTaskName: c, stepSpecs: [{{name: s, {_GPU}}}]}}]}}",
    )
    assert [one.pod["spec"]["nodeSelector"]["a"] for one in (a, b, last, elsewhere)] == [
        *("all", "b", "all", "all")
    ]
    tasks = "spec.pipelineSpec.tasks"
    assert limits(a) == {"step-0": {"cpu": f"{tasks}[0].taskSpec.steps[0].{_CPUS}"}}
    assert limits(b) == {
        "step-s": {
            "cpu": f"{tasks}[1].taskSpec.steps[0].{_CPUS}",
            "gpu": "spec.taskRunSpecs[0].stepSpecs[0].computeResources.limits.gpu",
        }
    }
    assert limits(elsewhere) == {
        "step-s": {"gpu": "spec.taskRunSpecs[1].stepSpecs[0].computeResources.limits.gpu"}
    }


def test_a_cluster_task_is_a_task() -> None:
    view = _one("ClusterTask", "{steps: [{resources: {limits: {gpu: 1}}}]}", "tekton.dev/v1beta1")
    assert limits(view) == {"step-0": {"gpu": "spec.steps[0].resources.limits.gpu"}}


def test_what_a_trigger_makes_are_objects_of_their_own() -> None:
    (view,) = views_of(
        "triggers.tekton.dev/v1beta1",
        "TriggerTemplate",
        f"{{resourcetemplates: [7, {{apiVersion: {_API}, kind: TaskRun, "
        f"metadata: {{generateName: run-}}, spec: {{taskSpec: {{steps: [{{{_GPU}}}]}}}}}}]}}",
    )
    made = ("spec", "resourcetemplates", 1)
    assert (view.owner, view.kind, view.object) == ("TaskRun/run-", "TaskRun", made)
    at = "spec.resourcetemplates[1].spec.taskSpec.steps[0].computeResources.limits.gpu"
    assert limits(view) == {"step-0": {"gpu": at}}
