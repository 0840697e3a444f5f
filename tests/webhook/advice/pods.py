"""Pods as they are stored: admitted by a table, then bound to a node."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy

import yaml

from selection_spec.table import Table, load_table
from tests.builders import PFN_TABLE, Json, PodBuilder
from webhook.admission.translate import ADMISSION, Verdict, translate
from webhook.inventory.facts import NodeFacts, node_facts
from webhook.jsonpatch import write
from webhook.snapshot import Snapshot


def stored(pod: Json | PodBuilder, table: Table, node: str = "") -> Json:
    """Admit a Pod, and bind it to a node."""
    raw = pod.build() if isinstance(pod, PodBuilder) else pod
    outcome = translate(raw, ADMISSION, Snapshot(table))
    assert outcome.verdict is Verdict.PATCHED, outcome.problems
    after = write(raw, outcome.edits).after
    after["metadata"].setdefault("namespace", "team-a")
    if node:
        after["spec"]["nodeName"] = node
        after["status"] = {"phase": "Running"}
    return after


def make_node(
    name: str,
    labels: Mapping[str, str],
    *,
    taints: Sequence[Json] = (),
    devices: Mapping[str, int] | None = None,
    **spec: object,
) -> Json:
    """Build a Node; ``devices`` are its extended resources."""
    amounts = {name: str(count) for name, count in (devices or {}).items()}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"taints": list(taints), **spec},
        "status": {
            "capacity": amounts,
            "allocatable": dict(amounts),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def by_name(*nodes: Json) -> dict[str, NodeFacts]:
    """Return the facts of nodes by name."""
    return {facts.name: facts for facts in map(node_facts, nodes)}


PRODUCTS = {
    "v100-16gb": "Tesla V100-SXM2-16GB",
    "v100-32gb": "Tesla V100-SXM2-32GB",
    "a30-24gb": "NVIDIA A30",
    "a100-80gb": "NVIDIA A100-SXM4-80GB",
}
"""What the driver calls the cards of the worked candidates."""

_PFN: Json = yaml.safe_load(PFN_TABLE.read_bytes())


def moved_document(ids: Collection[str] = tuple(PRODUCTS), **spec: object) -> Json:
    """Return the table of the worked candidates, each row with a claim, some taken by it."""
    document = deepcopy(_PFN)
    for row in document["spec"]["devices"]:
        row_id = f"{row['name']}-{row['vram']}"
        row["claim"] = {
            "deviceClassName": "gpu.nvidia.com",
            "driver": "gpu.nvidia.com",
            "products": [PRODUCTS[row_id]],
        }
        row["output"] = "ResourceClaim" if row_id in ids else "ExtendedResource"
    document["spec"].update(spec)
    return document


def moved_table(ids: Collection[str] = tuple(PRODUCTS), **spec: object) -> Table:
    """Load it."""
    return load_table(json.dumps(moved_document(ids, **spec)))


def make_slice(node: str, product: str, devices: int, memory: str = "80Gi") -> Json:
    """Build the ResourceSlice by which a driver offers whole cards of a node."""
    return {
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpu"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": f"gpu-{number}",
                    "attributes": {
                        "type": {"string": "gpu"},
                        "productName": {"string": product},
                    },
                    "capacity": {"memory": {"value": memory}},
                }
                for number in range(devices)
            ],
        },
    }
