"""Kubeflow's TrainJobs: what each node has."""

from __future__ import annotations

import pytest

from tests.webhook.advice.findings.kinds.sight import limits, views_of
from webhook.advice.findings.fleet import at_once

_API = "trainer.kubeflow.org/v1alpha1"


def test_each_node_is_a_pod() -> None:
    (view,) = views_of(
        _API, "TrainJob", "{trainer: {numNodes: 3, resourcesPerNode: {limits: {gpu: 8}}}}"
    )
    assert limits(view) == {"node": {"gpu": "spec.trainer.resourcesPerNode.limits.gpu"}}
    assert at_once(view) == (3, ("spec", "trainer", "numNodes"))


@pytest.mark.parametrize("spec", ["{}", "{trainer: {resourcesPerNode: 8}}", "{trainer: [8]}"])
def test_without_resources_nothing_is_known(spec: str) -> None:
    assert views_of(_API, "TrainJob", spec) == []
