"""Whose eviction a PodDisruptionBudget would refuse (H9): as the API server has it."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.advice.health.disruptions import PodState, disruption_budget, pod_state, refusal

pytestmark = pytest.mark.rule("H9")

WEB = {"app": "web", "tier": "gold"}
READY = PodState(WEB, is_ready=True)
SICK = PodState(WEB)
SAID = "the PodDisruptionBudget ml/keep allows no disruption now"


def budget(allowed: int = 0, name: str = "keep", **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    status = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 2}
    return {
        "metadata": {"name": name, "namespace": "ml", "generation": 2},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **changes.pop("spec", {})},
        "status": {**status, "observedGeneration": 2, **changes},
    }


def refused(pod: PodState, *budgets: dict[str, Any], namespace: str = "ml") -> str:
    return refusal(namespace, pod, [disruption_budget(one) for one in budgets])


def test_what_is_allowed_is_not_refused() -> None:
    assert refused(READY, budget(1)) == ""
    assert refused(READY, budget()) == SAID


def test_a_budget_is_of_its_namespace() -> None:
    assert refused(READY, budget(), namespace="web") == ""


@pytest.mark.parametrize(
    ("selector", "selects"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchLabels": {"app": "web", "tier": "gold"}}, True),
        ({"matchLabels": {"app": "web", "zone": "a"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}, True),
    ],
)
def test_whom_a_budget_is_about(selector: object, *, selects: bool) -> None:
    assert bool(refused(READY, budget(spec={"selector": selector}))) is selects


def test_two_budgets_are_one_too_many() -> None:
    """Kubernetes answers so whatever they allow."""
    assert refused(READY, budget(9), budget(9, name="also")) == (
        "more than one PodDisruptionBudget is about it (ml/also, ml/keep): Kubernetes never evicts "
        "it"
    )


def test_who_is_not_ready_is_told_what_would_help() -> None:
    assert refused(SICK, budget()) == (
        f"{SAID}; it is not Ready: unhealthyPodEvictionPolicy: AlwaysAllow there lets it go"
    )
    assert refused(SICK, budget(spec={"unhealthyPodEvictionPolicy": "AlwaysAllow"})) == ""
    assert refused(READY, budget(spec={"unhealthyPodEvictionPolicy": "AlwaysAllow"})) == SAID


@pytest.mark.parametrize(
    ("desired", "healthy", "goes"), [(2, 2, True), (2, 1, False), (0, 0, False)]
)
def test_who_is_not_ready_goes_where_enough_others_are(
    desired: int, healthy: int, *, goes: bool
) -> None:
    found = budget(desiredHealthy=desired, currentHealthy=healthy)
    assert (refused(SICK, found) == "") is goes


def test_a_budget_that_nobody_has_looked_at_since_it_changed_allows_nothing() -> None:
    assert refused(READY, budget(5, observedGeneration=1)) == SAID


def test_who_does_not_run_yet_is_never_refused() -> None:
    assert refused(PodState(WEB, is_running=False), budget()) == ""


def test_what_counts_of_a_pod() -> None:
    ready, other = {"type": "Ready", "status": "True"}, {"type": "Other", "status": "True"}
    raw = {"metadata": {"labels": WEB}, "status": {"phase": "Running", "conditions": [ready]}}
    assert pod_state(raw) == READY
    assert pod_state({**raw, "status": {"phase": "Running", "conditions": [other]}}) == SICK
    assert pod_state({}) == PodState(is_running=False)
