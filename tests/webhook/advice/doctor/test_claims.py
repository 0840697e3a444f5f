"""What is said of an installation whose rows are taken by claims, as whole texts."""

from __future__ import annotations

import pytest

from tests.builders import GPU, make_pod
from tests.webhook.advice.doctor.world import Change, World, findings, forbidden, named
from tests.webhook.advice.pods import make_slice
from tests.webhook.inventory.drivers import claim
from webhook.advice.doctor.findings import Level
from webhook.advice.doctor.seen import Topic

ALL = "v100-16gb, v100-32gb, a30-24gb, a100-80gb"
WAITS = "so the templates of new claims are not made: Pods with claims wait"


@pytest.fixture
def world() -> World:
    world = World()
    world.take_by_claims()
    return world


def test_of_a_right_installation_nothing_is_said_but_that_it_is(world: World) -> None:
    assert {report.level for report in world.examine()} == {Level.FINE}
    assert findings(world, "claims") == [
        "fine: 4 rows are taken by claims; classes, drivers and the controller are there"
    ]
    assert findings(World(), "claims") == ["fine: no row is taken by claims"]


def test_what_a_pod_becomes(world: World) -> None:
    (said,) = findings(world, "translation")
    assert said.startswith(
        "fine: preferred.jp/gpu-any: 1 in namespace default becomes a claim on 4 kinds of device, "
        "template gpuspec-"
    )
    assert findings(world, "tolerations") == ["fine: no row is taken by an extended resource"]


@pytest.mark.rule("C2")
def test_somebody_takes_the_annotation_away(world: World) -> None:
    assert isinstance(world.spec, list)
    del world.spec[0]["metadata"]["annotations"]["gpuspec.preferred.jp/claims"]
    (name,) = (one["resourceClaimTemplateName"] for one in world.spec[0]["spec"]["resourceClaims"])
    assert findings(world, "translation") == [
        (
            f"error: preferred.jp/gpu-any: 1 in namespace default becomes a claim, but what its "
            f"template {name} holds is not in the annotation gpuspec.preferred.jp/claims: nobody "
            "can make it, and the Pod would wait -> see what else changes annotations of Pods"
        )
    ]


def nobody_leads(world: World) -> None:
    world.only(Topic.LEASE)["spec"]["holderIdentity"] = ""


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        pytest.param(
            nobody_leads,
            f"error: no controller leads, {WAITS} -> see that one runs; more is said there",
            id="no-controller",
        ),
        pytest.param(
            lambda world: world.denied.add(
                "controller/create resourceclaimtemplates.resource.k8s.io"
            ),
            f"error: the controller may not create resourceclaimtemplates, {WAITS} -> apply the "
            "roles and bindings of gpuspec's manifests",
            id="no-permission",
        ),
        pytest.param(
            lambda world: world.answers.update({Topic.LEASE: forbidden("get leases")}),
            "unknown: could not look who makes templates: permission to get leases is missing",
            id="lease-not-seen",
        ),
        pytest.param(
            lambda world: setattr(world, "classes", [named("mig.nvidia.com")]),
            f"error: DeviceClass gpu.nvidia.com does not exist, so nobody gets {ALL} (C3); there "
            "is mig.nvidia.com -> install the driver, or mend claim.deviceClassName in the table",
            id="another-class",
        ),
        pytest.param(
            lambda world: setattr(world, "classes", []),
            f"error: DeviceClass gpu.nvidia.com does not exist, so nobody gets {ALL} (C3); there "
            "is none -> install the driver, or mend claim.deviceClassName in the table",
            id="no-class",
        ),
        pytest.param(
            lambda world: setattr(world, "classes", forbidden("list deviceclasses")),
            "unknown: could not look at DeviceClasses: permission to list deviceclasses is missing",
            id="classes-not-seen",
        ),
        pytest.param(
            lambda world: setattr(world, "slices", []),
            f"error: no ResourceSlice is of driver gpu.nvidia.com, so claims for {ALL} wait; there "
            "are none at all -> see that the driver's DaemonSet runs on the nodes, or mend "
            "claim.driver",
            id="no-slices",
        ),
        pytest.param(
            lambda world: setattr(world, "slices", forbidden("list resourceslices")),
            "unknown: could not look at ResourceSlices: permission to list resourceslices is "
            "missing",
            id="slices-not-seen",
        ),
    ],
)
def test_what_claims_lack(world: World, change: Change, wanted: str) -> None:
    change(world)
    assert findings(world, "claims") == [wanted]


def test_slices_of_another_driver(world: World) -> None:
    foreign = make_slice("a30-0", "MI300X", 8)
    foreign["spec"]["driver"] = "gpu.amd.com"
    world.slices = [foreign]
    (said,) = findings(world, "claims")
    assert f"claims for {ALL} wait; there are of gpu.amd.com -> see" in said


def test_nodes_that_only_drivers_make_gpu_nodes(world: World) -> None:
    """Their devices decide (C4), whatever the labels say."""
    for node in world.items(Topic.NODES):
        node["status"]["capacity"].pop(GPU, None)
        node["metadata"]["labels"] = {}
    assert findings(world, "nodes") == ["fine: 1 of 1 GPU nodes match a row"]
    world.slices = [make_slice("a30-0", "NVIDIA Unheard-of", 8)]
    (said,) = findings(world, "nodes")
    assert said.startswith("error: 0 of 1 GPU nodes match a row of SelectionTable default")
    world.slices = []
    assert findings(world, "nodes") == [
        (
            "warning: no node has GPUs in its capacity or in ResourceSlices, so Pods with a spec "
            "wait -> see that device plugin or driver runs, unless an autoscaler brings the nodes"
        )
    ]


@pytest.mark.parametrize(
    ("ids", "keys"),
    [
        ((), "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"),
        (
            ("a100-80gb",),
            "gpu.nvidia.com.deviceclass.resource.k8s.io/devices or requests.nvidia.com/gpu",
        ),
    ],
    ids=["claims", "both"],
)
def test_quotas_are_to_be_on_what_is_counted(ids: tuple[str, ...], keys: str) -> None:
    world = World()
    world.take_by_claims(*ids)
    world.answers[Topic.QUOTAS] = [named("q", spec={"hard": {"requests.preferred.jp/gpu-a30": 1}})]
    assert findings(world, "quotas") == [
        (
            "warning: ResourceQuota team-a/q limits nothing with requests.preferred.jp/gpu-a30: "
            f"admission removes the key before Pods are counted -> limit {keys}"
        )
    ]


def test_a_mixed_table_is_tried_with_a_resource_too() -> None:
    world = World()
    world.take_by_claims("v100-16gb")
    assert findings(world, "tolerations") == [
        f"fine: a Pod with {GPU} gets no toleration that nobody wrote"
    ]


def test_templates_that_are_not_made_are_told_by_the_table(world: World) -> None:
    world.table["status"]["conditions"].append(
        {"type": "ClaimTemplates", "status": "False", "message": "3 Pods wait: quota exceeded"}
    )
    assert findings(world, "status") == ["warning: ClaimTemplates: 3 Pods wait: quota exceeded"]


def test_nodes_with_a_rows_labels_match_it_whatever_keeps_claims_from_them(world: World) -> None:
    world.classes = [named("mig.nvidia.com")]
    assert findings(world, "nodes") == ["fine: 1 of 1 GPU nodes match a row"]
    world.classes = [named("gpu.nvidia.com")]
    world.slices = [make_slice("a30-0", "NVIDIA Unheard-of", 8)]
    assert findings(world, "nodes") == ["fine: 1 of 1 GPU nodes match a row"]


@pytest.mark.rule("D7")
def test_cards_that_are_given_out_twice(world: World) -> None:
    node = world.items(Topic.NODES)[0]
    node["status"]["capacity"][GPU] = "8"
    world.pods = [
        make_pod().container("main", {GPU: 2}).spec(nodeName=node["metadata"]["name"]).build()
    ]
    assert findings(world, "claims") == [
        (
            "error: a30-24gb: 1 node has nvidia.com/gpu of a device plugin too -> stop it there: "
            "both hand out the same cards"
        ),
        (
            "error: a30-24gb: 1 Pod still holds nvidia.com/gpu on 1 node whose devices are given "
            "out by claims -> let them end first, for the same cards are given out again"
        ),
    ]
    world.pods = forbidden("list pods")
    assert findings(world, "claims")[0] == (
        "unknown: could not look who holds devices: permission to list pods is missing"
    )


@pytest.mark.rule("D7")
def test_claims_that_stay_on_nodes_of_a_device_plugin() -> None:
    """The table may not speak of claims any more."""
    world = World()
    world.slices = [make_slice("a30-0", "NVIDIA A30", 8)]
    world.claims = [claim("gpu-0", "gpu-1", at="a30-0")]
    assert findings(world, "claims") == [
        (
            "error: a30-24gb: 1 claim still holds devices on 1 node whose devices a device plugin "
            "gives out as nvidia.com/gpu -> let their Pods end first, for the same cards are given "
            "out again"
        )
    ]
    for kind in ("slices", "classes", "claims"):
        setattr(world, kind, forbidden(f"list {kind}"))
    assert findings(world, "claims") == ["fine: no row is taken by claims"]


@pytest.mark.rule("C3")
def test_selectors_that_keep_pods_from_starting(world: World) -> None:
    rows = world.table["spec"]["devices"]
    refused, failing = "device.driver ==", 'device.attributes["x"].y == 1'
    for row, expression in zip(rows, (refused, "true", failing, "true"), strict=True):
        row["claim"]["selectors"] = [{"cel": {"expression": expression}}]
    assert findings(world, "claims") == [
        (
            "error: v100-16gb: the API server does not take a selector of the claim: it is no CEL: "
            "something is missing at its end, such as a closing bracket -> no Pod starts whose "
            "claim names this row: mend it"
        ),
        (
            "error: a30-24gb: a selector of the claim fails on 8 devices: Key not found in map : "
            '"y" -> Kubernetes schedules no Pod that meets one; guard it: .?name.orValue(...)'
        ),
    ]
    for row in rows:
        row["claim"]["selectors"] = [{"cel": {"expression": f"device.{row['name']}"}}] * 2
    assert findings(world, "claims")[3:] == [
        "error: and 1 more problem -> see each row: gpuspec table lint --cluster"
    ]
