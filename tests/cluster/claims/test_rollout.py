"""Deployments that roll from the device plugin's rows to claims, row by row, and back."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.builders import PodBuilder, asking
from tests.cluster.api import Api, Json, path, wait_until
from tests.cluster.claims.allocated import claims_in, given
from tests.cluster.claims.fleet import DRA, fleets_table
from tests.cluster.claims.running import Gpuspec
from tests.cluster.fleet import GPU
from tests.cluster.pods import node_of
from tests.cluster.product.places import model_of
from tests.cluster.product.workloads import (
    create_workload,
    pods_of,
    wait_pods,
    workload,
    workload_path,
)
from tests.cluster.versions import ON_NEWEST

pytestmark = ON_NEWEST

REPLICAS = 6
DEPLOYMENTS: Mapping[str, tuple[PodBuilder, frozenset[str]]] = {
    "a100": (asking(a100=1), frozenset(("a100-80gb",))),
    "any-24gb": (asking(any_24gb=1), frozenset(("v100-32gb", "a30-24gb", "a100-80gb"))),
    "any-24gb-high": (asking(any_24gb=1).high(), frozenset(("a30-24gb",))),
}
NEVER_FEWER = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 3}}


def a100_by_claim() -> Json:
    """The table of an admin who moves one row first."""
    table = fleets_table(output="ExtendedResource")
    for row in table["spec"]["devices"]:
        if row["name"] == "a100":
            row["output"] = "ResourceClaim"
    return table


# A table, and the Deployments whose devices it makes claims.
STEPS: tuple[tuple[Json, frozenset[str]], ...] = (
    (fleets_table(output="ExtendedResource"), frozenset()),
    (a100_by_claim(), frozenset(("a100",))),
    (fleets_table(), frozenset(DEPLOYMENTS)),
    (a100_by_claim(), frozenset(("a100",))),
    (fleets_table(output="ExtendedResource"), frozenset()),
)


@pytest.mark.rule("D9", "C1", "C3", "N1")
def test_a_row_moves_to_claims_and_back_and_no_pod_is_lost(
    gpuspec: Gpuspec, namespace: str
) -> None:
    former = gpuspec.table
    try:
        for number, (table, by_claim) in enumerate(STEPS):
            gpuspec.use(table)
            for name in DEPLOYMENTS:
                (restart if number else deploy)(gpuspec, namespace, name, number)
            for name in DEPLOYMENTS:
                wait_rolled(gpuspec, namespace, name)
                is_right(gpuspec, namespace, name, by_claim=name in by_claim)
            wait_claims(gpuspec.api, namespace, REPLICAS * len(by_claim))
        templates = path(DRA, "resourceclaimtemplates", namespace=namespace)
        wait_until(
            lambda: not gpuspec.api.list(templates), timeout=60, what="no template to be left"
        )
    finally:
        gpuspec.use(former)


def deploy(gpuspec: Gpuspec, namespace: str, name: str, _: int) -> None:
    """Create a Deployment and wait until all of it runs."""
    body, _rows = DEPLOYMENTS[name]
    made = workload("Deployment", name, body, replicas=REPLICAS, strategy=NEVER_FEWER)
    create_workload(gpuspec.api, namespace, made)
    wait_pods(gpuspec.api, namespace, name, REPLICAS)


def restart(gpuspec: Gpuspec, namespace: str, name: str, number: int) -> None:
    """Do what ``kubectl rollout restart`` does."""
    template = {"metadata": {"annotations": {"restarted": str(number)}}}
    at = workload_path("Deployment", namespace, name)
    gpuspec.api.patch(at, {"spec": {"template": template}})


def wait_rolled(gpuspec: Gpuspec, namespace: str, name: str) -> None:
    """Wait until all Pods are new; at no time were there fewer that run than wanted."""
    at = workload_path("Deployment", namespace, name)

    def over() -> bool:
        found = gpuspec.api.get(at)
        status = found["status"]
        assert status.get("availableReplicas", 0) >= REPLICAS
        return bool(
            status["observedGeneration"] == found["metadata"]["generation"]
            and status.get("updatedReplicas") == status["replicas"] == REPLICAS
            and len(pods_of(gpuspec.api, namespace, name)) == REPLICAS
        )

    wait_until(over, timeout=120, what=f"{name} to have rolled", poll=0.2)


def is_right(gpuspec: Gpuspec, namespace: str, name: str, *, by_claim: bool) -> None:
    """Every Pod has a device by the wanted way, of a row that it may have."""
    held = given(gpuspec.api, namespace)
    for pod in pods_of(gpuspec.api, namespace, name):
        node = node_of(pod)
        assert node is not None
        assert model_of(node) in DEPLOYMENTS[name][1]
        (main,) = pod["spec"]["containers"]
        assert (GPU in main["resources"].get("limits", {})) is not by_claim
        assert len(held[pod["metadata"]["name"]]) == by_claim


def wait_claims(api: Api, namespace: str, number: int) -> None:
    """Wait until there are exactly so many claims: none is left of Pods that are gone."""
    wait_until(
        lambda: len(claims_in(api, namespace)) == number,
        timeout=60,
        what=f"{number} claims",
        state=lambda: f"there are {len(claims_in(api, namespace))}",
    )
