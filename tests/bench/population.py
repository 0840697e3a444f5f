"""Nodes and Pods of a large cluster, as large as real ones are, and the requests that make them.

A node's labels are those of a device plugin's feature discovery: about a hundred, most of them the
same on every node. Its images, conditions and annotations are what a kubelet reports.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count

from tests.bench.reviews import Json, Numbered, as_sent, plain_pod, serial
from tests.cluster.api import path
from tests.cluster.credentials import ADMIN_TOKEN
from webhook.terms import REQUEST_ANNOTATION, SPEC_LABEL

GPU = "nvidia.com/gpu"
MODEL_LABEL = "gpu-model"
PER_NODE = 8
NODES = path("v1", "nodes")
PODS = path("v1", "pods", namespace="default")

DRIVER = "gpu.nvidia.com"

NAMED = "serialnumber"
"""Where in a name the serial number of a node or Pod goes."""

_BY_CLAIMS = 3
_PLACED = "numberofnode"
_CPU_FLAGS = 64
_IMAGES = 15


@dataclass(frozen=True)
class Population:
    """How many of each; nodes are dealt out to the rows of the table in turn."""

    nodes: int
    pods: int
    rows: int

    @property
    def members(self) -> int:
        """How many nodes the first row has, which is the one that is reserved."""
        return len(range(0, self.nodes, self.rows))

    @property
    def gpus(self) -> int:
        """How many GPUs there are."""
        return self.nodes * PER_NODE

    def table(self, *, reserved: bool = False) -> Json:
        """Return the table, in which the first row is reserved or not."""
        return {
            "apiVersion": "gpuspec.preferred.jp/v1alpha1",
            "kind": "SelectionTable",
            "metadata": {"name": "default"},
            "spec": {
                "resourceDomain": "preferred.jp",
                "output": "ExtendedResource",
                "priorities": [{"classNames": ["high"], "policy": "SmallestFit"}],
                "defaultPolicy": "EveryFit",
                "health": {"mode": "Quarantine"},
                "devices": [
                    _row(number, reserved=reserved and number == 0) for number in range(self.rows)
                ],
            },
        }

    def node_requests(self) -> Iterator[bytes]:
        """Yield the creation of every node."""
        requests = [Numbered(request("POST", NODES, _node(row))) for row in range(self.rows)]
        for number in range(self.nodes):
            yield requests[number % self.rows](serial(number))

    def pod_requests(self) -> Iterator[bytes]:
        """Yield the creation of every Pod."""
        create = self._pod_creation()
        return map(create, range(self.pods))

    def replacements(self) -> Iterator[bytes]:
        """Yield without an end the deletion of the oldest Pod and the creation of a new one."""
        create = self._pod_creation()
        for number in count():
            at = f"{PODS}/trainer-6f7c9d8b5c-{serial(number).decode()}?gracePeriodSeconds=0"
            yield request("DELETE", at)
            yield create(self.pods + number)

    def heartbeats(self) -> Iterator[bytes]:
        """Yield without an end what kubelets report every five minutes: nothing new."""
        for number in count():
            time = f"2026-06-01T13:{number // 60 % 60:02d}:{number % 60:02d}Z"
            at = f"{NODES}/{node_name(number % self.nodes)}/status"
            yield request("PATCH", at, {"status": {"conditions": _conditions(time)}})

    def _pod_creation(self) -> Callable[[int], bytes]:
        """Return what makes the creation of a Pod by its number; each has one GPU."""
        requests = [Numbered(request("POST", PODS, _pod(row))) for row in range(self.rows)]

        def create(number: int) -> bytes:
            node = number % self.nodes
            request = requests[node % self.rows](serial(number))
            return request.replace(_PLACED.encode(), serial(node))

        return create


def node_name(number: int) -> str:
    """Return the name of a node."""
    return f"node-{serial(number).decode()}"


def model(row: int) -> str:
    """Return the label value that tells a row, and the row's id."""
    return f"m{row}-80gb"


def by_claims(row: int) -> bool:
    """Tell whether a row's Pods get their devices by claims; the others by a device plugin."""
    return row >= _BY_CLAIMS


def product(row: int) -> str:
    """Return what the driver calls the cards of a row."""
    return f"NVIDIA {model(row).upper()}"


def claim_name(number: str) -> str:
    """Return the name of the claim of a Pod with this number."""
    return f"trainer-6f7c9d8b5c-{number}-gpu"


def _conditions(heartbeat: str) -> list[Json]:
    """Return what a kubelet and a node problem detector say of a node, as of a time."""
    found = [
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has enough memory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has enough PIDs available"),
        ("KernelDeadlock", "False", "KernelHasNoDeadlock", "kernel has no deadlock"),
        ("ReadonlyFilesystem", "False", "FilesystemIsNotReadOnly", "Filesystem is writable"),
        ("GpuXid", "False", "NoXid", "no XID was seen in the kernel's log"),
    ]
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": heartbeat,
            "lastTransitionTime": "2026-06-01T12:00:00Z",
        }
        for kind, status, reason, message in found
    ]


def request(method: str, at: str, body: Json | None = None) -> bytes:
    content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    head = (
        f"{method} {at} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: gpuspec-bench\r\n"
        f"Authorization: Bearer {ADMIN_TOKEN}\r\nAccept: application/json\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def _row(number: int, *, reserved: bool) -> Json:
    value = model(number)
    return {
        "name": value.partition("-")[0],
        "vram": "80gb",
        "perNode": PER_NODE,
        "cost": number % 10,
        "reserved": reserved,
        "nodes": {"matchLabels": {MODEL_LABEL: value}},
        "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
        "resource": GPU,
        "output": "ResourceClaim" if by_claims(number) else "ExtendedResource",
        "claim": {"deviceClassName": DRIVER, "driver": DRIVER, "products": [product(number)]},
    }


def _node(row: int) -> Json:
    name = f"node-{NAMED}"
    amounts = {
        "cpu": "128",
        "memory": "2113406520Ki",
        "pods": "250",
        "ephemeral-storage": "1843168Mi",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        **({} if by_claims(row) else {GPU: str(PER_NODE)}),
        "rdma/hca": "4",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": _labels(name, row),
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
                "csi.volume.kubernetes.io/nodeid": json.dumps({"csi.example.com": name}),
            },
        },
        "spec": {
            "podCIDR": "10.0.0.0/24",
            "taints": [{"key": GPU, "value": "present", "effect": "NoSchedule"}],
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts | {"cpu": "126", "memory": "2096629304Ki"},
            "conditions": _conditions("2026-06-01T12:00:00Z"),
            "addresses": [{"type": "Hostname", "address": name}],
            "images": [_image(number) for number in range(_IMAGES)],
        },
    }


def _labels(name: str, row: int) -> dict[str, str]:
    value = model(row)
    return {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name,
        "node.kubernetes.io/instance-type": "gpu-8",
        "topology.kubernetes.io/region": "tokyo",
        "topology.kubernetes.io/zone": "tokyo-a",
        "example.com/serial": name,
        MODEL_LABEL: value,
        "nvidia.com/gpu.product": f"NVIDIA-{value.upper()}",
        "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.count": str(PER_NODE),
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.machine": "G292-Z20-00",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.strategy": "single",
        "nvidia.com/gfd.timestamp": f"17{row}",
        **{f"nvidia.com/gpu.deploy.{part}": "true" for part in _OPERANDS},
        **{f"feature.node.kubernetes.io/{one}": "true" for one in _features()},
    }


_OPERANDS = ("container-toolkit", "dcgm", "dcgm-exporter", "device-plugin", "driver", "node-status")


@cache
def _features() -> tuple[str, ...]:
    return (
        *(f"cpu-cpuid.AVX512FLAG{number:02d}" for number in range(_CPU_FLAGS)),
        *(f"pci-{number:04x}.present" for number in range(0x10DE, 0x10DE + 10)),
        "cpu-hardware_multithreading",
        "kernel-config.NO_HZ",
        "network-sriov.capable",
        "storage-nonrotationaldisk",
    )


def _image(number: int) -> Json:
    repository = f"registry.example.com/platform/component-{number:02d}"
    digest = f"{number:02x}" * 32
    names = [f"{repository}@sha256:{digest}", f"{repository}:2026.06.{number}"]
    return {"names": names, "sizeBytes": 1_000_000 + number}


def _pod(row: int) -> Json:
    """Return a Pod as admission leaves it, bound to a node."""
    pod = as_sent(plain_pod())
    pod["metadata"]["labels"][SPEC_LABEL] = f"gpu-{model(row)}"
    pod["metadata"]["annotations"][REQUEST_ANNOTATION] = json.dumps(
        {
            "containers": [{"name": "main", "spec": f"gpu-{model(row)}", "count": 1}],
            "policy": "EveryFit",
            "candidates": [model(row)],
            "table": "0123456789abcdef",
        },
        separators=(",", ":"),
    )
    pod["metadata"]["ownerReferences"] = plain_pod()["metadata"]["ownerReferences"]
    resources = pod["spec"]["containers"][0]["resources"]
    if by_claims(row):
        claim = {"name": "gpu", "resourceClaimName": claim_name(NAMED)}
        pod["spec"]["resourceClaims"] = [claim]
        resources["claims"] = [{"name": "gpu"}]
    else:
        for side in resources.values():
            side[GPU] = "1"
    pod["spec"]["nodeSelector"] = {MODEL_LABEL: model(row)}
    pod["spec"]["nodeName"] = f"node-{_PLACED}"
    return pod
