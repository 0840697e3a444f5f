"""The worked candidates of the semantics (section 8) with claims: whose devices a Pod gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.builders import Json, asking, make_pod
from tests.cluster.api import Api, ApiError, path, wait_until
from tests.cluster.claims.allocated import wait_rows
from tests.cluster.claims.devices import NVIDIA
from tests.cluster.claims.fleet import DRA
from tests.cluster.claims.running import Gpuspec
from tests.cluster.pods import create_pod, pod, wait_decided
from tests.cluster.product.installation import WEBHOOK
from tests.cluster.product.places import cordoned, fresh_namespace, in_parallel, nodes_of
from tests.cluster.product.priorities import HIGH
from tests.cluster.product.test_worked_candidates import DENIED, LOW, MODELS, bodies, wanted
from tests.cluster.versions import ON_NEWEST
from webhook.terms import REQUEST_ANNOTATION

pytestmark = ON_NEWEST


@pytest.mark.rule("D2", "D4", "D5", "C1", "C2", "C4", "N6")
def test_every_request_gets_devices_of_the_cheapest_row_left_and_none_when_none_is(
    gpuspec: Gpuspec,
) -> None:
    """Row after row is allocated to others, the cheapest first; every request is made each time."""
    api, pods = gpuspec.api, bodies("pod")
    with ExitStack() as others:
        for step in range(len(MODELS) + 1):
            if step:
                others.enter_context(allocated_to_others(api, MODELS[step - 1]))
            expected = wanted("pod", MODELS[:step])
            with fresh_namespace(api) as namespace:
                in_parallel(lambda name: create_pod(api, namespace, pods[name]), pods)
                assert wait_rows(api, namespace, expected) == expected


@contextmanager
def allocated_to_others(api: Api, model: str) -> Iterator[None]:
    """A time in which somebody else's claims hold every device of a model."""
    names = nodes_of(model)
    every = {"deviceClassName": NVIDIA, "allocationMode": "All"}
    spec = {"devices": {"requests": [{"name": "every", "exactly": every}]}}
    with fresh_namespace(api) as namespace:
        at = path(DRA, "resourceclaimtemplates", namespace=namespace)
        api.create(at, {"metadata": {"name": "every"}, "spec": {"spec": spec}})
        in_parallel(lambda name: create_pod(api, namespace, holder(name)), names)
        assert wait_decided(api, namespace, names) == {name: name for name in names}
        yield


def holder(node: str) -> Json:
    return pod(
        node,
        tolerations=[{"operator": "Exists"}],
        nodeSelector={"kubernetes.io/hostname": node},
        resourceClaims=[{"name": "every", "resourceClaimTemplateName": "every"}],
    )


@pytest.mark.rule("D7")
def test_a_tier_without_a_usable_device_is_skipped(gpuspec: Gpuspec, namespace: str) -> None:
    api, body = gpuspec.api, asking(any_24gb=1).high().build()
    with cordoned(api, "a30-24gb"):
        wait_candidates(gpuspec, body, ["v100-32gb"])
        create_pod(api, namespace, body)
        expected = {"train": "v100-32gb"}
        assert wait_rows(api, namespace, expected) == expected
    wait_candidates(gpuspec, body, ["a30-24gb"])


def wait_candidates(gpuspec: Gpuspec, body: Json, rows: list[str]) -> None:
    """Wait until admission gives a Pod these rows: it learns of nodes from the table's status."""
    at = path("v1", "pods", namespace="default")

    def known() -> bool:
        annotations = gpuspec.api.create(at, body, dryRun="All")["metadata"]["annotations"]
        return bool(json.loads(annotations[REQUEST_ANNOTATION])["candidates"] == rows)

    wait_until(known, timeout=60, what=f"a Pod to be given {rows}", poll=0.2)


@pytest.mark.rule("A2", "G5", "R4")
@pytest.mark.parametrize("priority", [LOW, HIGH], ids=["low", "high"])
@pytest.mark.parametrize(("specs", "text"), DENIED, ids=["any-40gb-8", "a30-32gb", "h100"])
def test_a_request_that_no_row_meets_is_refused_in_the_same_words(
    gpuspec: Gpuspec, specs: dict[str, int], text: str, priority: str | None
) -> None:
    body = make_pod().container("main", **specs)
    if priority is not None:
        body.spec(priorityClassName=priority)
    with pytest.raises(ApiError) as refused:
        create_pod(gpuspec.api, "default", body.build())
    assert refused.value.message == f'admission webhook "{WEBHOOK}" denied the request: {text}'
