"""Pods whose devices are decided by values that somebody else fills in."""

from __future__ import annotations

import pytest

from tests.webhook.advice.findings.judged import told
from tests.webhook.advice.findings.kinds.sight import views_of
from webhook.advice.findings.placeholders import rests_on_placeholders

_ARGO = ("argoproj.io/v1alpha1", "Workflow")


@pytest.mark.parametrize("value", ["{{inputs.parameters.x}}", "$(params.x)", "a-${X}", "{{=x}}"])
@pytest.mark.parametrize(
    "template",
    [
        "nodeSelector: {a: '%s'}",
        "nodeSelector: {'%s': a}",
        "tolerations: [{key: '%s'}]",
        "affinity: {nodeAffinity: {x: [{values: ['%s']}]}}",
        "priorityClassName: '%s'",
        "initContainers: [{resources: {limits: {'%s': 1}}}]",
        "sidecars: [{resources: {limits: {a: '%s'}}}]",
    ],
)
def test_a_pod_whose_devices_rest_on_one_is_known(template: str, value: str) -> None:
    (view,) = views_of(*_ARGO, f"{{templates: [{{container: {{}}, {template % value}}}]}}")
    assert rests_on_placeholders(view)


@pytest.mark.parametrize(
    "template",
    [
        "nodeSelector: {a: '{{b'}",
        "nodeSelector: {a: '}}{{'}",
        "nodeSelector: {a: $X}",
        "sidecars: [{name: '{{x}}', image: '{{x}}', args: ['{{x}}']}]",
        "outputs: {parameters: [{value: '{{x}}'}]}",
    ],
)
def test_one_elsewhere_and_what_is_none_change_nothing(template: str) -> None:
    (view,) = views_of(*_ARGO, f"{{templates: [{{container: {{}}, {template}}}]}}")
    assert not rests_on_placeholders(view)


_JOB = "{template: {spec: {nodeSelector: {a: $(x)}, containers: [{name: a}]}}}"


@pytest.mark.parametrize(
    ("api", "is_custom"),
    [
        ("batch/v1", False),
        ("apps.k8s.io/v1", False),
        ("batch.volcano.sh/v1alpha1", True),
        ("kueue.x-k8s.io/v1", True),
    ],
)
def test_in_built_in_kinds_nobody_fills_them_in(api: str, *, is_custom: bool) -> None:
    (view,) = views_of(api, "Job", _JOB)
    assert rests_on_placeholders(view) is is_custom


def test_a_trigger_fills_them_in_for_all_kinds() -> None:
    (view,) = views_of(
        "triggers.tekton.dev/v1beta1",
        "TriggerTemplate",
        f"{{resourcetemplates: [{{apiVersion: batch/v1, kind: Job, spec: {_JOB}}}]}}",
    )
    assert rests_on_placeholders(view)


def test_such_a_pod_is_not_judged_and_its_keys_are_no_strays() -> None:
    text = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
spec:
  templates:
    - {nodeSelector: {a: "{{b}}"}, container: {resources: {limits: {preferred.jp/gpu-A100: 1}}}}
    - {nodeSelector: {a: b}, container: {resources: {limits: {preferred.jp/gpu-A100: 1}}}}
"""
    assert told(text) == [("GS101", 6, 63)]
