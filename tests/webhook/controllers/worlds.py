"""A world for loops whose mirrors are plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import yaml

from tests.builders import PFN_TABLE
from webhook.controllers.rules_mirror import RulesMirror
from webhook.controllers.tables import TableHeld, table_held
from webhook.controllers.world import World
from webhook.inventory.claim_needs import TemplateFacts
from webhook.inventory.daemon_facts import DaemonFacts
from webhook.inventory.facts import NodeFacts, Taint
from webhook.inventory.pod_facts import PodFacts

GPU = "nvidia.com/gpu"


MIRRORS = ("tables", "nodes", "pods", "daemons", "slices", "classes", "claims", "templates")


class Mirror:
    """What stands in for a ``Reflector``."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.synced = True
        self.trouble = ""
        self.changes = 0

    def put(self, key: str, one: object) -> None:
        self.objects[key] = one
        self.changes += 1

    def held(self) -> dict[str, Any]:
        return dict(self.objects)


class Rules(Mirror):
    """What stands in for a ``RulesMirror``: nothing is served until something is put."""

    served_at: str | None = None

    def held(self) -> Any:  # noqa: ANN401 -- another shape than its base has
        return None if self.served_at is None else tuple(self.objects.values())


class PlainWorld(World):
    """Everything that the loops look at, to be changed by tests."""

    def __init__(self) -> None:
        self.plain = {name: Mirror() for name in MIRRORS}
        for name, mirror in self.plain.items():
            setattr(self, name, mirror)
        self.plain["rules"] = self.plain_rules = Rules()
        self.rules = cast("RulesMirror", self.plain_rules)

    def put_table(self, held: TableHeld) -> None:
        self.plain["tables"].put(held.name, held)

    def put_nodes(self, nodes: Iterable[NodeFacts]) -> None:
        for node in nodes:
            self.plain["nodes"].put(node.name, node)

    def put_pod(self, pod: PodFacts) -> None:
        self.plain["pods"].put(pod.key, pod)

    def put_template(self, namespace: str, name: str) -> None:
        self.plain["templates"].put(f"{namespace}/{name}", TemplateFacts((namespace, name)))

    def put_daemon(self, daemon: DaemonFacts) -> None:
        self.plain["daemons"].put(daemon.key, daemon)


def pfn_table(generation: int = 1, uid: str = "uid-1", **row: object) -> TableHeld:
    """The fleet's table as an object; further fields go into its A100 row."""
    document = yaml.safe_load(PFN_TABLE.read_text())
    for one in document["spec"]["devices"]:
        if one["name"] == "a100":
            one.update(row)
    document["metadata"] |= {"name": "default", "generation": generation, "uid": uid}
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
