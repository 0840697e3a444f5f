"""Small builders, so that a row of a test table stays one line.

Everything built is fresh JSON: a test may change what it got.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Self

from selection_spec import data
from selection_spec.table import Table, load_table
from webhook.selectors import PREFERRED, REQUIRED
from webhook.snapshot import Snapshot

Json = dict[str, Any]

DOMAIN = "preferred.jp"
GPU = "nvidia.com/gpu"
DRIVER = "gpu.nvidia.com"
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"

PFN_TABLE = Path(data.__file__).parent / "pfn-table.yaml"


class PodBuilder:
    """Builds one Pod, a call a field; ``build`` returns it."""

    def __init__(self, name: str) -> None:
        self._pod: Json = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": []},
        }

    def container(
        self,
        name: str,
        limits: Mapping[str, object] | None = None,
        requests: Mapping[str, object] | None = None,
        /,
        **specs: object,
    ) -> Self:
        """Add a container; ``any_24gb=1`` is ``preferred.jp/gpu-any-24gb: 1`` under limits."""
        self._pod["spec"]["containers"].append(_container(name, limits, requests, specs))
        return self

    def init(
        self,
        name: str,
        limits: Mapping[str, object] | None = None,
        requests: Mapping[str, object] | None = None,
        /,
        **specs: object,
    ) -> Self:
        """Add a plain init container."""
        built = _container(name, limits, requests, specs)
        self._pod["spec"].setdefault("initContainers", []).append(built)
        return self

    def sidecar(
        self,
        name: str,
        limits: Mapping[str, object] | None = None,
        requests: Mapping[str, object] | None = None,
        /,
        **specs: object,
    ) -> Self:
        """Add a native sidecar: an init container that is always restarted."""
        self.init(name, limits, requests, **specs)
        self._pod["spec"]["initContainers"][-1]["restartPolicy"] = "Always"
        return self

    def selector(self, **labels: str) -> Self:
        """Set ``nodeSelector``; ``gpu_model`` is the label ``gpu-model``."""
        self._pod["spec"]["nodeSelector"] = {_dashed(key): value for key, value in labels.items()}
        return self

    def terms(self, *terms: Json | None) -> Self:
        """Set the terms of the required node affinity."""
        self._node_affinity()[REQUIRED] = {"nodeSelectorTerms": list(terms)}
        return self

    def prefers(self, *preferred: Json) -> Self:
        """Set the preferred node affinity."""
        self._node_affinity()[PREFERRED] = list(preferred)
        return self

    def tolerates(self, *tolerations: Json) -> Self:
        """Set the tolerations."""
        self._pod["spec"]["tolerations"] = list(tolerations)
        return self

    def spec(self, **fields: object) -> Self:
        """Set fields of ``spec``."""
        self._pod["spec"].update(fields)
        return self

    def metadata(self, **fields: object) -> Self:
        """Set fields of ``metadata``."""
        self._pod["metadata"].update(fields)
        return self

    def owner(self, kind: str, name: str, **fields: object) -> Self:
        """Add the controller that owns the Pod."""
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": True, **fields}
        self._pod["metadata"].setdefault("ownerReferences", []).append(owner)
        return self

    def high(self) -> Self:
        """Give it the priority class that means SmallestFit in the tables of the tests."""
        return self.spec(priorityClassName="high")

    def build(self) -> Json:
        """Return the Pod."""
        return deepcopy(self._pod)

    def _node_affinity(self) -> Json:
        affinity = self._pod["spec"].setdefault("affinity", {})
        node: Json = affinity.setdefault("nodeAffinity", {})
        return node


def make_pod(name: str = "train") -> PodBuilder:
    """Begin a Pod without containers."""
    return PodBuilder(name)


def asking(amount: object = 1, **specs: object) -> PodBuilder:
    """Begin a Pod whose only container asks for ``gpu-any``, or for what is given."""
    return make_pod().container("main", **(specs or {"any": amount}))


def _container(
    name: str,
    limits: Mapping[str, object] | None,
    requests: Mapping[str, object] | None,
    specs: Mapping[str, object],
) -> Json:
    sides = {"limits": {**(limits or {}), **_keys(specs)}, "requests": dict(requests or {})}
    resources = {side: amounts for side, amounts in sides.items() if amounts}
    return {"name": name, "image": "app", **({"resources": resources} if resources else {})}


def _keys(specs: Mapping[str, object]) -> dict[str, object]:
    return {f"{DOMAIN}/gpu-{_dashed(spec)}": amount for spec, amount in specs.items()}


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def expression(key: str, operator: str, *values: str) -> Json:
    """Build an expression of a node selector term."""
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def term(*expressions: Json, fields: list[Json] | None = None) -> Json:
    """Build a node selector term."""
    return {
        **({"matchExpressions": list(expressions)} if expressions else {}),
        **({"matchFields": fields} if fields is not None else {}),
    }


def tolerate(key: str, value: str | None = None, effect: str | None = "NoSchedule") -> Json:
    """Build a toleration: of one value, or of every value of a taint."""
    operator = {"operator": "Exists"} if value is None else {"operator": "Equal", "value": value}
    return {"key": key, **operator, **({"effect": effect} if effect is not None else {})}


def make_row(row_id: str, **fields: object) -> Json:
    """Build a table row by its id; ``perNode=4`` and the like override the defaults."""
    name, _, vram = row_id.rpartition("-")
    return {
        "name": name,
        "vram": vram,
        "perNode": 8,
        "nodes": {"matchLabels": {"gpu-model": row_id}},
        "resource": GPU,
        **fields,
    }


def claim_row(row_id: str, **fields: object) -> Json:
    """Build a table row whose devices a DRA driver hands out; its product is called like it."""
    claim = {"deviceClassName": DRIVER, "driver": DRIVER, "products": [row_id]}
    row = make_row(row_id, output="ResourceClaim", claim=claim)
    del row["resource"]
    return {**row, **fields}


def make_table(*rows: Json, **fields: object) -> Table:
    """Build a table of rows; priority class ``high`` means SmallestFit unless said otherwise."""
    document = {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": "test"},
        "spec": {
            "priorities": [{"classNames": ["high"], "policy": "SmallestFit"}],
            "devices": list(rows),
            **fields,
        },
    }
    return load_table(json.dumps(document))


@cache
def pfn_table() -> Table:
    """Load the table of the worked candidates (semantics §8)."""
    return load_table(PFN_TABLE.read_bytes())


def pfn() -> Snapshot:
    """Make a fresh snapshot of that table."""
    return Snapshot(pfn_table())


def make_review(pod: object, **request: object) -> Json:
    """Build the review that the API server sends when a Pod is created."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID,
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": "team",
            "operation": "CREATE",
            "object": pod,
            **request,
        },
    }
