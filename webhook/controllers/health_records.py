"""What is known of each node, written on it by server-side apply: an annotation and a label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webhook.controllers.pauses import Pauses
from webhook.health.records import Record
from webhook.health.stored import record_text
from webhook.inventory.facts import Json, NodeFacts, mapping
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError, ClusterError
from webhook.terms import HEALTH_LABEL, SUSPECT, VERDICTS_ANNOTATION

_MANAGER = "gpuspec-health"

# Within that time a write of ours is seen; a node that differs later was changed by somebody. Who
# does so again and again is given twice the time with every time, up to some hours, until it was
# quiet for long.
_SEEN_S = 10.0
_DOUBLINGS = 10
_QUIET_S = 600.0
# Nodes that are written in one run; the rest follows in the next ones.
_NODES = 200
# So many in a row for which there is no answer: the API server gives none to anybody.
_UNANSWERED = 3


@dataclass(frozen=True, slots=True)
class Written:
    """What became of writing: nodes whose record is not there yet, and why the last one is not."""

    failed: frozenset[str]
    refused: str = ""


@dataclass(frozen=True, slots=True)
class _Content:
    text: str
    label: bool


@dataclass(frozen=True, slots=True)
class _Sent:
    """What was last written on a node, when, and how often before that it had been the same."""

    content: _Content
    at: float
    times: int = 0

    def is_seen(self, steady: float) -> bool:
        """Tell whether what the node shows by now is what became of it."""
        return steady - self.at >= _SEEN_S * (1 << min(self.times, _DOUBLINGS))


class RecordBook:
    """Brings nodes to what is known of them.

    Args:
        cluster: Where they are.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sent: dict[str, _Sent] = {}
        self._refused: Pauses[str] = Pauses()
        self._why: dict[str, str] = {}

    def write(
        self,
        records: Mapping[str, Record],
        nodes: Mapping[str, NodeFacts],
        now: float,
        steady: float,
    ) -> Written:
        """Write what differs.

        Args:
            records: What is known, by node.
            nodes: The nodes as they are seen.
            now: Seconds since 1970.
            steady: Seconds of a clock that nobody can set.

        Raises:
            UnreachableError: The API server answers for no node.
        """
        failed: set[str] = set()
        count = unanswered = 0
        for node, content in self._differing(records, nodes, now, steady):
            if not self._refused.is_over(node.name, steady):
                failed.add(node.name)
                continue
            count += 1
            if count > _NODES:
                failed.add(node.name)
                continue
            try:
                self._apply(node, content)
            except ClusterError as refused:
                failed.add(node.name)
                self._refused.failed(node.name, steady)
                if not _is_of_another(refused):
                    self._why[node.name] = str(refused)
                unanswered = 0 if isinstance(refused, ApiError) else unanswered + 1
                if unanswered == _UNANSWERED:
                    raise
            else:
                unanswered = 0
                self._refused.succeeded(node.name)
                self._note(node.name, content, steady)
        self._forget(nodes, steady)
        self._refused.keep(failed)
        self._why = {name: why for name, why in self._why.items() if name in failed}
        return Written(frozenset(failed), next(iter(self._why.values()), ""))

    def _note(self, node: str, content: _Content, steady: float) -> None:
        before = self._sent.get(node)
        is_same = before is not None and before.content == content
        times = before.times + 1 if before is not None and is_same else 0
        self._sent[node] = _Sent(content, steady, times)

    def _forget(self, nodes: Mapping[str, NodeFacts], steady: float) -> None:
        """Forget what was written long ago and has stayed, or was on a node that is gone."""
        self._sent = {
            name: sent
            for name, sent in self._sent.items()
            if name in nodes
            and (steady - sent.at < _QUIET_S or sent.content != _there(nodes[name], sent.content))
        }

    def _differing(
        self,
        records: Mapping[str, Record],
        nodes: Mapping[str, NodeFacts],
        now: float,
        steady: float,
    ) -> Iterator[tuple[NodeFacts, _Content]]:
        noted = {name for name, node in nodes.items() if node.verdicts}
        for name in sorted({*records, *noted, *self._sent}):
            node = nodes.get(name)
            if node is None:
                continue
            record = records.get(name)
            content = _Content("", label=False)
            if record is not None:
                content = _Content(record_text(record, now), record.label)
            sent = self._sent.get(name)
            is_seen = sent is None or sent.is_seen(steady)
            there = _there(node, content) if sent is None or is_seen else sent.content
            if content != there:
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
        found = self._cluster.patch(path, body, "apply", fieldManager=_MANAGER, force="true")
        annotations = mapping(mapping(found.get("metadata")).get("annotations"))
        if not content.text and VERDICTS_ANNOTATION in annotations:
            # Somebody else wrote it, so that it does not go with what is ours.
            gone = {"uid": node.uid, "annotations": {VERDICTS_ANNOTATION: None}}
            self._cluster.patch(path, {"metadata": gone})


def _there(node: NodeFacts, wanted: _Content) -> _Content:
    """Return what a node shows; a label that we do not want is somebody else's matter."""
    has_label = node.labels.get(HEALTH_LABEL) == SUSPECT
    return _Content(node.verdicts, has_label and wanted.label)


def _is_of_another(refused: ClusterError) -> bool:
    """Tell whether it is said of another node of this name."""
    return isinstance(refused, ApiError) and (refused.is_not_found or refused.is_conflict)
