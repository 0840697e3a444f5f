"""A small cluster in memory with nodes that may be ill, as the verbs about health read it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Self

import pytest
import yaml

from tests.builders import DRIVER, GPU, PFN_TABLE
from tests.webhook.controllers.memory import Memory
from webhook.health.ledger import Ledger
from webhook.health.records import Record
from webhook.health.stored import record_text
from webhook.health.stored_ledger import ledger_text
from webhook.inventory.times import seconds
from webhook.kube.errors import ApiError
from webhook.terms import (
    HEALTH_OBJECT,
    LEDGER_FIELD,
    RULE_LABEL,
    TABLES_PATH,
    UNHEALTHY_TAINT,
    VERDICTS_ANNOTATION,
)

Json = dict[str, Any]

READY = [{"type": "Ready", "status": "True"}]
NOW = seconds("2026-06-01T12:00:00Z")
SERVER = "https://cluster.example"
NODES = "/api/v1/nodes"
RULES = "/apis/resource.k8s.io/v1/devicetaintrules"
LEDGER = f"/api/v1/namespaces/gpuspec-system/configmaps/{HEALTH_OBJECT}"

# Lists of all namespaces, each with what is behind the namespace in the path of one object.
_EVERYWHERE = {
    "/api/v1/pods": "pods",
    "/apis/apps/v1/daemonsets": "daemonsets",
    "/apis/policy/v1/poddisruptionbudgets": "poddisruptionbudgets",
    "/apis/resource.k8s.io/v1/resourceclaims": "resourceclaims",
}


class Ward(Memory):
    """The API server of that cluster.

    Attributes:
        refused: Paths that may not be seen or changed, by the verb that is refused.
        minor: Of Kubernetes.
        has_rules: Whether it serves DeviceTaintRules.
    """

    server = SERVER

    def __init__(self, health: Json | None = None, minor: int = 37) -> None:
        super().__init__()
        self.refused: set[tuple[str, str]] = set()
        self.minor = minor
        self.has_rules = minor >= 37
        table: Json = yaml.safe_load(PFN_TABLE.read_bytes())
        table["metadata"]["name"] = "default"
        table["spec"]["health"] = health or {}
        self.put(f"{TABLES_PATH}/default", table)

    def with_patience(self, seconds: float) -> Self:
        assert seconds > 0
        return self

    def get(self, path: str, **query: str) -> Json:
        self._refuse("get", path)
        if path == "/version":
            minor = str(self.minor)
            return {"major": "1", "minor": minor, "gitVersion": f"v1.{minor}.2"}
        if path == "/apis":
            versions = [{"version": "v1"}]
            return {"groups": [{"name": "resource.k8s.io", "versions": versions}]}
        if path == "/apis/resource.k8s.io/v1":
            return {"resources": [{"name": "devicetaintrules"}] if self.has_rules else []}
        return super().get(path, **query)

    def items(self, path: str, **_: str) -> Iterator[Json]:
        self._refuse("list", path)
        plural = _EVERYWHERE.get(path)
        if plural is None:
            return super().items(path)
        parts = ((at.split("/")[-2], one) for at, one in self.objects.items())
        return iter(copy.deepcopy([one for of, one in parts if of == plural]))

    def replace(self, path: str, body: Json, **_: str) -> Json:
        self.before_write("replace", path)
        version = self.get(path)["metadata"]["resourceVersion"]
        if body["metadata"].get("resourceVersion") != version:
            raise ApiError(f"PUT {path}", 409, "Conflict", "changed meanwhile")
        return self._write("replace", path, body)

    def _refuse(self, verb: str, path: str) -> None:
        if (verb, path) in self.refused:
            what = path.rpartition("/")[2]
            raise ApiError(f"GET {path}", 403, "Forbidden", f"you may not {verb} {what}")

    def node(self, name: str, row: str = "v100-16gb", **fields: Any) -> Self:  # noqa: ANN401
        """Add a node."""
        self.put(f"{NODES}/{name}", node(name, row, **fields))
        return self

    def pod(self, name: str, node: str, **fields: Any) -> Self:  # noqa: ANN401
        """Add a Pod of namespace ml with one card."""
        found = pod(name, node, **fields)
        self.put(f"/api/v1/namespaces/{found['metadata']['namespace']}/pods/{name}", found)
        return self

    def disruption_budget(self, name: str, allowed: int = 0, **spec: Any) -> Self:  # noqa: ANN401
        """Add a PodDisruptionBudget for all Pods of namespace ml; ``spec`` says otherwise."""
        found = {
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {"selector": {}, **spec},
            "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 2},
        }
        self.put(f"/apis/policy/v1/namespaces/ml/poddisruptionbudgets/{name}", found)
        return self

    def ledger(self, ledger: Ledger | str) -> Self:
        """Write down what was done lately."""
        text = ledger if isinstance(ledger, str) else ledger_text(ledger)
        self.put(LEDGER, {"metadata": {"name": HEALTH_OBJECT}, "data": {LEDGER_FIELD: text}})
        return self

    def rule(self, name: str, device: str, *, is_ours: bool = True) -> Self:
        """Add a DeviceTaintRule on a device of pool ``pool``."""
        self.put(
            f"{RULES}/{name}",
            {
                "metadata": {"name": name, "labels": {RULE_LABEL: "unhealthy"} if is_ours else {}},
                "spec": {
                    "deviceSelector": {"driver": DRIVER, "pool": "pool", "device": device},
                    "taint": {"key": UNHEALTHY_TAINT, "effect": "NoSchedule"},
                },
            },
        )
        return self


def node(name: str, row: str = "v100-16gb", **fields: Any) -> Json:  # noqa: ANN401
    """A node of a row.

    Args:
        name: Its name.
        row: Its row's id, which is its label, too.
        fields: ``bad`` conditions with their status, ``since`` when all conditions are so, a
            ``record`` that is written on it, ``allocatable`` devices of 8, ``ready``, ``taints``
            and ``labels``.
    """
    since = fields.get("since", "2026-06-01T11:50:00Z")
    states = {"Ready": fields.get("ready", "True"), **fields.get("bad", {})}
    record: Record | None = fields.get("record")
    return {
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {"gpu-model": row, **fields.get("labels", {})},
            "annotations": {VERDICTS_ANNOTATION: record_text(record, NOW)} if record else {},
        },
        "spec": {"taints": fields.get("taints", [])},
        "status": {
            "capacity": {GPU: "8"},
            "allocatable": {GPU: str(fields.get("allocatable", 8))},
            "conditions": [
                {"type": kind, "status": status, "reason": "Seen", "lastTransitionTime": since}
                for kind, status in states.items()
            ],
            "nodeInfo": {"bootID": "boot"},
        },
    }


def pod(name: str, node: str, **fields: Any) -> Json:  # noqa: ANN401
    """A running Pod with one card.

    Args:
        name: Its name.
        node: Where it is.
        fields: Its ``owner`` as kind and name, None for none, its ``annotations``, its
            ``namespace``; what else is given is of its status.
    """
    namespace, annotations = fields.pop("namespace", "ml"), fields.pop("annotations", {})
    owner = fields.pop("owner", ("ReplicaSet", "train"))
    metadata: Json = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "annotations": annotations,
    }
    if owner is not None:
        kind, owner_name = owner
        version = "batch/v1" if kind == "Job" else "apps/v1"
        reference = {
            "apiVersion": version,
            "kind": kind,
            "name": owner_name,
            "uid": f"uid-{owner_name}",
        }
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "nodeName": node,
            "containers": [{"name": "main", "resources": {"limits": {GPU: "1"}}}],
        },
        "status": {"phase": "Running", **fields},
    }


def use_ward(monkeypatch: pytest.MonkeyPatch, ward: Ward, now: float = NOW) -> None:
    """Let every connection lead to this cluster, at a fixed time."""
    monkeypatch.setattr("webhook.kube.cluster.connect", lambda *_: ward)
    clock = SimpleNamespace(time=lambda: now)
    monkeypatch.setattr("webhook.cli.health.looking.time", clock)
