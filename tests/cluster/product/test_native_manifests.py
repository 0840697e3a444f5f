"""Pods without a key of ours: they never reach the webhook and come back as without it."""

from __future__ import annotations

import pytest

from tests.builders import Json, PodBuilder, expression, make_pod, term, tolerate
from tests.cluster.api import Api, path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import GPU
from tests.cluster.pods import create_pod, wait_decided
from tests.cluster.product.installation import Installation
from tests.cluster.product.places import model_of

pytestmark = pytest.mark.usefixtures("webhook")

ONE = {GPU: "1"}


def by_hand(name: str) -> PodBuilder:
    """A Pod whose user knows labels and taints."""
    return make_pod(name).container("main", ONE).tolerates(tolerate("gpu-model", "a100-80gb"))


NATIVE = (
    make_pod("plain").container("main"),
    make_pod("cpu").container("main", {"cpu": "1", "memory": "1Gi"}),
    by_hand("selector").selector(gpu_model="a100-80gb"),
    by_hand("affinity")
    .terms(term(expression("gpu-model", "In", "a100-80gb", "a30-24gb")))
    .prefers({"weight": 7, "preference": term(expression("gpu-model", "In", "a30-24gb"))}),
    by_hand("tolerate-all").tolerates({"operator": "Exists"}),
    by_hand("init").init("first", ONE).sidecar("beside", ONE),
    by_hand("high").high(),
    make_pod("other-devices").container("main", {"preferred.jp/mncore": "4"}),
    make_pod("other-key").container("main", {"preferred.jp/network": "1"}),
    make_pod("like-ours").container("main", {"example.com/gpu-any": "1"}),
)

OTHER_KEY_OF_THE_DOMAIN = make_pod("nic").container("main", {"preferred.jp/gpudirect-nic": "1"})
"""Begins as our keys do, so the API server asks the webhook, which knows better."""


@pytest.mark.rule("G4", "R3")
def test_native_pods_are_the_same_with_and_without_the_webhook_and_never_reach_it(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    before = webhook.service.reviews()
    with_webhook = [tried(cluster.api, namespace, pod) for pod in NATIVE]
    assert webhook.service.reviews() == before
    with_webhook.append(tried(cluster.api, namespace, OTHER_KEY_OF_THE_DOMAIN))
    assert webhook.service.reviews() - before == {("dry_run", "NoSpec"): 1}
    with webhook.switched_off():
        without = [tried(cluster.api, namespace, pod) for pod in (*NATIVE, OTHER_KEY_OF_THE_DOMAIN)]
    assert with_webhook == without


def test_a_native_pod_runs_where_its_user_says(cluster: ControlPlane, namespace: str) -> None:
    create_pod(cluster.api, namespace, by_hand("train").selector(gpu_model="a100-80gb").build())
    node = wait_decided(cluster.api, namespace, ["train"])["train"]
    assert model_of(node or "") == "a100-80gb"


def tried(api: Api, namespace: str, pod: PodBuilder) -> Json:
    """What the API server would store, without what it makes up anew each time."""
    body = pod.spec(automountServiceAccountToken=False).build()  # its volume has a random name
    stored = api.create(path("v1", "pods", namespace=namespace), body, dryRun="All")
    for changing in ("uid", "creationTimestamp", "managedFields"):
        del stored["metadata"][changing]
    return stored
