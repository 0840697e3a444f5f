"""The health loop with a world, an API server and a clock of plain objects."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from typing import Any, cast

import yaml
from prometheus_client import CollectorRegistry

from selection_spec.table import Table
from tests.builders import PFN_TABLE
from tests.logbook import NOW, Logbook
from tests.webhook.controllers.memory import Memory
from tests.webhook.controllers.worlds import Mirror, PlainWorld
from webhook.controllers.board import Board
from webhook.controllers.health import HealthLoop
from webhook.controllers.health_ledger import LedgerBook
from webhook.controllers.health_metrics import HealthMetrics
from webhook.controllers.tables import loaded, table_held
from webhook.health.stored import record_of
from webhook.inventory.facts import node_facts
from webhook.inventory.pod_facts import pod_facts
from webhook.inventory.rule_facts import rule_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError
from webhook.terms import HEALTH_LABEL, HEALTH_OBJECT, TABLES_PATH, VERDICTS_ANNOTATION

Json = dict[str, Any]

NODES = "/api/v1/nodes"
RULES = "/apis/resource.k8s.io/v1/devicetaintrules"
LEDGER = f"/api/v1/namespaces/gpuspec-system/configmaps/{HEALTH_OBJECT}"


class Server(Memory):
    """An API server that evicts Pods, and keeps our fields of nodes apart from others'.

    Attributes:
        protected: Names of Pods that a PodDisruptionBudget holds.
        evicted: Names of the Pods that were evicted, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.protected: set[str] = set()
        self.evicted: list[str] = []

    def get(self, path: str, **query: str) -> Json:
        if path == "/version":
            return {"major": "1", "minor": "37"}
        return super().get(path, **query)

    def create(self, path: str, body: Json, **query: str) -> Json:
        if not path.endswith("/eviction"):
            return super().create(path, body, **query)
        self.before_write("evict", path)
        at = path.removesuffix("/eviction")
        found = self.get(at)
        if found["metadata"]["uid"] != body["deleteOptions"]["preconditions"]["uid"]:
            raise ApiError(f"POST {path}", 409, "Conflict", "the UID differs")
        if body["metadata"]["name"] in self.protected:
            raise ApiError(f"POST {path}", 429, "TooManyRequests", "it would violate the budget")
        del self.objects[at]
        self.evicted.append(body["metadata"]["name"])
        return {}

    def replace(self, path: str, body: Json, **_: str) -> Json:
        self.before_write("replace", path)
        stored = self.get(path)
        if body["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"]:
            raise ApiError(f"PUT {path}", 409, "Conflict", "changed meanwhile")
        return self._write("replace", path, body)

    def patch(self, path: str, body: Json, kind: str = "merge", **query: str) -> Json:
        if kind != "apply" or not path.startswith(NODES):
            return super().patch(path, body, kind, **query)
        if body["metadata"]["uid"] != self.get(path)["metadata"]["uid"]:
            raise ApiError(f"PATCH {path}", 409, "Conflict", "the UID differs")
        full = copy.deepcopy(body)
        for part, name in (("labels", HEALTH_LABEL), ("annotations", VERDICTS_ANNOTATION)):
            full["metadata"].setdefault(part, {}).setdefault(name, None)
        return super().patch(path, full, "merge")


class Stage:
    """A loop on a cluster of A100 nodes ``n0`` and so on.

    Attributes:
        now: The time, which only ``pass_`` changes.
    """

    def __init__(self, nodes: int = 10, mode: str = "Evict", **settings: object) -> None:
        self.server = Server()
        self.world = PlainWorld()
        self.board = Board(lambda: None)
        self.logbook = Logbook()
        self.registry = CollectorRegistry()
        self.now: datetime = NOW
        self.loops: dict[str, HealthLoop] = {}
        self.use(mode, **settings)
        for number in range(nodes):
            self.server.put(f"{NODES}/n{number}", node(f"n{number}"))

    def use(self, mode: str, **settings: object) -> None:
        """Use the fleet's table with health settings."""
        document = yaml.safe_load(PFN_TABLE.read_text())
        document["metadata"] = {"name": "default", "generation": 1, "uid": "uid"}
        document["spec"]["health"] = {"mode": mode, "evictAfter": "0s", **settings}
        self.server.put(f"{TABLES_PATH}/default", document)

    @property
    def table(self) -> Table:
        """The table in use."""
        found = loaded(table_held(self.server.get(f"{TABLES_PATH}/default")).text).table
        assert found is not None
        return found

    def loop(self, name: str = "one") -> HealthLoop:
        """Return a process' loop; one that is new knows only what was written down."""
        if name not in self.loops:
            cluster = cast("Cluster", self.server)
            book = LedgerBook(cluster, "gpuspec-system", lambda: None)
            book.mirror = cast("Any", Mirror())
            self.loops[name] = HealthLoop(
                cluster,
                self.world,
                book,
                in_use="default",
                board=self.board,
                log=self.logbook.log,
                metrics=HealthMetrics(CollectorRegistry()),
                monotonic=self._steady,
            )
        return self.loops[name]

    def _steady(self) -> float:
        return self.now.timestamp()

    def see(self) -> None:
        """Have the mirrors show what is there."""
        readers = {
            "tables": (f"{TABLES_PATH}/", table_held),
            "nodes": (f"{NODES}/", node_facts),
            "pods": ("/api/v1/namespaces/", pod_facts),
            "slices": ("/apis/resource.k8s.io/v1/resourceslices/", slice_facts),
            "rules": (f"{RULES}/", rule_facts),
        }
        for name, (prefix, read) in readers.items():
            mirror = self.world.plain[name]
            mirror.objects = {}
            for path, one in self.server.objects.items():
                is_pod = name != "pods" or "/pods/" in path
                if path.startswith(prefix) and is_pod:
                    mirror.put(path.removeprefix(prefix), read(one))

    def run(self, name: str = "one", *, blindly: bool = False) -> float:
        """Run a loop once; blindly, its mirrors show what they showed before."""
        if not blindly:
            self.see()
        return self.loop(name).run(self.now)

    def pass_(self, seconds: float) -> None:
        """Let time go on."""
        self.now += timedelta(seconds=seconds)

    def fail(self, *names: str, status: str = "True") -> None:
        """Nodes have a fatal condition, or no longer have it."""
        for name in names:
            found = self.server.get(f"{NODES}/{name}")
            lost = {"type": "GPUIsLost", "status": status}
            found["status"]["conditions"] = [{"type": "Ready", "status": "True"}, lost]
            self.server.put(f"{NODES}/{name}", found)

    def pod(self, name: str, on: str, **more: Any) -> None:  # noqa: ANN401
        """Add a running Pod of a ReplicaSet with a GPU."""
        self.server.put(f"/api/v1/namespaces/team/pods/{name}", pod(name, on, **more))

    def tainted(self) -> list[str]:
        """The nodes with our taint."""
        found = (one for path, one in self.server.objects.items() if path.startswith(f"{NODES}/"))
        return [
            one["metadata"]["name"]
            for one in found
            if any(t["key"] == "gpuspec.preferred.jp/unhealthy" for t in one["spec"]["taints"])
        ]

    def record(self, name: str) -> Any:  # noqa: ANN401 -- a Record, or None
        """What is written on a node."""
        annotations = self.server.get(f"{NODES}/{name}")["metadata"].get("annotations", {})
        return record_of(annotations.get(VERDICTS_ANNOTATION, ""), name)

    def condition(self, kind: str) -> Any:  # noqa: ANN401 -- a Condition
        """What the loop says in the table's status."""
        (found,) = (one for one in self.board.conditions() if one.type == kind)
        return found


def node(name: str, *taints: Json) -> Json:
    """An A100 node that is fine."""
    amounts = {"nvidia.com/gpu": "4"}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {"gpu-model": "a100-80gb"}},
        "spec": {"taints": list(taints)},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"bootID": "boot"},
        },
    }


def pod(name: str, on: str, owner: str = "ReplicaSet", **status: object) -> Json:
    """A running Pod with a GPU."""
    version = "batch/v1" if owner == "Job" else "apps/v1"
    reference = {
        "apiVersion": version,
        "kind": owner,
        "name": "web",
        "uid": "uid-web",
        "controller": True,
    }
    limits = {"limits": {"nvidia.com/gpu": "1"}}
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"uid-{name}",
            "ownerReferences": [reference],
        },
        "spec": {"nodeName": on, "containers": [{"name": "main", "resources": limits}]},
        "status": {"phase": "Running", **status},
    }
