"""The fleet of the tests as a DRA driver publishes it, and its table with claims.

Pure but for :func:`publishing`: the devices of a node are those that its device plugin counts, so
that either output may be tried on the same nodes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import yaml

from tests.builders import PFN_TABLE
from tests.cluster.api import Api, Json, path
from tests.cluster.claims.devices import NVIDIA, SLICES, nvidia, slices
from tests.cluster.fleet import GPU, MODEL_LABEL
from tests.cluster.product.places import in_parallel

DRA = "resource.k8s.io/v1"
CLASSES = path(DRA, "deviceclasses")

PRODUCTS: Mapping[str, tuple[str, str, str, str]] = {
    "v100-16gb": ("Tesla V100-SXM2-16GB", "16160Mi", "Volta", "7.0.0"),
    "v100-32gb": ("Tesla V100-SXM2-32GB", "32510Mi", "Volta", "7.0.0"),
    "a30-24gb": ("NVIDIA A30", "24576Mi", "Ampere", "8.0.0"),
    "a100-80gb": ("NVIDIA A100-SXM4-80GB", "81920Mi", "Ampere", "8.0.0"),
}
"""By model what its driver says of it: product, memory, architecture, compute capability."""


def fleets_table(**fields: object) -> Json:
    """The fleet's table, called default, in which every row may also be claimed.

    Keywords are fields of its spec; without ``output`` its rows are claimed.
    """
    table: Json = yaml.safe_load(PFN_TABLE.read_bytes())
    table["metadata"] = {"name": "default"}
    for row in table["spec"]["devices"]:
        row["claim"] = claim_of(PRODUCTS[f"{row['name']}-{row['vram']}"][0])
    table["spec"] |= {"output": "ResourceClaim", **copy.deepcopy(fields)}
    return table


def claim_of(*products: str) -> Json:
    """The claim of a row with these products."""
    return {"deviceClassName": NVIDIA, "driver": NVIDIA, "products": list(products)}


def device_class(name: str = NVIDIA, **spec: object) -> Json:
    """The DeviceClass that NVIDIA's driver brings along; keywords are more of its spec."""
    whole = f"device.driver == '{NVIDIA}' && device.attributes['{NVIDIA}'].type == 'gpu'"
    return {
        "apiVersion": DRA,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": whole}}], **spec},
    }


def slices_of(nodes: Iterable[Json]) -> list[Json]:
    """The ResourceSlices of nodes of the fleet, in the order of the nodes."""
    return [one for node in nodes for one in _slices_of(node)]


def _slices_of(node: Json) -> Iterator[Json]:
    model = node["metadata"]["labels"].get(MODEL_LABEL)
    if model is not None:
        count = int(node["status"]["capacity"][GPU])
        yield from slices_with(node["metadata"]["name"], {model: count})


def slices_with(node: str, counts: Mapping[str, int]) -> Iterator[Json]:
    """The ResourceSlice of a node with so many devices of each model."""
    models = [model for model, count in counts.items() for _ in range(count)]
    devices = [nvidia(f"gpu-{n}", *PRODUCTS[model]) for n, model in enumerate(models)]
    return slices(node, devices)


@contextmanager
def publishing(api: Api, published: Iterable[Json]) -> Iterator[None]:
    """A time in which these ResourceSlices are there."""
    there = list(published)
    try:
        publish(api, there)
        yield
    finally:
        names = [one["metadata"]["name"] for one in there]
        in_parallel(lambda name: api.delete(f"{SLICES}/{name}"), names)


def publish(api: Api, published: Iterable[Json]) -> None:
    """Create ResourceSlices, many at a time."""
    by_name = {one["metadata"]["name"]: one for one in published}
    in_parallel(lambda name: api.create(SLICES, by_name[name]), by_name)
