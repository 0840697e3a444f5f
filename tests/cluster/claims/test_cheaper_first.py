"""Cheaper first with claims, where ``firstAvailable`` alone is outvoted (semantics N6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.builders import asking
from tests.cluster.api import Json, path
from tests.cluster.claims.allocated import given
from tests.cluster.claims.devices import Device, nvidia, slices
from tests.cluster.claims.fleet import claim_of, fleets_table, publishing
from tests.cluster.claims.running import Gpuspec
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import fake_node
from tests.cluster.nodes import create_nodes
from tests.cluster.product.places import in_parallel
from tests.cluster.product.test_cheaper_first import (
    DEVICES_A_NODE,
    LABEL,
    NODES_A_STEP,
    STEPS,
    count_by_step,
)
from tests.cluster.product.workloads import create_workload, wait_pods, workload
from tests.cluster.versions import ON_NEWEST

pytestmark = ON_NEWEST

REPLICAS = 120


@pytest.fixture(scope="module")
def steps(cluster: ControlPlane) -> Iterator[None]:
    """Four rows of as many nodes each, whose devices are told apart by their product."""
    names = {f"{step}-{number:02d}": step for step in STEPS for number in range(NODES_A_STEP)}
    create_nodes(
        cluster.api, [fake_node(name, labels={LABEL: step}) for name, step in names.items()]
    )
    try:
        published = [one for name, step in names.items() for one in slices(name, devices_of(step))]
        with publishing(cluster.api, published):
            yield
    finally:
        in_parallel(lambda name: cluster.api.delete(path("v1", "nodes", name)), names)


def devices_of(step: str) -> list[Device]:
    return [
        nvidia(f"gpu-{number}", product_of(step), "16384Mi", "Volta", "7.0.0")
        for number in range(DEVICES_A_NODE)
    ]


def product_of(step: str) -> str:
    return f"The {step}"


def table_of_steps(**fields: object) -> Json:
    rows = [
        {
            "name": step,
            "vram": "16gb",
            "perNode": DEVICES_A_NODE,
            "cost": cost,
            "nodes": {"matchLabels": {LABEL: step}},
            "claim": claim_of(product_of(step)),
        }
        for cost, step in enumerate(STEPS)
    ]
    return fleets_table(devices=rows, **fields)


@pytest.mark.rule("N6", "C4")
@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("prefer_cheaper", [True, False], ids=["cheaper-first", "as-kubernetes"])
def test_replicas_share_the_rows(
    gpuspec: Gpuspec, namespace: str, capsys: pytest.CaptureFixture[str], *, prefer_cheaper: bool
) -> None:
    """Of 120, where 160 fit on the cheapest row: nearly all with our terms, far fewer without."""
    api = gpuspec.api
    with gpuspec.serving(table_of_steps(preferCheaper=prefer_cheaper)):
        body = workload("Deployment", "train", asking(any=1), replicas=REPLICAS)
        create_workload(api, namespace, body)
        shares = count_by_step(wait_pods(api, namespace, "train", REPLICAS))
        rows = Counter(ones[0].row for ones in given(api, namespace).values())
    with capsys.disabled():
        print(
            f"\nKubernetes {gpuspec.plane.version}, preferCheaper: {prefer_cheaper}: of {REPLICAS} "
            f"replicas {', '.join(f'{shares[step]} on the {step}' for step in STEPS)} row"
        )
    assert rows == {f"{step}-16gb": shares[step] for step in STEPS if shares[step]}
    if prefer_cheaper:
        assert shares[STEPS[0]] >= 0.95 * REPLICAS
    else:
        assert shares[STEPS[0]] <= 0.6 * REPLICAS
