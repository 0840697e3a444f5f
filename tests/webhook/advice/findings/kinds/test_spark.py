"""Spark: drivers and executors, what runs beside them, and where."""

from __future__ import annotations

import pytest

from tests.webhook.advice.findings.kinds.sight import limits, views_of

_API = "sparkoperator.k8s.io/v1beta2"
_LIMITS = "resources.limits"


@pytest.mark.parametrize(
    ("kind", "spec", "at"),
    [
        ("SparkApplication", "%s", "spec"),
        ("ScheduledSparkApplication", "{template: %s}", "spec.template"),
    ],
)
def test_roles_are_placed_by_the_application_and_have_containers_beside(
    kind: str, spec: str, at: str
) -> None:
    inner = (
        "{nodeSelector: {a: all}, tolerations: [{}], driver: {nodeSelector: {a: d}, "
        "gpu: {name: gpu, quantity: 2}, sidecars: [{name: s, resources: {limits: {gpu: 1}}}]}, "
        "executor: {initContainers: [{name: i, resources: {limits: {gpu: 1}}}]}}"
    )
    driver, executor = views_of(_API, kind, spec % inner)
    assert limits(driver) == {
        "driver": {"gpu": f"{at}.driver.gpu.name"},
        "s": {"gpu": f"{at}.driver.sidecars[0].resources.limits.gpu"},
    }
    assert driver.pod["spec"]["nodeSelector"] == {"a": "d"}
    assert limits(executor) == {"i": {"gpu": f"{at}.executor.initContainers[0].{_LIMITS}.gpu"}}
    assert executor.pod["spec"]["nodeSelector"] == {"a": "all"}
    assert "tolerations" not in executor.pod["spec"]
