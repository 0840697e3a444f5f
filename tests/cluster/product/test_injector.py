"""Another webhook adds a container with our key, or anything else, before or after our turn."""

from __future__ import annotations

import json

import pytest

from tests.builders import Json, asking, expression, make_pod, term
from tests.cluster.api import Api, ApiError, wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import create_pod, wait_decided
from tests.cluster.product.injector import MARK, injecting
from tests.cluster.product.installation import Installation
from tests.cluster.product.places import model_of
from tests.cluster.versions import ON_NEWEST
from webhook.terms import REQUEST_ANNOTATION, SPEC_LABEL

pytestmark = ON_NEWEST

BEFORE, AFTER = "aa-injector", "zzz-injector"
DEVICE = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}


def sidecar(spec: str) -> Json:
    return {
        "name": "injected",
        "image": "sidecar",
        "resources": {"limits": {f"preferred.jp/gpu-{spec}": "1"}},
    }


@pytest.mark.rule("N1", "R5")
def test_before_our_turn_the_first_pass_translates_it(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    with injecting(cluster.api, BEFORE, namespace, [sidecar("any-24gb")]):
        stored = create_pod(cluster.api, namespace, make_pod().container("main").build())
    assert resources_of(stored) == {"main": {}, "injected": DEVICE}
    assert stored["metadata"]["labels"] == {SPEC_LABEL: "gpu-any-24gb"}
    assert model_where_it_runs(cluster.api, namespace) == "v100-32gb"
    assert reviews(webhook, namespace, 1) == [("patched", "Translated")]


@pytest.mark.rule("R2", "N4", "R5")
def test_after_our_turn_the_second_pass_translates_only_it_narrowed_by_the_first(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    """``gpu-any`` alone would also allow the 16 GB cards, and be best off there."""
    with injecting(cluster.api, AFTER, namespace, [sidecar("any")]):
        stored = create_pod(cluster.api, namespace, asking(any_24gb=1).build())
    assert resources_of(stored) == {"main": DEVICE, "injected": DEVICE}
    assert stored["metadata"]["labels"] == {SPEC_LABEL: "mixed"}
    request = json.loads(stored["metadata"]["annotations"][REQUEST_ANNOTATION])
    assert request == {
        "containers": [
            {"name": "main", "spec": "gpu-any-24gb", "count": 1},
            {"name": "injected", "spec": "gpu-any", "count": 1},
        ],
        "policy": "EveryFit",
        "candidates": ["v100-32gb", "a30-24gb", "a100-80gb"],
        "table": webhook.service.digest,
    }
    affinity = stored["spec"]["affinity"]["nodeAffinity"]
    assert affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] == [
        term(expression("gpu-model", "In", "v100-32gb", "a30-24gb", "a100-80gb"))
    ]
    assert model_where_it_runs(cluster.api, namespace) == "v100-32gb"
    assert reviews(webhook, namespace, 2) == [("patched", "Translated")] * 2


@pytest.mark.rule("R2")
def test_a_second_pass_over_our_own_output_changes_nothing(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    """Another key that begins as ours do has the API server ask again once the Pod has changed."""
    pod = asking(any_24gb=1).container("nic", {"preferred.jp/gpudirect-nic": "1"})
    pod.spec(automountServiceAccountToken=False)  # its volume would have a random name
    alone = create_pod(cluster.api, namespace, pod.metadata(name="alone").build())
    with injecting(cluster.api, AFTER, namespace, []):
        stored = create_pod(cluster.api, namespace, pod.metadata(name="train").build())
    assert stored["metadata"]["annotations"].pop(MARK) == "yes"
    for same in ("labels", "annotations"):
        assert stored["metadata"][same] == alone["metadata"][same]
    assert stored["spec"] == alone["spec"]
    assert reviews(webhook, namespace, 3) == [
        ("patched", "Translated"),
        ("patched", "Translated"),
        ("unchanged", "NoSpec"),
    ]


@pytest.mark.rule("G4")
def test_behind_our_back_the_guard_refuses_it(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    """We were skipped in the first round, so the API server does not call us in the second."""
    with (
        injecting(cluster.api, AFTER, namespace, [sidecar("any-24gb")]),
        pytest.raises(ApiError) as refused,
    ):
        create_pod(cluster.api, namespace, make_pod().container("main").build())
    assert refused.value.message == (
        "pods \"train\" is forbidden: ValidatingAdmissionPolicy 'gpuspec-guard' with binding "
        "'gpuspec-guard' denied request: container \"injected\" still asks for "
        "preferred.jp/gpu-any-24gb, which no node has: the Pod would pend for ever. If you wrote "
        'it, write the real resource instead, which "gpuspec mutate --cluster -f FILE" prints: '
        "gpuspec, which turns such keys into real resources, is switched off in this cluster. If "
        "you did not, tell your admins: a webhook whose configuration sorts after zz-gpuspec adds "
        "it, and needs an earlier name."
    )
    assert webhook.service.logged_reviews(namespace) == []


def resources_of(stored: Json) -> dict[str, Json]:
    return {one["name"]: one["resources"] for one in stored["spec"]["containers"]}


def model_where_it_runs(api: Api, namespace: str) -> str | None:
    return model_of(wait_decided(api, namespace, ["train"])["train"] or "")


def reviews(webhook: Installation, namespace: str, count: int) -> list[tuple[str, str]]:
    """What became of each review of the namespace's Pods, the API server's probe aside."""

    def written() -> list[tuple[str, str]]:
        lines = webhook.service.logged_reviews(namespace)
        return [(line["outcome"], line["reason"]) for line in lines if not line["dryRun"]]

    # a line is written a moment after its answer was sent
    wait_until(lambda: len(written()) >= count, timeout=30, what=f"{count} lines in the log")
    return written()
