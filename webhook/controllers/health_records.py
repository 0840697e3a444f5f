"""What is known of each node, written on it by server-side apply: an annotation and a label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webhook.controllers.pauses import Pauses
from webhook.health.records import Record
from webhook.health.stored import record_text
from webhook.inventory.facts import Json, NodeFacts
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError
from webhook.terms import HEALTH_LABEL, SUSPECT, VERDICTS_ANNOTATION

_MANAGER = "gpuspec-health"

# Within that time a write of ours is seen; a node that differs later was changed by somebody.
_SEEN_S = 10.0
# Nodes that are written in one run; the rest follows in the next ones.
_NODES = 200


@dataclass(frozen=True, slots=True)
class Written:
    """What became of writing: nodes whose record is not there yet, and why the last one is not."""

    failed: frozenset[str]
    refused: str = ""


@dataclass(frozen=True, slots=True)
class _Content:
    text: str
    label: bool


class RecordBook:
    """Brings nodes to what is known of them.

    Args:
        cluster: Where they are.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._written: dict[str, tuple[_Content, float]] = {}
        self._refused: Pauses[str] = Pauses()
        self._why: dict[str, str] = {}

    def write(
        self, records: Mapping[str, Record], nodes: Mapping[str, NodeFacts], now: float
    ) -> Written:
        """Write what differs.

        Args:
            records: What is known, by node.
            nodes: The nodes as they are seen.
            now: Seconds since 1970.

        Raises:
            UnreachableError: The API server does not answer.
        """
        failed: set[str] = set()
        count = 0
        for node, content in self._differing(records, nodes, now):
            if not self._refused.is_over(node.name, now):
                failed.add(node.name)
                continue
            count += 1
            if count > _NODES:
                failed.add(node.name)
                continue
            try:
                self._apply(node, content)
            except ApiError as refused:
                failed.add(node.name)
                self._refused.failed(node.name, now)
                if not (refused.is_not_found or refused.is_conflict):  # another node of this name
                    self._why[node.name] = str(refused)
            else:
                self._refused.succeeded(node.name)
                self._written[node.name] = content, now
        self._written = {name: one for name, one in self._written.items() if now - one[1] < _SEEN_S}
        self._refused.keep(failed)
        self._why = {name: why for name, why in self._why.items() if name in failed}
        return Written(frozenset(failed), next(iter(self._why.values()), ""))

    def _differing(
        self, records: Mapping[str, Record], nodes: Mapping[str, NodeFacts], now: float
    ) -> Iterator[tuple[NodeFacts, _Content]]:
        noted = {name for name, node in nodes.items() if node.verdicts}
        for name in sorted({*records, *noted, *self._written}):
            node = nodes.get(name)
            if node is None:
                continue
            record = records.get(name)
            content = _Content("", label=False)
            if record is not None:
                content = _Content(record_text(record, now), record.label)
            there = _Content(node.verdicts, _has_label(node) and content.label)
            written, at = self._written.get(name, (there, 0.0))
            is_seen = now - at >= _SEEN_S
            if content != (there if is_seen else written):
                yield node, content

    def _apply(self, node: NodeFacts, content: _Content) -> None:
        """Apply our two fields; with the node's uid, so that no node is made that is gone."""
        metadata: Json = {"name": node.name, "uid": node.uid}
        if content.text:
            metadata["annotations"] = {VERDICTS_ANNOTATION: content.text}
        if content.label:
            metadata["labels"] = {HEALTH_LABEL: SUSPECT}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        path = f"/api/v1/nodes/{node.name}"
        self._cluster.patch(path, body, "apply", fieldManager=_MANAGER, force="true")


def _has_label(node: NodeFacts) -> bool:
    return node.labels.get(HEALTH_LABEL) == SUSPECT
