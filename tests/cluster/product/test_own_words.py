"""Pods that say more than the one line: their own selectors, a node, zero, devices by hand."""

from __future__ import annotations

import json

import pytest

from selection_spec.table import load_table
from tests.answers import warned
from tests.builders import GPU, PodBuilder, asking, expression, make_pod, term
from tests.cluster.api import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import create_pod, wait_decided, wait_running
from tests.cluster.product.installation import WEBHOOK, Installation
from tests.cluster.product.places import model_of, nodes_of
from tests.cluster.versions import ON_NEWEST
from webhook.snapshot import Snapshot

pytestmark = [ON_NEWEST, pytest.mark.usefixtures("webhook")]


@pytest.mark.rule("N3", "N4")
@pytest.mark.parametrize(
    ("pod", "model"),
    [
        (asking(any_24gb=1).selector(gpu_model="a100-80gb"), "a100-80gb"),
        (asking(any_24gb=1).terms(term(expression("gpu-model", "NotIn", "v100-32gb"))), "a30-24gb"),
        (
            asking(any_24gb=1).terms(
                term(expression("gpu-model", "In", "v100-16gb")),
                term(expression("gpu-model", "In", "a100-80gb", "a30-24gb")),
            ),
            "a30-24gb",
        ),
        (asking(any_24gb=1).high().selector(gpu_model="v100-32gb"), "v100-32gb"),
    ],
    ids=["selector", "not-in", "terms", "selector-high"],
)
def test_own_selectors_narrow_the_choice(
    cluster: ControlPlane, namespace: str, pod: PodBuilder, model: str
) -> None:
    create_pod(cluster.api, namespace, pod.build())
    node = wait_decided(cluster.api, namespace, ["train"])["train"]
    assert model_of(node or "") == model


@pytest.mark.rule("N4")
def test_own_selectors_that_leave_nothing_are_refused_with_both_sides(
    cluster: ControlPlane, namespace: str
) -> None:
    with pytest.raises(ApiError) as refused:
        create_pod(
            cluster.api, namespace, asking(any_24gb=1).selector(gpu_model="v100-16gb").build()
        )
    assert refused.value.message == (
        f'admission webhook "{WEBHOOK}" denied the request: the Pod\'s nodeSelector or '
        "affinity (gpu-model=v100-16gb) excludes every device for gpu-any-24gb (v100-32gb: "
        "gpu-model=v100-32gb; a30-24gb: gpu-model=a30-24gb; a100-80gb: gpu-model=a100-80gb); "
        "remove it or change the spec"
    )


@pytest.mark.rule("N7")
def test_a_pod_with_a_node_gets_the_resource_and_stays_there(
    cluster: ControlPlane, namespace: str
) -> None:
    node = nodes_of("a100-80gb")[0]
    create_pod(cluster.api, namespace, asking(any_24gb=1).spec(nodeName=node).build())
    spec = wait_running(cluster.api, namespace, "train")["spec"]
    assert spec["containers"][0]["resources"]["limits"] == {GPU: "1"}
    assert spec["nodeName"] == node
    assert "affinity" not in spec


@pytest.mark.rule("A3")
def test_a_pod_for_zero_devices_runs_where_any_pod_does(
    cluster: ControlPlane, namespace: str
) -> None:
    stored = create_pod(cluster.api, namespace, asking(any_24gb=0).build())
    assert stored["spec"]["containers"][0]["resources"].get("limits", {}) == {}
    node = wait_decided(cluster.api, namespace, ["train"])["train"]
    assert model_of(node or "") is None


@pytest.mark.rule("A6", "A7", "R8")
def test_devices_by_hand_in_another_container_are_counted_and_kubectl_warns(
    cluster: ControlPlane, webhook: Installation, namespace: str
) -> None:
    """Six and two devices: only nodes with eight are left of those with 24 GB."""
    pod = make_pod().container("main", any_24gb=6).container("beside", {GPU: "2"})
    (warning,) = warned(pod, Snapshot(load_table(webhook.service.table)))
    created = cluster.kubectl.run(
        *("create", "-n", namespace, "-f", "-"), stdin=json.dumps(pod.build())
    )
    assert created.stderr == f"Warning: {warning}\n"
    node = wait_decided(cluster.api, namespace, ["train"])["train"]
    assert model_of(node or "") == "v100-32gb"
