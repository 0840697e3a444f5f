"""Another table, and another certificate, while Pods are being created."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import yaml

from tests.builders import Json, asking
from tests.cluster.api import Api, ApiError, path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import create_pod, wait_decided
from tests.cluster.product.installation import WEBHOOK, Installation
from tests.cluster.product.places import admitting_models, in_parallel, model_of, nodes_of
from tests.cluster.versions import ON_NEWEST
from webhook.terms import REQUEST_ANNOTATION, RESERVED_TAINT

pytestmark = ON_NEWEST

CREATORS = 4
SWAPS = 2


def changed(table: bytes, **fields: object) -> bytes:
    """The table with these fields in its A100 row."""
    document: Json = yaml.safe_load(table)
    (row,) = (row for row in document["spec"]["devices"] if row["name"] == "a100")
    row.update(fields)
    return yaml.safe_dump(document).encode()


@contextmanager
def reserve_taint(api: Api, model: str) -> Iterator[None]:
    """A time in which the model's nodes have the taint that keeps all others off them."""
    taint = {"key": RESERVED_TAINT, "value": model, "effect": "NoSchedule"}
    names = nodes_of(model)
    before = {name: api.get(path("v1", "nodes", name))["spec"]["taints"] for name in names}
    in_parallel(lambda name: set_taints(api, name, [*before[name], taint]), names)
    try:
        yield
    finally:
        in_parallel(lambda name: set_taints(api, name, before[name]), names)


def set_taints(api: Api, name: str, taints: list[Json]) -> None:
    api.patch(path("v1", "nodes", name), {"spec": {"taints": taints}})


@pytest.mark.rule("D6", "N9")
def test_a_reserved_row_is_for_those_who_name_it(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    with (
        webhook.service.serving(changed(webhook.service.table, reserved=True)),
        reserve_taint(cluster.api, "a100-80gb"),
    ):
        anybody = create_pod(cluster.api, namespace, asking(any_24gb=1).build())
        with pytest.raises(ApiError) as refused:
            create_pod(cluster.api, namespace, asking(any_40gb=1).build())
        named = create_pod(cluster.api, namespace, asking(a100=1).metadata(name="named").build())
        nodes = wait_decided(cluster.api, namespace, ["train", "named"])

    assert admitting_models(anybody) == {"v100-32gb", "a30-24gb"}
    assert refused.value.message == (
        f'admission webhook "{WEBHOOK}" denied the request: container "main": '
        "preferred.jp/gpu-any-40gb: the largest device has 32 GB; write "
        "preferred.jp/gpu-any-32gb or less; a100-80gb fits but is reserved: write "
        "preferred.jp/gpu-a100-80gb"
    )
    assert {
        "key": RESERVED_TAINT,
        "operator": "Equal",
        "value": "a100-80gb",
        "effect": "NoSchedule",
    } in named["spec"]["tolerations"]
    models = {name: model_of(node or "") for name, node in nodes.items()}
    assert models == {"train": "v100-32gb", "named": "a100-80gb"}


def test_no_create_fails_while_table_and_certificate_are_swapped(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    """Each Pod is translated by one of the two tables, and after a swap by the new one."""
    service, done = webhook.service, threading.Event()

    def create(creator: int) -> list[str]:
        """Create Pods until told to stop; the digests of the tables that they met."""
        met: list[str] = []
        while not done.is_set():
            name = f"pod-{creator}-{len(met)}"
            met.append(digest_met(cluster.api, namespace, name))
        return met

    first, other = service.digest, changed(service.table, cost=9)
    with ThreadPoolExecutor(CREATORS) as pool:
        creators = [pool.submit(create, number) for number in range(CREATORS)]
        try:
            for swap in range(SWAPS):
                with service.serving(other):
                    service.swap_certificate()
                    assert digest_met(cluster.api, namespace, f"in-{swap}") == service.digest
                service.swap_certificate()
                assert digest_met(cluster.api, namespace, f"after-{swap}") == first
        finally:
            done.set()
        met = {digest for creator in creators for digest in creator.result()}
    assert first in met
    assert len(met) == 2


def digest_met(api: Api, namespace: str, name: str) -> str:
    """Create a Pod that nobody schedules; the digest of the table that translated it."""
    pod = asking(any_24gb=1).metadata(name=name).spec(schedulingGates=[{"name": "example.com/no"}])
    stored = create_pod(api, namespace, pod.build())
    digest: str = json.loads(stored["metadata"]["annotations"][REQUEST_ANNOTATION])["table"]
    return digest
