"""What a DRA driver publishes of a population's GPUs, and the claims of its Pods."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.population import (
    DRIVER,
    NAMED,
    PER_NODE,
    Population,
    by_claims,
    claim_name,
    product,
    request,
)
from tests.bench.reviews import Json, Numbered, serial
from webhook.terms import SLICES_PATH

_CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def slice_requests(there: Population) -> Iterator[bytes]:
    """Yield the creation of a ResourceSlice for every node, device plugin or not."""
    requests = [Numbered(request("POST", SLICES_PATH, _slice(row))) for row in range(there.rows)]
    for number in range(there.nodes):
        yield requests[number % there.rows](serial(number))


def claim_requests(there: Population) -> Iterator[bytes]:
    """Yield the creation of the claim of every Pod whose device comes by one."""
    create = Numbered(request("POST", _CLAIMS, _claim()))
    return (create(serial(number)) for number in _claiming(there))


def allocations(there: Population) -> Iterator[bytes]:
    """Yield what a scheduler writes into these claims."""
    for number in _claiming(there):
        node, device = number % there.nodes, number // there.nodes
        pool = f"node-{serial(node).decode()}"
        result = {"request": "gpu", "driver": DRIVER, "pool": pool, "device": f"gpu-{device}"}
        status = {"status": {"allocation": {"devices": {"results": [result]}}}}
        at = f"{_CLAIMS}/{claim_name(serial(number).decode())}/status"
        yield request("PATCH", at, status)


def _claiming(there: Population) -> Iterator[int]:
    return (pod for pod in range(there.pods) if by_claims(pod % there.nodes % there.rows))


def _slice(row: int) -> Json:
    """Return a slice as NVIDIA's driver publishes it, 6 KB."""
    node = f"node-{NAMED}"
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{DRIVER}-abcde"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [_device(row, number) for number in range(PER_NODE)],
        },
    }


def _device(row: int, number: int) -> Json:
    texts = {
        "type": "gpu",
        "uuid": f"GPU-{NAMED}-{number}-4d3c-9a5b-0f1e2d3c4b5a",
        "productName": product(row),
        "brand": "Nvidia",
        "architecture": "Hopper",
        "addressingMode": "HMM",
        "resource.kubernetes.io/pciBusID": f"0000:{number:02x}:00.0",
        "resource.kubernetes.io/pcieRoot": f"pci0000:{number:02x}",
    }
    versions = {
        "cudaComputeCapability": "9.0.0",
        "driverVersion": "580.65.6",
        "cudaDriverVersion": "13.0.0",
    }
    amounts = {
        "memory": "81559Mi",
        "multiprocessors": "132",
        "copyEngines": "8",
        "decoders": "7",
        "encoders": "0",
        "jpegEngines": "7",
        "ofaEngines": "1",
    }
    return {
        "name": f"gpu-{number}",
        "attributes": {
            **{name: {"string": text} for name, text in texts.items()},
            **{name: {"version": text} for name, text in versions.items()},
            "resource.kubernetes.io/numaNode": {"int": number // 4},
        },
        "capacity": {name: {"value": amount} for name, amount in amounts.items()},
    }


def _claim() -> Json:
    exactly = {"deviceClassName": DRIVER, "count": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": claim_name(NAMED)},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }
