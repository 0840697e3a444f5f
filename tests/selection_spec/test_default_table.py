"""The tables that ship: every row whole, every known node label matched by exactly one row.

What a cluster's nodes say is written here as observed, independent of the table's own file.
"""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from selection_spec.grammar import name_problem
from selection_spec.rows import Policy
from selection_spec.table import Table, builtin_table, load_table
from tests.matcher import admits

NVIDIA, AMD, INTEL = "nvidia.com/gpu.product", "amd.com/gpu.product-name", "gpu.intel.com/product"
PARTITION = "amd.com/gpu.compute-memory-partition"

Labels = dict[str, str]


def text(name: str) -> str:
    return files("selection_spec.data").joinpath(name).read_text("utf-8")


@pytest.fixture(scope="module")
def table() -> Table:
    return builtin_table()


def rows_of(table: Table, labels: Labels) -> list[str]:
    """Return the ids of the rows whose nodes have these labels, as the scheduler decides it."""
    node = {"metadata": {"name": "n", "labels": labels}}
    found = []
    for row in table.rows:
        terms = [{"matchExpressions": [one.to_json() for one in row.nodes]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        if admits(node, {"spec": {"affinity": {"nodeAffinity": required}}}):
            found.append(row.id)
    return found


PRODUCTS = {
    NVIDIA: {
        "GeForce-GTX-1080": "gtx-1080-8gb",
        "NVIDIA-GeForce-GTX-1080": "gtx-1080-8gb",
        "NVIDIA-GeForce-GTX-1080-Ti": "gtx-1080-ti-11gb",
        "NVIDIA-TITAN-Xp": "titan-xp-12gb",
        "Tesla-K80": "k80-12gb",
        "Tesla-P4": "p4-8gb",
        "Tesla-P40": "p40-24gb",
        "Tesla-P100-PCIE-12GB": "p100-12gb",
        "Tesla-P100-PCIE-16GB": "p100-16gb",
        "Tesla-P100-SXM2-16GB": "p100-16gb",
        "Tesla-V100-SXM2-16GB": "v100-16gb",
        "Tesla-V100-PCIE-16GB": "v100-16gb",
        "Tesla-V100-SXM2-32GB": "v100-32gb",
        "Tesla-V100-SXM3-32GB": "v100-32gb",
        "Tesla-V100-PCIE-32GB": "v100-32gb",
        "Tesla-V100-DGXS-32GB": "v100-32gb",
        "Tesla-V100S-PCIE-32GB": "v100-32gb",
        "Tesla-T4": "t4-16gb",
        "NVIDIA-T4G": "t4g-16gb",
        "NVIDIA-GeForce-RTX-2080-Ti": "rtx-2080-ti-11gb",
        "NVIDIA-TITAN-RTX": "titan-rtx-24gb",
        "Quadro-RTX-6000": "quadro-rtx-6000-24gb",
        "Quadro-RTX-8000": "quadro-rtx-8000-48gb",
        "NVIDIA-A2": "a2-16gb",
        "NVIDIA-A10": "a10-24gb",
        "A10": "a10-24gb",
        "NVIDIA-A10G": "a10g-24gb",
        "A10G": "a10g-24gb",
        "NVIDIA-A16": "a16-16gb",
        "NVIDIA-A30": "a30-24gb",
        "A30": "a30-24gb",
        "NVIDIA-A40": "a40-48gb",
        "A40": "a40-48gb",
        "NVIDIA-A100-SXM4-40GB": "a100-40gb",
        "A100-SXM4-40GB": "a100-40gb",
        "NVIDIA-A100-PCIE-40GB": "a100-40gb",
        "A100-PCIE-40GB": "a100-40gb",
        "NVIDIA-A100-SXM4-80GB": "a100-80gb",
        "A100-SXM4-80GB": "a100-80gb",
        "NVIDIA-A100-80GB-PCIe": "a100-80gb",
        "A100-80GB-PCIe": "a100-80gb",
        "NVIDIA-A800-SXM4-80GB": "a800-80gb",
        "NVIDIA-RTX-A4000": "rtx-a4000-16gb",
        "NVIDIA-RTX-A5000": "rtx-a5000-24gb",
        "RTX-A5000": "rtx-a5000-24gb",
        "NVIDIA-RTX-A6000": "rtx-a6000-48gb",
        "RTX-A6000": "rtx-a6000-48gb",
        "NVIDIA-GeForce-RTX-3070": "rtx-3070-8gb",
        "NVIDIA-GeForce-RTX-3080": "rtx-3080-10gb",
        "NVIDIA-GeForce-RTX-3090": "rtx-3090-24gb",
        "GeForce-RTX-3090": "rtx-3090-24gb",
        "NVIDIA-L2": "l2-24gb",
        "NVIDIA-L4": "l4-24gb",
        "NVIDIA-L20": "l20-48gb",
        "NVIDIA-L40": "l40-48gb",
        "NVIDIA-L40S": "l40s-48gb",
        "NVIDIA-RTX-4000-Ada-Generation": "rtx-4000-ada-20gb",
        "NVIDIA-RTX-4500-Ada-Generation": "rtx-4500-ada-24gb",
        "NVIDIA-RTX-5000-Ada-Generation": "rtx-5000-ada-32gb",
        "NVIDIA-RTX-6000-Ada-Generation": "rtx-6000-ada-48gb",
        "NVIDIA-GeForce-RTX-4090": "rtx-4090-24gb",
        "NVIDIA-GeForce-RTX-4090-D": "rtx-4090-24gb",
        "NVIDIA-H100-80GB-HBM3": "h100-80gb",
        "NVIDIA-H100-PCIe": "h100-80gb",
        "NVIDIA-H100-NVL": "h100-94gb",
        "NVIDIA-H800": "h800-80gb",
        "NVIDIA-GH200-120GB": "gh200-96gb",
        "NVIDIA-GH200-480GB": "gh200-96gb",
        "NVIDIA-H20": "h20-96gb",
        "NVIDIA-H20-3e": "h20-141gb",
        "NVIDIA-H200": "h200-141gb",
        "NVIDIA-H200-NVL": "h200-141gb",
        "NVIDIA-B200": "b200-180gb",
        "NVIDIA-GB200": "gb200-186gb",
        "NVIDIA-B300-SXM6-AC": "b300-288gb",
        "NVIDIA-GB300": "gb300-288gb",
        "NVIDIA-GeForce-RTX-5080": "rtx-5080-16gb",
        "NVIDIA-GeForce-RTX-5090": "rtx-5090-32gb",
        "NVIDIA-RTX-PRO-4500-Blackwell-Server-Edition": "rtx-pro-4500-32gb",
        "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition": "rtx-pro-6000-96gb",
        "NVIDIA-RTX-PRO-6000-Blackwell-Workstation-Edition": "rtx-pro-6000-96gb",
        "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition": "rtx-pro-6000-96gb",
    },
    AMD: {
        "Instinct_MI210": "mi210-64gb",
        "AMD_Instinct_MI300X_OAM": "mi300x-192gb",
        "AMD_Instinct_MI300X_VF": "mi300x-192gb",
        "AMD_Instinct_MI308X": "mi308x-192gb",
        "AMD_Instinct_MI325_OAM": "mi325x-256gb",
        "AMD_Instinct_MI325X": "mi325x-256gb",
        "AMD_Instinct_MI350_OAM": "mi350x-288gb",
        "AMD_Instinct_MI355_OAM": "mi355x-288gb",
    },
    INTEL: {"Flex_170": "flex-170-16gb", "Max_1100": "max-1100-48gb", "Max_1550": "max-1550-128gb"},
}


@pytest.mark.parametrize(
    ("key", "value", "row"),
    [(key, value, row) for key, known in PRODUCTS.items() for value, row in known.items()],
    ids=[value for known in PRODUCTS.values() for value in known],
)
def test_a_known_product_is_matched_by_exactly_one_row(
    table: Table, key: str, value: str, row: str
) -> None:
    assert rows_of(table, {key: value}) == [row]


def label_values(table: Table) -> list[tuple[str, str]]:
    return [
        (one.key, value)
        for row in table.rows
        for one in row.nodes
        if one.key in PRODUCTS
        for value in one.values
    ]


def test_no_label_value_is_matched_by_two_rows(table: Table) -> None:
    values = label_values(table)

    assert len(values) == len(set(values))
    for key, value in values:
        assert len(rows_of(table, {key: value})) == 1


def test_a_shared_or_split_card_is_matched_by_no_row(table: Table) -> None:
    for key, value in label_values(table):
        for suffix in ("-SHARED", "-MIG-1g.5gb", "-MIG-1g.5gb-SHARED", "-MIG-INVALID"):
            assert rows_of(table, {key: f"{value}{suffix}"}) == []


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ({}, []),
        ({NVIDIA: "NVIDIA-A1000"}, []),
        ({NVIDIA: "NVIDIA-H100"}, []),
        ({NVIDIA: "nvidia-l4"}, []),
        ({AMD: "NVIDIA-L4"}, []),
        ({AMD: "AMD_Instinct_MI300X_OAM", PARTITION: "spx_nps1"}, ["mi300x-192gb"]),
        ({AMD: "AMD_Instinct_MI300X_OAM", PARTITION: "cpx_nps4"}, []),
        ({AMD: "AMD_Instinct_MI300X_OAM", PARTITION: "dpx_nps2"}, []),
    ],
    ids=str,
)
def test_other_labels(table: Table, labels: Labels, found: list[str]) -> None:
    assert rows_of(table, labels) == found


@pytest.mark.rule("D8")
def test_the_file_has_the_rows_in_their_own_order(table: Table) -> None:
    written = re.findall(
        r"^    - name: (\S+).*\n(?:      aliases: .*\n)?      vram: (\S+)$",
        text("default-table.yaml"),
        re.MULTILINE,
    )

    assert [f"{name}-{vram}" for name, vram in written] == [row.id for row in table.rows]
    assert len({row.id for row in table.rows}) == len(table.rows) == 65


def test_every_row_names_sources_that_are_explained() -> None:
    lines = text("default-table.yaml").splitlines()
    explained = {line.split()[1] for line in lines if re.match(r"# \[\w+\] ", line)}
    rows = [line for line in lines if line.startswith("    - name: ")]
    used = [re.findall(r"\[\w+\]", line.partition("#")[2]) for line in rows]

    assert len(rows) == 65
    assert all(used)
    assert {source for sources in used for source in sources} == explained


@pytest.mark.rule("G6")
def test_names_and_aliases_can_be_written_in_a_key(table: Table) -> None:
    assert [name for name in table.names if name_problem(name)] == []


@pytest.mark.rule("G3")
def test_a_size_that_a_product_name_tells_is_never_below_the_rows(table: Table) -> None:
    processor_memory = {"NVIDIA-GH200-120GB", "NVIDIA-GH200-480GB"}
    for row in table.rows:
        for one in row.nodes:
            for value in set(one.values) - processor_memory:
                told = re.search(r"-(\d+)GB\b", value)
                assert told is None or int(told[1]) == row.vram_gb


@pytest.mark.rule("D6", "D10")
def test_any_is_what_an_image_for_amd64_and_cuda_can_use(table: Table) -> None:
    kept_out = {row.id for row in table.rows if not row.any}

    assert kept_out == {
        *("t4g-16gb", "gh200-96gb", "gb200-186gb", "gb300-288gb"),
        *PRODUCTS[AMD].values(),
        *PRODUCTS[INTEL].values(),
    }
    assert {row.arch for row in table.rows if row.any} == {"amd64"}
    assert {row.resource for row in table.rows if row.any} == {"nvidia.com/gpu"}


def test_an_alias_never_opens_an_arm64_machine_to_a_pod_that_meant_a_generation(
    table: Table,
) -> None:
    assert [row.aliases for row in table.rows if row.arch == "arm64"] == [()] * 4


def test_resources_and_tolerations_follow_the_vendor(table: Table) -> None:
    vendors = {
        NVIDIA: ("nvidia.com/gpu", {"nvidia.com/gpu"}),
        AMD: ("amd.com/gpu", {"amd.com/gpu"}),
        INTEL: ("gpu.intel.com/i915", set()),
    }
    for row in table.rows:
        (vendor,) = {one.key for one in row.nodes} & {*vendors}
        resource, taints = vendors[vendor]
        assert row.resource == resource
        wanted = taints | ({"kubernetes.io/arch"} if row.arch == "arm64" else set())
        assert {toleration.key for toleration in row.tolerations} == wanted
        assert {toleration.effect for toleration in row.tolerations} <= {"NoSchedule"}


def test_costs_are_few_steps_without_a_gap(table: Table) -> None:
    assert sorted({row.cost for row in table.rows}) == [1, 2, 3, 4]


def test_machines_are_of_a_size_that_is_built(table: Table) -> None:
    assert {row.per_node for row in table.rows} == {2, 4, 8, 16}


@pytest.mark.rule("D3")
def test_the_example_is_the_cluster_of_the_fixture() -> None:
    example = load_table(text("pfn-table.yaml"))

    assert [(row.id, row.cost, row.per_node, row.resource) for row in example.rows] == [
        ("v100-16gb", 1, 8, "nvidia.com/gpu"),
        ("v100-32gb", 2, 8, "nvidia.com/gpu"),
        ("a30-24gb", 3, 6, "nvidia.com/gpu"),
        ("a100-80gb", 4, 4, "nvidia.com/gpu"),
    ]
    for row in example.rows:
        assert rows_of(example, {"gpu-model": row.id}) == [row.id]
        (toleration,) = row.tolerations
        assert toleration.to_json() == {
            "key": "gpu-model",
            "operator": "Equal",
            "value": row.id,
            "effect": "NoSchedule",
        }
    assert example.default_policy is Policy.EVERY_FIT
    assert [(rule.class_names, rule.min_value, rule.policy) for rule in example.priorities] == [
        (frozenset({"high"}), None, Policy.SMALLEST_FIT),
        (None, 1_000_000, Policy.SMALLEST_FIT),
    ]
