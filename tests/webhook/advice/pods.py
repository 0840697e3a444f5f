"""Pods as they are stored: admitted by a table, then bound to a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from selection_spec.table import Table
from tests.builders import Json, PodBuilder
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
