"""With the webhook down, Pods with our key wait for it, and nobody else notices."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.builders import asking, make_pod
from tests.cluster.api import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import GPU
from tests.cluster.pods import create_pod, node_of
from tests.cluster.product.installation import WEBHOOK, Installation
from tests.cluster.product.places import model_of
from tests.cluster.product.service import Service
from tests.cluster.product.workloads import (
    conditions,
    create_workload,
    wait_pods,
    workload,
    workload_path,
)
from tests.cluster.versions import ON_NEWEST

pytestmark = ON_NEWEST

KEYLESS = (
    make_pod("plain").container("main", {"cpu": "1"}),
    make_pod("native").container("main", {GPU: "1"}).selector(gpu_model="a30-24gb"),
    make_pod("other-devices").container("main", {"preferred.jp/mncore": "1"}),
)


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    ("outage", "reason"),
    [
        (Service.down, "dial tcp 127.0.0.1:{port}: connect: connection refused"),
        (Service.frozen, "context deadline exceeded"),
    ],
    ids=["down", "frozen"],
)
def test_in_an_outage_pods_with_our_key_are_refused_and_all_others_created(
    cluster: ControlPlane,
    webhook: Installation,
    namespace: str,
    outage: Callable[[Service], AbstractContextManager[None]],
    reason: str,
) -> None:
    service = webhook.service
    with outage(service):
        with pytest.raises(ApiError) as refused:
            create_pod(cluster.api, namespace, asking(any_24gb=1).build())
        for pod in KEYLESS:
            create_pod(cluster.api, namespace, pod.build())
        create_workload(
            cluster.api, namespace, workload("Deployment", "keyless", KEYLESS[0], replicas=2)
        )
        wait_pods(cluster.api, namespace, "keyless", 2)
    assert refused.value.message == (
        f'Internal error occurred: failed calling webhook "{WEBHOOK}": failed to call webhook: '
        f'Post "https://127.0.0.1:{service.port}/mutate?timeout=3s": '
        f"{reason.format(port=service.port)}"
    )
    assert refused.value.code == 500


def test_a_deployment_made_in_an_outage_runs_after_it_by_itself(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    with webhook.service.down():
        body = workload("Deployment", "train", asking(a30=1), replicas=2)
        create_workload(cluster.api, namespace, body)
        cluster.api.wait_for(
            workload_path("Deployment", namespace, "train"),
            lambda found: "failed calling webhook" in conditions(found).get("ReplicaFailure", ""),
        )
    pods = wait_pods(cluster.api, namespace, "train", 2)
    assert {model_of(node_of(pod) or "") for pod in pods} == {"a30-24gb"}


@pytest.mark.rule("G4")
def test_switched_off_pods_with_our_key_are_refused_rather_than_left_to_pend(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    with webhook.switched_off(), pytest.raises(ApiError) as refused:
        create_pod(cluster.api, namespace, asking(any_24gb=1).build())
    assert refused.value.message == (
        "pods \"train\" is forbidden: ValidatingAdmissionPolicy 'gpuspec-guard' with binding "
        "'gpuspec-guard' denied request: container \"main\" still asks for "
        "preferred.jp/gpu-any-24gb, which no node has: the Pod would pend for ever. If you wrote "
        'it, write the real resource instead, which "gpuspec mutate --cluster -f FILE" prints: '
        "gpuspec, which turns such keys into real resources, is switched off in this cluster. If "
        "you did not, tell your admins: a webhook whose configuration sorts after zz-gpuspec adds "
        "it, and needs an earlier name."
    )
