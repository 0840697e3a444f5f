"""A world for loops whose mirrors are plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import yaml

from tests.builders import PFN_TABLE
from webhook.controllers.tables import TableHeld, table_held
from webhook.controllers.world import World
from webhook.inventory.daemon_facts import DaemonFacts
from webhook.inventory.facts import NodeFacts, Taint
from webhook.inventory.pod_facts import PodFacts

GPU = "nvidia.com/gpu"


class Mirror:
    """What stands in for a ``Reflector``."""

    def __init__(self, held: dict[str, Any] | None = None) -> None:
        self.objects = held or {}

    def held(self) -> dict[str, Any]:
        return dict(self.objects)


class PlainWorld:
    """Everything that the loops look at, to be changed by tests."""

    def __init__(self) -> None:
        self.synced = True
        self.tables = Mirror()
        self.nodes = Mirror()
        self.pods = Mirror()
        self.daemons = Mirror()

    def as_world(self) -> World:
        return cast("World", self)

    def put_table(self, held: TableHeld) -> None:
        self.tables.objects[held.name] = held

    def put_nodes(self, nodes: Iterable[NodeFacts]) -> None:
        self.nodes.objects |= {node.name: node for node in nodes}

    def put_pod(self, pod: PodFacts) -> None:
        self.pods.objects[pod.key] = pod

    def put_daemon(self, daemon: DaemonFacts) -> None:
        self.daemons.objects[daemon.key] = daemon


def pfn_table(generation: int = 1, **row: object) -> TableHeld:
    """The fleet's table as an object; further fields go into its A100 row."""
    document = yaml.safe_load(PFN_TABLE.read_text())
    for one in document["spec"]["devices"]:
        if one["name"] == "a100":
            one.update(row)
    document["metadata"] |= {"name": "default", "generation": generation}
    return table_held(document)


def gpu_node(name: str, model: str, count: int, *taints: Taint) -> NodeFacts:
    """A node of the fleet."""
    amounts = {GPU: count}
    return NodeFacts(
        name=name,
        labels={"gpu-model": model},
        taints=(Taint("gpu-model", model, "NoSchedule"), *taints),
        capacity=amounts,
        allocatable=amounts,
    )
