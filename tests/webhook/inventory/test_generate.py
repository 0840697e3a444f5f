"""A table drafted from nodes: right, valid, and one row for every GPU of every node."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from selection_spec.rows import Claim, Output, Row
from selection_spec.table import builtin_table, load_table, smells_in
from tests.builders import GPU, Json
from tests.webhook.inventory.fleets import (
    CORDON,
    NVIDIA_TAINT,
    amd_cluster,
    gfd,
    gfd_cluster,
    gke_cluster,
    gpu_node,
    half_labelled_cluster,
    intel_cluster,
    karpenter_cluster,
    numbered,
    own_labels_cluster,
    ready_fleet,
    split_cluster,
    unknown_cluster,
)
from webhook.inventory.facts import NodeFacts, node_facts
from webhook.inventory.generate.catalogue import Catalogue
from webhook.inventory.generate.coverage import Coverage, coverage
from webhook.inventory.generate.drafting import draft
from webhook.inventory.generate.text import draft_text
from webhook.inventory.slice_facts import slice_facts
from webhook.inventory.status import table_status

CATALOGUE = Catalogue(builtin_table())

Cluster = Callable[[], list[Json]]

CLUSTERS: dict[str, Cluster] = {
    "own gpu-model label": ready_fleet,
    "GFD, old and new": gfd_cluster,
    "sliced and shared": split_cluster,
    "GKE": gke_cluster,
    "Karpenter": karpenter_cluster,
    "EKS Auto": lambda: karpenter_cluster("eks.amazonaws.com"),
    "AMD": amd_cluster,
    "Intel": intel_cluster,
    "half labelled": half_labelled_cluster,
    "unknown": unknown_cluster,
    "own labels": own_labels_cluster,
    "all at once": lambda: numbered(
        [
            *gfd_cluster(),
            *split_cluster(),
            *gke_cluster(),
            *karpenter_cluster(),
            *amd_cluster(),
            *intel_cluster(),
            *own_labels_cluster(),
        ]
    ),
}


def text_of(nodes: list[Json], slices: list[Json] | None = None) -> str:
    drafted = draft([*map(node_facts, nodes)], map(slice_facts, slices or ()), CATALOGUE)
    return draft_text(drafted)


def rows_of(nodes: list[Json], slices: list[Json] | None = None) -> dict[str, Row]:
    return {row.id: row for row in load_table(text_of(nodes, slices)).rows}


def comments(nodes: list[Json], slices: list[Json] | None = None) -> str:
    """All comments as one line of prose."""
    text = text_of(nodes, slices)
    return " ".join(line.strip(" #") for line in text.splitlines() if line.strip()[:1] == "#")


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
class TestAnyCluster:
    """Laws of every table that is written."""

    def test_it_is_a_table_and_gives_every_gpu_one_row(self, cluster: Cluster) -> None:
        nodes = cluster()
        table = load_table(text_of(nodes))

        assert coverage(table, map(node_facts, nodes)) == Coverage()

    def test_it_is_the_same_whatever_the_order_of_nodes(self, cluster: Cluster) -> None:
        nodes = cluster()

        assert text_of(nodes) == text_of(nodes[::-1]) == text_of(nodes[3:] + nodes[:3])

    def test_it_reads_in_a_terminal(self, cluster: Cluster) -> None:
        lines = text_of(cluster()).splitlines()

        assert max(map(len, lines)) <= 90
        assert all(len(line) <= 78 for line in lines if line.strip().startswith("#"))

    def test_the_live_cluster_agrees(self, cluster: Cluster) -> None:
        nodes = [node_facts(one) for one in cluster()]
        status = table_status(load_table(text_of(cluster())), nodes)

        assert status.unmatched == ()
        assert all(row.nodes and row.devices for row in status.rows)
        said = {problem.message for row in status.rows for problem in row.problems}
        assert not any("perNode" in one for one in said)


def test_the_published_cluster_is_four_rows() -> None:
    rows = load_table(text_of(ready_fleet())).rows

    assert [(row.id, row.per_node, row.cost) for row in rows] == [
        ("v100-16gb", 8, 1),
        ("a30-24gb", 6, 2),
        ("v100-32gb", 8, 2),
        ("a100-80gb", 4, 3),
    ]
    assert all(row.any and row.resource == GPU for row in rows)
    status = table_status(load_table(text_of(ready_fleet())), map(node_facts, ready_fleet()))
    assert [(row.nodes, row.problems) for row in status.rows] == [
        (96, ()),
        (42, ()),
        (32, ()),
        (42, ()),
    ]


def test_the_published_cluster_reads_so() -> None:
    text = text_of(ready_fleet())

    assert text.startswith(
        """\
# A selection table for the 212 of 260 nodes that have GPUs, by their labels.
#
# vram is what the box says. perNode is the largest node there is now. cost is
# a rank by the market for such cards, not a price: put what you pay or want
# to keep free. any says whether gpu-any includes a row.
#
# Left out: 48 nodes offer preferred.jp/mncore; no GPU as far as is known
# here, so it has no row.
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
"""
    )
    assert text.endswith(
        """
    # 42 nodes such as mn2b-a100-000
    - name: a100
      aliases: [ampere]
      vram: 80gb
      perNode: 4
      cost: 3
      nodes: {matchLabels: {gpu-model: a100-80gb}}
      tolerations: [{key: gpu-model, value: a100-80gb, effect: NoSchedule}]
      resource: nvidia.com/gpu
"""
    )


@pytest.mark.parametrize(
    ("cluster", "ids"),
    [
        (
            gfd_cluster,
            "t4-16gb v100-16gb l4-24gb v100-32gb a100-40gb a100-80gb h100-80gb",
        ),
        (
            split_cluster,
            (
                "l4-shared-6gb l4-shared-2-6gb l4-24gb a100-mig1-5gb a100-mig1-2-5gb "
                "a100-mig3-shared-10gb a100-40gb"
            ),
        ),
        (
            gke_cluster,
            "t4-shared-2gb p100-16gb l4-24gb a100-mig1-5gb a100-40gb a100-80gb h100-80gb",
        ),
        (
            karpenter_cluster,
            "t4-16gb t4g-16gb a10g-24gb l4-24gb a100-40gb l40s-48gb a100-80gb h100-80gb h200-141gb",
        ),
        (amd_cluster, "mi210-64gb mi300x-cpx-24gb mi300x-192gb"),
        (intel_cluster, "flex-170-16gb max-1550-128gb"),
        (half_labelled_cluster, "l4-24gb l4-2-24gb"),
        (
            own_labels_cluster,
            "experimental-1gb rtx-4090-24gb rtx-a6000-48gb a100-40gb h100-80gb",
        ),
        (
            unknown_cluster,
            "p3-8xlarge-1gb some-card-1gb unknown-1gb yes-1gb quantum-9000-server-edition-48gb",
        ),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_the_rows_of_a_cluster(cluster: Cluster, ids: str) -> None:
    assert list(rows_of(cluster())) == ids.split()


class TestGpuAny:
    """What gpu-any may give: whole known cards of the kind that most of the cluster is."""

    @pytest.mark.rule("D6", "D9")
    def test_slices_shares_and_other_resources_are_for_those_who_name_them(self) -> None:
        rows = rows_of(split_cluster())

        assert [row.id for row in rows.values() if row.any] == ["l4-24gb", "a100-40gb"]

    @pytest.mark.rule("D10")
    def test_another_architecture_too(self) -> None:
        row = rows_of(karpenter_cluster())["t4g-16gb"]

        assert (row.any, row.arch, row.aliases) == (False, "arm64", ())

    def test_a_cluster_of_amd_cards_gives_them(self) -> None:
        assert rows_of(amd_cluster())["mi300x-192gb"].any

    def test_a_card_of_unknown_memory_is_nobodys_smallest_fit(self) -> None:
        assert not rows_of(unknown_cluster())["some-card-1gb"].any


class TestTolerations:
    """For what all nodes of a row carry, and nothing that says how a node fares."""

    @staticmethod
    def written(*taints: list[Json]) -> list[dict[str, object]]:
        nodes = [gpu_node({"card": "l4"}, taints=those) for those in taints]
        return [one.to_json() for one in rows_of(numbered(nodes))["l4-24gb"].tolerations]

    @pytest.mark.rule("N5")
    def test_what_all_carry_is_tolerated(self) -> None:
        team = {"key": "team", "effect": "NoExecute"}

        assert self.written([NVIDIA_TAINT, team], [team, NVIDIA_TAINT]) == [
            {
                "key": "nvidia.com/gpu",
                "operator": "Equal",
                "value": "present",
                "effect": "NoSchedule",
            },
            {"key": "team", "operator": "Exists", "effect": "NoExecute"},
        ]

    def test_values_that_differ_are_all_tolerated(self) -> None:
        assert self.written([NVIDIA_TAINT], [{**NVIDIA_TAINT, "value": "true"}]) == [
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
        ]

    @pytest.mark.rule("N5", "H7")
    @pytest.mark.parametrize(
        "taint",
        [
            CORDON,
            {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
            {"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"},
            {"key": "gpuspec.preferred.jp/reserved", "value": "l4-24gb", "effect": "NoSchedule"},
            {"key": "gpuspec.preferred.jp/unhealthy", "effect": "NoSchedule"},
            {"key": "amd-gpu-unhealthy", "effect": "NoSchedule"},
            {"key": "nvidia.com/gpu-xid-error", "value": "true", "effect": "NoSchedule"},
            {"key": "readiness.k8s.io/network", "effect": "NoSchedule"},
            {"key": "nodeops.k8s.preferred.jp/operating", "effect": "NoSchedule"},
            {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"},
            {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"},
            {"key": "soft", "effect": "PreferNoSchedule"},
        ],
        ids=lambda one: one["key"],
    )
    def test_what_passes_or_is_ours_is_not(self, taint: Json) -> None:
        assert self.written([taint], [taint]) == []

    def test_a_taint_of_some_is_noted(self) -> None:
        team = {"key": "team", "value": "vision", "effect": "NoSchedule"}
        nodes = [gpu_node({"card": "l4"}, taints=those) for those in ([team], [], [])]

        assert rows_of(numbered(nodes))["l4-24gb"].tolerations == ()
        assert (
            "note: taint team=vision:NoSchedule is on 1 of 3 nodes only and is not tolerated"
            in comments(numbered(nodes))
        )

    def test_several_values_on_some_are_noted_with_each(self) -> None:
        taints = [{"key": "team", "value": one, "effect": "NoSchedule"} for one in ("a", "b")]
        nodes = [gpu_node({"card": "l4"}, taints=those) for those in ([taints[0]], [taints[1]], [])]

        said = "taint team=a:NoSchedule, team=b:NoSchedule is on 2 of 3 nodes only"
        assert said in comments(numbered(nodes))

    def test_shared_devices_beyond_what_a_table_takes(self) -> None:
        nodes = numbered([gpu_node({"card": "l4"}, 2000)])

        assert rows_of(nodes)["l4-24gb"].per_node == 1024
        assert "a node offers 2000, and perNode ends at 1024" in comments(nodes)


class TestLabels:
    """Rows never share a node, whatever the labels."""

    def test_one_label_on_two_architectures(self) -> None:
        nodes = numbered(
            [
                gpu_node({"card": "l4"}),
                gpu_node({"card": "l4"}),
                gpu_node({"card": "l4", "kubernetes.io/arch": "arm64"}),
            ]
        )
        rows = rows_of(nodes)

        assert [[one.to_json()["values"] for one in row.nodes] for row in rows.values()] == [
            [["l4"], ["amd64"]],
            [["l4"], ["arm64"]],
        ]
        assert "finish: l4-24gb is the same card elsewhere" in comments(nodes)

    def test_cards_that_labels_do_not_tell_apart_are_told_by_name_of_node(self) -> None:
        nodes = numbered([gfd("NVIDIA-A100-SXM4-40GB", mib) for mib in (40536, 40536, 20480)])
        rows = rows_of(nodes)

        assert {row.id: row.nodes[0].values for row in rows.values()} == {
            "a100-20gb": ("gpu-2",),
            "a100-40gb": ("gpu-0", "gpu-1"),
        }
        assert "finish: its memory is 20480 MiB, less than a a100-40gb has" in comments(nodes)

    def test_a_known_product_is_listed_in_every_spelling(self) -> None:
        (row,) = rows_of([gfd("A100-SXM4-40GB", 39538)]).values()

        assert row.nodes[0].values == (
            "A100-PCIE-40GB",
            "A100-SXM4-40GB",
            "NVIDIA-A100-PCIE-40GB",
            "NVIDIA-A100-SXM4-40GB",
        )

    def test_an_own_label_that_cpu_nodes_have_too_is_not_taken(self) -> None:
        rows = rows_of(own_labels_cluster())

        assert {one.key for row in rows.values() for one in row.nodes} == {"example.com/card"}

    @pytest.mark.parametrize("value", ["yes", "1e3", "0123", "null", "1.5", "true"])
    def test_values_are_texts_to_every_yaml_reader(self, value: str) -> None:
        (row,) = rows_of([gpu_node({"gpu": value})]).values()

        assert row.nodes[0].values == (value,)


def resource_slice(node: str, product: str, memory: str, kind: str = "gpu") -> Json:
    device = {
        "name": "gpu-0",
        "attributes": {"productName": {"string": product}, "type": {"string": kind}},
        "capacity": {"memory": {"value": memory}},
    }
    pool = {"name": f"{node}-{kind}", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "devices": [device]}
    return {"kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}


class TestSlices:
    """What drivers say in ResourceSlices, where labels say less."""

    def test_they_name_the_card(self) -> None:
        nodes = numbered([gpu_node({"accelerator": "big"}), gpu_node({"accelerator": "big"})])
        slices = [
            resource_slice("gpu-0", "NVIDIA A100-PCIE-40GB", "40Gi"),
            resource_slice("gpu-0", "NVIDIA A100-PCIE-40GB", "4864Mi", "mig"),
        ]

        assert list(rows_of(nodes, slices)) == ["a100-40gb"]
        assert list(rows_of(nodes)) == ["big-1gb"]

    def test_nodes_of_one_label_with_different_cards(self) -> None:
        nodes = numbered([gpu_node({"accelerator": "big"}), gpu_node({"accelerator": "big"})])
        slices = [
            resource_slice("gpu-0", "NVIDIA A100-SXM4-80GB", "80Gi"),
            resource_slice("gpu-1", "NVIDIA A30", "24Gi"),
        ]

        assert list(rows_of(nodes, slices)) == ["a30-24gb"]
        assert (
            "finish: these nodes have NVIDIA A100-SXM4-80GB and NVIDIA A30; "
            "a row is one kind of card" in comments(nodes, slices)
        )


def with_slices(nodes: list[Json], *, driver: str = "gpu.nvidia.com") -> list[Json]:
    """What a driver says of the whole cards of nodes that NVIDIA's discovery labels."""
    found = []
    for node in nodes:
        labels = node["metadata"]["labels"]
        device: Json = {
            "attributes": {
                "productName": {"string": labels["nvidia.com/gpu.product"].replace("-", " ")},
                "type": {"string": "gpu"},
            },
            "capacity": {"memory": {"value": f"{labels['nvidia.com/gpu.memory']}Mi"}},
        }
        count = int(labels["nvidia.com/gpu.count"])
        name = node["metadata"]["name"]
        spec = {
            "driver": driver,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{number}", **device} for number in range(count)],
        }
        found.append({"metadata": {"name": name}, "spec": spec})
    return found


def without_plugin(nodes: list[Json], *names: str) -> list[Json]:
    for node in nodes:
        if not names or node["metadata"]["name"] in names:
            for side in ("capacity", "allocatable"):
                node["status"][side].pop(GPU, None)
    return nodes


class TestClaims:
    """Rows of devices that DRA drivers offer."""

    def test_nodes_with_a_plugin_keep_it_and_gain_claims(self) -> None:
        nodes = gfd_cluster()
        rows = rows_of(nodes, with_slices(nodes))

        assert rows.keys() == rows_of(nodes).keys()
        assert {(row.output, row.resource) for row in rows.values()} == {
            (Output.EXTENDED_RESOURCE, GPU)
        }
        assert rows["a100-40gb"].claim == Claim(
            "gpu.nvidia.com",
            "gpu.nvidia.com",
            ("A100 SXM4 40GB", "NVIDIA A100 SXM4 40GB"),
        )

    def test_nodes_without_one_are_taken_by_claims(self) -> None:
        nodes = gfd_cluster()
        slices = with_slices(nodes)
        rows = rows_of(without_plugin(nodes), slices)

        assert rows.keys() == rows_of(gfd_cluster()).keys()
        assert {(row.output, row.resource, row.any) for row in rows.values()} == {
            (Output.RESOURCE_CLAIM, "", True)
        }

    @pytest.mark.rule("D9")
    def test_beside_more_nodes_with_a_plugin_they_are_for_those_who_name_them(self) -> None:
        nodes = gfd_cluster()
        slices = with_slices(nodes)
        text = text_of(without_plugin(nodes, "gpu-5", "gpu-7"), slices)
        rows = {row.id: row for row in load_table(text).rows}

        assert [row.id for row in rows.values() if row.output is Output.RESOURCE_CLAIM] == [
            "l4-24gb",
            "h100-80gb",
        ]
        assert not rows["l4-24gb"].any
        assert not rows["h100-80gb"].any
        assert not [one for one in smells_in(text) if one.rule == "D9"]

    @pytest.mark.parametrize("plugin", [True, False], ids=["beside a plugin", "alone"])
    def test_every_device_is_recognised_by_one_row(self, *, plugin: bool) -> None:
        nodes = gfd_cluster()
        slices = with_slices(nodes)
        nodes = nodes if plugin else without_plugin(nodes)
        found = [slice_facts(one) for one in slices]

        table = load_table(text_of(nodes, slices))
        assert coverage(table, map(node_facts, nodes), found) == Coverage()

    def test_slices_and_shares_have_no_claim(self) -> None:
        nodes = split_cluster()
        rows = rows_of(nodes, with_slices(nodes))

        assert {row.id for row in rows.values() if row.claim} == {"l4-24gb", "a100-40gb"}

    def test_an_own_label_names_the_nodes_and_the_driver_the_card(self) -> None:
        labels = [{"card": size} for size in ("big", "big", "small", "small")]
        nodes = numbered([gpu_node(one) for one in labels])
        slices = [
            *(resource_slice(f"gpu-{n}", "NVIDIA A100-SXM4-80GB", "80Gi") for n in (0, 1)),
            *(resource_slice(f"gpu-{n}", "NVIDIA A30", "24Gi") for n in (2, 3)),
        ]
        rows = rows_of(without_plugin(nodes), slices)

        assert {row.id: row.nodes[0].values for row in rows.values()} == {
            "a30-24gb": ("small",),
            "a100-80gb": ("big",),
        }

    def test_without_a_product_the_memory_tells(self) -> None:
        nodes = numbered([gpu_node({"card": "a30-24gb"})])
        nameless = resource_slice("gpu-0", "", "24Gi")
        del nameless["spec"]["devices"][0]["attributes"]["productName"]
        rows = rows_of(without_plugin(nodes), [nameless])

        assert rows["a30-24gb"].claim == Claim("gpu.nvidia.com", "gpu.nvidia.com")
        assert (
            "note: gpu.nvidia.com names no product, so that devices are known by their memory"
            in comments(nodes, [nameless])
        )

    def test_pools_that_are_old_or_not_whole_do_not_count(self) -> None:
        nodes = without_plugin(numbered([gpu_node({"card": "x"}), gpu_node({"card": "y"})]))
        old = resource_slice("gpu-0", "NVIDIA A30", "24Gi")
        new = resource_slice("gpu-0", "NVIDIA L4", "23034Mi")
        new["spec"]["pool"]["generation"] = 2
        half = resource_slice("gpu-1", "NVIDIA A30", "24Gi")
        half["spec"]["pool"]["resourceSliceCount"] = 2

        assert list(rows_of(nodes, [old, new, half])) == ["l4-24gb"]

    @pytest.mark.parametrize(
        ("classes", "name", "said"),
        [
            (None, "gpu.nvidia.com", ""),
            ({"gpu.nvidia.com": "", "x": "'gpu.nvidia.com'"}, "gpu.nvidia.com", ""),
            ({"mine": "device.driver == 'gpu.nvidia.com'", "nic": "'dra.net'"}, "mine", ""),
            (
                {"b": 'device.driver == "gpu.nvidia.com"', "a": "device.driver=='gpu.nvidia.com'"},
                "a",
                (
                    "finish: DeviceClasses a, b all select devices of gpu.nvidia.com; see which is "
                    "meant"
                ),
            ),
            (
                {"nic": "device.driver == 'gpu.nvidia.com.example'"},
                "gpu.nvidia.com",
                (
                    "finish: no DeviceClass is for driver gpu.nvidia.com; make one, and write its "
                    "name here"
                ),
            ),
        ],
        ids=["not known", "named like the driver", "selects it", "several", "none"],
    )
    def test_which_device_class(self, classes: dict[str, str] | None, name: str, said: str) -> None:
        nodes = gfd_cluster()[:1]
        slices = map(slice_facts, with_slices(nodes))
        drafted = draft([*map(node_facts, nodes)], slices, CATALOGUE, device_classes=classes)
        text = draft_text(drafted)
        (row,) = load_table(text).rows

        assert row.claim is not None
        assert row.claim.device_class == name
        prose = " ".join(line.strip(" #") for line in text.splitlines())
        assert (said in prose) is True
        assert bool(drafted.unfinished) is bool(said)

    def test_some_nodes_of_a_row_have_slices(self) -> None:
        nodes = numbered([gfd("NVIDIA-L4", 23034, 2), gfd("NVIDIA-L4", 23034, 2)])

        assert "note: 1 of 2 nodes have ResourceSlices of gpu.nvidia.com" in comments(
            nodes, with_slices(nodes[:1])
        )

    def test_it_reads_so(self) -> None:
        nodes = numbered([gfd("NVIDIA-L4", 23034, 2), gfd("NVIDIA-A30", 24576, 4)])
        slices = with_slices(nodes)
        text = text_of(without_plugin(nodes, "gpu-0"), slices)

        assert (
            "# claim says which devices of a DRA driver a row means. A row that has a\n"
            "# resource too is taken by it; with output: ResourceClaim it is taken by\n"
            "# claims, once the device plugin has left its nodes.\n"
        ) in text
        assert (
            text.partition("  devices:\n")[2]
            == """\
    # 1 node: gpu-1
    - name: a30
      aliases: [ampere]
      vram: 24gb
      perNode: 4
      cost: 1
      nodes:
        matchExpressions:
          - {key: nvidia.com/gpu.product, operator: In, values: [A30, NVIDIA-A30]}
      tolerations: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
      resource: nvidia.com/gpu
      claim:
        deviceClassName: gpu.nvidia.com
        driver: gpu.nvidia.com
        products: ["NVIDIA A30"]

    # 1 node: gpu-0
    - name: l4
      vram: 24gb
      perNode: 2
      cost: 1
      any: false
      nodes: {matchLabels: {nvidia.com/gpu.product: NVIDIA-L4}}
      tolerations: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
      output: ResourceClaim
      claim:
        deviceClassName: gpu.nvidia.com
        driver: gpu.nvidia.com
        products: ["NVIDIA L4"]
"""
        )


def test_nodes_whose_plugin_is_down_are_said() -> None:
    nodes = numbered([gpu_node({"card": "l4"}), gfd("NVIDIA-A30", 24576, 0)])

    assert (
        "Left out: 1 node has labels of a GPU but no GPU to offer (gpu-1); see whether the "
        "device plugin or a DRA driver runs there." in comments(nodes)
    )


def test_a_name_that_would_end_a_comment_does_not() -> None:
    nodes = [gpu_node({"card": "l4"}, name="x\ndevices: []\u2028- {}")]

    assert "# 1 node: x?devices: []?- {}" in text_of(nodes)
    assert list(rows_of(nodes)) == ["l4-24gb"]


LABELS = st.fixed_dictionaries(
    {},
    optional={
        "nvidia.com/gpu.product": st.sampled_from(
            ["NVIDIA-L4", "NVIDIA-L4-SHARED", "A30", "Foo", "NVIDIA-A30-MIG-1g.6gb"]
        ),
        "nvidia.com/gpu.memory": st.sampled_from(["24576", "12288", "x"]),
        "nvidia.com/gpu.replicas": st.sampled_from(["1", "4"]),
        "cloud.google.com/gke-accelerator": st.sampled_from(["nvidia-l4", "nvidia-tesla-a100"]),
        "cloud.google.com/gke-gpu-partition-size": st.sampled_from(["1g.5gb"]),
        "karpenter.k8s.aws/instance-gpu-name": st.sampled_from(["l4", "a100"]),
        "karpenter.k8s.aws/instance-gpu-memory": st.sampled_from(["22888", "81920"]),
        "amd.com/gpu.product-name": st.sampled_from(["AMD_Instinct_MI300X_OAM", "Other"]),
        "amd.com/gpu.compute-memory-partition": st.sampled_from(["spx_nps1", "cpx_nps1"]),
        "gpu-model": st.sampled_from(["a30-24gb", "v100-16gb", "a100", "", "yes"]),
        "pool": st.sampled_from(["gpu", "cpu"]),
        "node.kubernetes.io/instance-type": st.sampled_from(["p3.2xlarge", "1e3"]),
        "kubernetes.io/arch": st.sampled_from(["amd64", "arm64"]),
        "kubernetes.io/os": st.sampled_from(["linux", "windows"]),
    },
)
DEVICES = st.fixed_dictionaries(
    {},
    optional={
        GPU: st.integers(0, 8),
        "nvidia.com/gpu.shared": st.integers(0, 8),
        "nvidia.com/mig-1g.5gb": st.integers(0, 7),
        "nvidia.com/gpumem": st.integers(0, 1000),
        "amd.com/gpu": st.integers(0, 8),
    },
)


@settings(deadline=None)
@example(
    cluster=[
        (
            {
                "nvidia.com/gpu.product": "NVIDIA-L4",
                "cloud.google.com/gke-accelerator": "nvidia-l4",
            },
            {"amd.com/gpu": 1},
        )
    ],
    random=Random(0),  # noqa: S311 - shuffles
).via("labels of one vendor beside devices of another")
@given(st.lists(st.tuples(LABELS, DEVICES), min_size=1, max_size=8), st.randoms())
def test_whatever_nodes_say_the_table_loads_and_gives_every_gpu_one_row(
    cluster: list[tuple[dict[str, str], dict[str, int]]], random: Random
) -> None:
    nodes = numbered([gpu_node(labels, devices) for labels, devices in cluster])
    facts = [node_facts(one) for one in nodes]
    drafted = draft(facts, (), CATALOGUE)
    if not drafted.rows:
        assert not any(re.search("gpu$|shared|mig", name) for one in facts for name in _has(one))
        return
    text = draft_text(drafted)

    assert coverage(load_table(text), facts) == Coverage()
    random.shuffle(facts)
    assert draft_text(draft(facts, (), CATALOGUE)) == text


def _has(facts: NodeFacts) -> list[str]:
    return [name for name, count in facts.capacity.items() if count]
