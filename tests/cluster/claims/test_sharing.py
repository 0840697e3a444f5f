"""Which containers of a Pod share a claim, and that a Pod holds all its claims at once (A7, C1)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.builders import PodBuilder, make_pod
from tests.cluster.api import ApiError
from tests.cluster.claims.allocated import wait_given
from tests.cluster.claims.running import Gpuspec
from tests.cluster.pods import create_pod
from tests.cluster.product.installation import WEBHOOK
from tests.cluster.product.places import model_of


@dataclass(frozen=True)
class Case:
    """A Pod, the claim that each container uses, and how many devices each claim has."""

    pod: PodBuilder
    uses: dict[str, str]
    devices: dict[str, int]
    models: frozenset[str]


V100_32, A30, A100 = "v100-32gb", "a30-24gb", "a100-80gb"
AT_LEAST_24 = frozenset((V100_32, A30, A100))

CASES = {
    "an init container and a main one": Case(
        make_pod().init("load", any_24gb=2).container("main", any_24gb=2),
        {"load": "gpuspec-main", "main": "gpuspec-main"},
        {"gpuspec-main": 2},
        AT_LEAST_24,
    ),
    "an init container of another amount": Case(
        make_pod().init("load", any_24gb=1).container("main", any_24gb=2),
        {"load": "gpuspec-load", "main": "gpuspec-main"},
        {"gpuspec-load": 1, "gpuspec-main": 2},
        AT_LEAST_24,
    ),
    "an init container of another spec": Case(
        make_pod().init("load", any_32gb=1).container("main", any_24gb=1),
        {"load": "gpuspec-load", "main": "gpuspec-main"},
        {"gpuspec-load": 1, "gpuspec-main": 1},
        frozenset((V100_32, A100)),
    ),
    "two init containers without a main one like them": Case(
        make_pod().init("one", any_24gb=1).init("two", any_24gb=1).container("main", any_24gb=2),
        {"one": "gpuspec-one", "two": "gpuspec-two", "main": "gpuspec-main"},
        {"gpuspec-one": 1, "gpuspec-two": 1, "gpuspec-main": 2},
        AT_LEAST_24,
    ),
    "an init container and the first of two main ones": Case(
        make_pod()
        .init("load", any_24gb=1)
        .container("first", any_24gb=1)
        .container("second", any_24gb=1),
        {"load": "gpuspec-first", "first": "gpuspec-first", "second": "gpuspec-second"},
        {"gpuspec-first": 1, "gpuspec-second": 1},
        AT_LEAST_24,
    ),
    "a sidecar and a main one": Case(
        make_pod().sidecar("watch", any_24gb=1).container("main", any_24gb=1),
        {"watch": "gpuspec-watch", "main": "gpuspec-main"},
        {"gpuspec-watch": 1, "gpuspec-main": 1},
        AT_LEAST_24,
    ),
    "a whole node": Case(
        make_pod().sidecar("watch", a30=1).init("load", a30=3).container("main", a30=2),
        {"watch": "gpuspec-watch", "load": "gpuspec-load", "main": "gpuspec-main"},
        {"gpuspec-watch": 1, "gpuspec-load": 3, "gpuspec-main": 2},
        frozenset((A30,)),
    ),
    "specs with one row in common": Case(
        make_pod().container("one", v100=1).container("two", any_32gb=2).container("none"),
        {"one": "gpuspec-one", "two": "gpuspec-two"},
        {"gpuspec-one": 1, "gpuspec-two": 2},
        frozenset((V100_32,)),
    ),
}


@pytest.mark.rule("A7", "C1", "C2", "D1")
@pytest.mark.parametrize("name", CASES)
def test_containers_use_their_own_claim_or_that_of_a_main_one(
    gpuspec: Gpuspec, namespace: str, name: str
) -> None:
    case = CASES[name]
    stored = create_pod(gpuspec.api, namespace, case.pod.build())
    containers = [*stored["spec"].get("initContainers", ()), *stored["spec"]["containers"]]
    assert case.uses == {
        one["name"]: claim["name"]
        for one in containers
        for claim in one["resources"].get("claims", ())
    }
    ones = wait_given(gpuspec.api, namespace, "train")
    assert {one.name: len(one.devices) for one in ones} == case.devices
    (node,) = {one.node for one in ones}
    assert model_of(node) in case.models


@pytest.mark.rule("A7", "D2")
def test_claims_of_init_containers_count_though_they_are_over_when_the_others_start(
    gpuspec: Gpuspec, namespace: str
) -> None:
    """With a device plugin this Pod has a place: its peak is 5."""
    body = make_pod().init("load", any=5).container("main", any=4).build()
    with pytest.raises(ApiError) as refused:
        create_pod(gpuspec.api, namespace, body)
    assert refused.value.message == (
        f'admission webhook "{WEBHOOK}" denied the request: 9 GPUs in one Pod (5 in "load", '
        '4 in "main"), the largest v100 node has 8; ask for fewer, or use several Pods'
    )
