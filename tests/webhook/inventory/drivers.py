"""Builds ResourceSlices and ResourceClaims as the API server sends them, a line each."""

from __future__ import annotations

from tests.builders import Json

NVIDIA = "gpu.nvidia.com"
A30 = ("NVIDIA A30", "24Gi")


def device(product: str = "NVIDIA A30", memory: str = "24Gi", kind: str = "gpu") -> Json:
    """A device of NVIDIA's; ``pool`` gives it a name."""
    return {
        "attributes": {"productName": {"string": product}, "type": {"string": kind}},
        "capacity": {"memory": {"value": memory}},
    }


def tainted(one: Json, effect: str = "NoSchedule") -> Json:
    """The same device with a taint of its driver."""
    return one | {"taints": [{"key": "gpu.nvidia.com/xid", "value": "79", "effect": effect}]}


def pool(  # noqa: PLR0913 - one a field
    *devices: Json,
    name: str = "n1",
    generation: int = 1,
    of: int = 1,
    part: int = 0,
    driver: str = NVIDIA,
    node: str | None = None,
) -> Json:
    """A slice of a node's pool, whose devices are called ``gpu-0-0`` and so on."""
    return {
        "metadata": {"name": f"{name}-{driver}-{generation}-{part}"},
        "spec": {
            "driver": driver,
            "nodeName": name if node is None else node,
            "pool": {"name": name, "generation": generation, "resourceSliceCount": of},
            "devices": [
                {"name": f"gpu-{part}-{number}", **one} for number, one in enumerate(devices)
            ],
        },
    }


def claim(*devices: str, at: str = "n1", driver: str = NVIDIA, **result: object) -> Json:
    """A claim that holds these devices of a pool."""
    return {
        "metadata": {"name": "c", "namespace": "team"},
        "status": {
            "allocation": {
                "devices": {
                    "results": [
                        {"request": "gpu", "driver": driver, "pool": at, "device": one, **result}
                        for one in devices
                    ]
                }
            }
        },
    }
