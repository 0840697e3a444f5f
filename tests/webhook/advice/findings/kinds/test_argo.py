"""Argo's workflows: where their Pods run, and what they get by default."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.webhook.advice.findings.kinds.sight import limits, views_of

_API = "argoproj.io/v1alpha1"


def _spec(spec: str) -> dict[str, Any]:
    (view,) = views_of(_API, "Workflow", spec)
    found: dict[str, Any] = view.pod["spec"]
    return found


@pytest.mark.parametrize(
    ("around", "own", "wanted"),
    [
        ("nodeSelector: {a: w}", "", "nodeSelector: {a: w}"),
        ("nodeSelector: {a: w}", "nodeSelector: {b: t}", "nodeSelector: {b: t}"),
        ("nodeSelector: {a: w}", "nodeSelector: {}", "nodeSelector: {a: w}"),
        ("affinity: {nodeAffinity: {}}", "affinity: {}", "affinity: {}"),
        (
            "nodeSelector: {a: w}, templateDefaults: {nodeSelector: {b: d, c: d}}",
            "nodeSelector: {c: t}",
            "nodeSelector: {b: d, c: t}",
        ),
        ("templateDefaults: {tolerations: [{key: d}]}", "", "tolerations: [{key: d}]"),
        (
            "podPriorityClassName: w, podPriority: 7, priority: 1",
            "",
            "priorityClassName: w, priority: 7",
        ),
        (
            "podPriorityClassName: w, podPriority: 7",
            "priorityClassName: t, priority: 0",
            "priorityClassName: t, priority: 0",
        ),
    ],
)
def test_the_closest_that_says_where_a_pod_runs_is_heard(
    around: str, own: str, wanted: str
) -> None:
    spec = _spec(f"{{{around}, templates: [{{container: {{image: x}}, {own}}}]}}")
    del spec["containers"]
    assert spec == yaml.safe_load(f"{{{wanted}}}")


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ("steps: [[{name: z, template: y}, {name: s, inline: %s}]]", "steps[0][1]"),
        ("dag: {tasks: [{name: s, inline: %s}]}", "dag.tasks[0]"),
    ],
)
def test_templates_within_steps_are_pods_and_placed_by_those_around_them(
    steps: str, path: str
) -> None:
    inline = "{script: {resources: {limits: {gpu: 1}}}}"
    template = f"{{nodeSelector: {{a: t}}, priorityClassName: t, {steps % inline}}}"
    (view,) = views_of(_API, "WorkflowTemplate", f"{{templates: [{template}]}}")
    at = f"spec.templates[0].{path}.inline.script.resources.limits.gpu"
    assert limits(view) == {"main": {"gpu": at}}
    assert view.pod["spec"]["nodeSelector"] == {"a": "t"}
    # A template's class is for its own Pod only.
    assert "priorityClassName" not in view.pod["spec"]


def test_resources_by_default_come_together_with_a_templates_own() -> None:
    own, default = views_of(
        _API,
        "CronWorkflow",
        "{workflowSpec: {templateDefaults: {container: {resources: {limits: {gpu: 1, cpu: 1}}}}, "
        "templates: [{container: {resources: {limits: {cpu: 2}}}}, {container: {image: x}}, "
        "{name: none, suspend: {}}]}}",
    )
    common = "spec.workflowSpec.templateDefaults.container.resources"
    here = "spec.workflowSpec.templates[0].container.resources"
    assert limits(own) == {"main": {"gpu": f"{common}.limits.gpu", "cpu": f"{here}.limits.cpu"}}
    assert own.pod["spec"]["containers"][0]["resources"] == {"limits": {"gpu": 1, "cpu": 2}}
    assert limits(default)["main"]["gpu"] == f"{common}.limits.gpu"
    # What others have as well is nobody's to change.
    resources = ("spec", "containers", 0, "resources")
    assert default.place(resources) == ("spec", "workflowSpec", "templates", 1, "container")
    assert ("spec", "workflowSpec", "templateDefaults", "container", "resources") in set(
        default.containers()
    )
