"""Clusters as vendors and clouds label them; each value as seen on running nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count, islice

from tests.builders import GPU, Json
from tests.cluster.fleet import fake_node, fleet

NVIDIA_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}

_numbers = count()


def gpu_node(
    labels: Mapping[str, str],
    devices: int | Mapping[str, int] = 8,
    *,
    taints: Sequence[Json] = (),
    name: str | None = None,
    ready: bool = True,
) -> Json:
    """A Node with GPUs; a number of devices is one of NVIDIA's."""
    amounts = {GPU: devices} if isinstance(devices, int) else devices
    node = fake_node(
        name or f"gpu-{next(_numbers):04d}",
        labels=labels,
        taints=taints,
        capacity={resource: str(amount) for resource, amount in amounts.items()},
    )
    node["status"]["conditions"] = [{"type": "Ready", "status": str(ready)}]
    return node


def numbered(nodes: Sequence[Json], prefix: str = "gpu") -> list[Json]:
    """Give nodes names in their order, so that a test's text does not depend on other tests."""
    for number, node in enumerate(nodes):
        node["metadata"]["name"] = f"{prefix}-{number}"
        node["metadata"]["labels"]["kubernetes.io/hostname"] = f"{prefix}-{number}"
    return list(nodes)


def ready_fleet() -> list[Json]:
    """The published cluster of the worked candidates, every node ready."""
    nodes = fleet()
    for node in nodes:
        node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return nodes


def gfd(product: str, memory: int, devices: int = 8, **more: str) -> Json:
    """A node as NVIDIA's GPU Feature Discovery labels it; ``gpu_replicas`` is ``gpu.replicas``."""
    labels = {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": str(devices),
        "nvidia.com/gpu.product": product,
        "nvidia.com/gpu.memory": str(memory),
        "nvidia.com/gpu.machine": "G292-Z20-00",
        "nvidia.com/gpu.sharing-strategy": "none",
        **{f"nvidia.com/{key.replace('_', '.', 1)}": value for key, value in more.items()},
    }
    return gpu_node(labels, devices, taints=[NVIDIA_TAINT])


def gfd_cluster() -> list[Json]:
    """Old and new drivers side by side."""
    return numbered(
        [
            gfd("Tesla-V100-SXM2-16GB", 16160),
            gfd("Tesla-V100-SXM2-32GB", 32510),
            gfd("A100-SXM4-40GB", 39538),
            gfd("NVIDIA-A100-SXM4-40GB", 40536, 4),
            gfd("NVIDIA-A100-SXM4-80GB", 81920),
            gfd("NVIDIA-L4", 22835, 2),
            gfd("Tesla-T4", 15109, 4),
            gfd("NVIDIA-H100-80GB-HBM3", 81559),
        ]
    )


def split_cluster() -> list[Json]:
    """Time-slicing with and without another resource name, MIG in both strategies."""
    mixed = gfd("NVIDIA-A100-SXM4-40GB", 40536, 4, mig_strategy="mixed")
    mixed["metadata"]["labels"] |= {
        "nvidia.com/mig-1g.5gb.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
        "nvidia.com/mig-1g.5gb.memory": "4864",
    }
    for side in ("capacity", "allocatable"):
        mixed["status"][side]["nvidia.com/mig-1g.5gb"] = "28"
    renamed = gfd("NVIDIA-L4", 22835, 0, gpu_replicas="4")
    for side in ("capacity", "allocatable"):
        renamed["status"][side]["nvidia.com/gpu.shared"] = "8"
    return numbered(
        [
            gfd("NVIDIA-L4", 22835, 2),
            gfd("NVIDIA-L4-SHARED", 22835, 8, gpu_replicas="4"),
            renamed,
            gfd("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", 4864, 56),
            gfd("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb-SHARED", 20096, 32, gpu_replicas="2"),
            mixed,
            gfd("NVIDIA-A100-SXM4-40GB", 40536),
            gfd("NVIDIA-A100-SXM4-40GB", 40536),
        ]
    )


def gke_cluster() -> list[Json]:
    """Google's accelerators, one pool sliced, one shared; CPU nodes beside them."""
    key = "cloud.google.com/gke-accelerator"

    def node(accelerator: str, devices: int, **more: str) -> Json:
        labels = {key: accelerator, "cloud.google.com/gke-nodepool": accelerator}
        beside = {f"cloud.google.com/gke-{one.replace('_', '-')}": v for one, v in more.items()}
        return gpu_node(labels | beside, devices, taints=[NVIDIA_TAINT])

    return numbered(
        [
            node("nvidia-l4", 1),
            node("nvidia-l4", 2),
            node("nvidia-tesla-a100", 16),
            node("nvidia-a100-80gb", 8),
            node("nvidia-h100-mega-80gb", 8),
            node("nvidia-tesla-p100", 4),
            node("nvidia-tesla-a100", 7, gpu_partition_size="1g.5gb"),
            node(
                "nvidia-tesla-t4",
                8,
                gpu_sharing_strategy="time-sharing",
                max_shared_clients_per_gpu="8",
            ),
            fake_node("cpu", labels={"cloud.google.com/gke-nodepool": "cpu"}),
        ],
        "gke",
    )


def karpenter_cluster(prefix: str = "karpenter.k8s.aws") -> list[Json]:
    """Amazon's instances as Karpenter labels them: name and MiB; no taint by default."""

    def node(name: str, memory: int, devices: int, arch: str = "amd64") -> Json:
        labels = {
            f"{prefix}/instance-gpu-name": name,
            f"{prefix}/instance-gpu-manufacturer": "nvidia",
            f"{prefix}/instance-gpu-count": str(devices),
            f"{prefix}/instance-gpu-memory": str(memory),
            "kubernetes.io/arch": arch,
        }
        return gpu_node(labels, devices)

    return numbered(
        [
            node("a10g", 22888, 1),
            node("a10g", 22888, 8),
            node("l4", 22888, 4),
            node("l40s", 45776, 4),
            node("t4", 16384, 1),
            node("t4g", 16384, 2, "arm64"),
            node("a100", 40960, 8),
            node("a100", 81920, 8),
            node("h100", 81920, 8),
            node("h200", 144384, 8),
        ],
        "aws",
    )


def amd_cluster() -> list[Json]:
    """AMD's labels: whole cards, one node split in eight parts a card."""

    def node(product: str, vram: str, devices: int, partition: str) -> Json:
        labels = {
            "amd.com/gpu.product-name": product,
            "amd.com/gpu.vram": vram,
            "amd.com/gpu.compute-memory-partition": partition,
        }
        taint = {"key": "amd.com/gpu", "effect": "NoSchedule"}
        return gpu_node(labels, {"amd.com/gpu": devices}, taints=[taint])

    return numbered(
        [
            node("AMD_Instinct_MI300X_OAM", "192G", 8, "spx_nps1"),
            node("AMD_Instinct_MI300X_OAM", "192G", 64, "cpx_nps4"),
            node("Instinct_MI210", "64G", 4, "spx_nps1"),
        ],
        "amd",
    )


def intel_cluster() -> list[Json]:
    """Intel's labels by the rules of Node Feature Discovery; both kernel drivers."""
    return numbered(
        [
            gpu_node(
                {"gpu.intel.com/product": "Max_1550", "gpu.intel.com/family": "Max_Series"},
                {"gpu.intel.com/i915": 8, "gpu.intel.com/i915_monitoring": 1},
            ),
            gpu_node({"gpu.intel.com/product": "Flex_170"}, {"gpu.intel.com/xe": 2}),
        ],
        "intel",
    )


def half_labelled_cluster() -> list[Json]:
    """Cards that only some nodes name in NVIDIA's way: Google's label is on all."""
    google = {"cloud.google.com/gke-accelerator": "nvidia-l4"}
    both = gfd("NVIDIA-L4", 23034, 2)
    both["metadata"]["labels"] |= google
    return numbered([both, gpu_node(google, 1), gpu_node(google, 4)])


def unknown_cluster() -> list[Json]:
    """Cards nobody has heard of, and nodes that say nothing."""
    rack = {"rack": "r1"}
    return numbered(
        [
            gfd("NVIDIA-Quantum-9000-Server-Edition", 49140),
            gfd("Some-Card", 0),
            gpu_node({"node.kubernetes.io/instance-type": "p3.8xlarge", **rack}, 4),
            gpu_node(rack, 2),
            gpu_node({"accelerator": "yes", **rack}, 2),
            fake_node("cpu", labels={"rack": "r1"}),
        ]
    )


def own_labels_cluster() -> list[Json]:
    """An admin's own label beside pools and serial numbers, and Pods kept off by its taint."""

    def node(card: str, serial: int, devices: int = 8) -> Json:
        labels = {"example.com/card": card, "serial": f"s{serial}", "pool": "gpu", "env": "prod"}
        taint = {"key": "example.com/card", "value": card, "effect": "NoExecute"}
        return gpu_node(labels, devices, taints=[taint])

    numbers = count()
    return numbered(
        [
            *islice((node("RTX_A6000", next(numbers), 4) for _ in numbers), 3),
            node("rtx-4090", 10),
            node("a100", 11),
            node("h100-80G", 12),
            node("experimental", 13),
            fake_node("cpu", labels={"env": "prod", "pool": "cpu"}),
        ],
        "own",
    )
