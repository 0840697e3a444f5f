"""``table diff`` for programs: everything, nothing shortened."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from selection_spec.errors import Level, Problem
from selection_spec.table import Table
from webhook.advice.diff import Diff, ManifestChange, NodesReport, PodsReport
from webhook.advice.diff_nodes import Matched
from webhook.advice.moves import Move
from webhook.advice.owners import OwnerChange
from webhook.advice.row_changes import FieldChange, TableChanges
from webhook.advice.spec_changes import SpecChange
from webhook.advice.verdicts import Fate, PodVerdict

Json = dict[str, Any]


def as_json(diff: Diff) -> Json:
    """Return the report in its documented shape.

    ``nodes``, ``pods`` and ``manifests`` only if they were given.
    """
    result: Json = {
        "old": _table(diff.old),
        "new": _table(diff.new),
        "worst": _worst(diff.levels),
        "settings": [_field(one) for one in diff.changes.settings],
        "actsAtOnce": [
            {"mode": one.mode.value, "rows": list(one.rows)} for one in diff.changes.reaches
        ],
        "rows": _rows(diff.changes),
        "moves": [_move(one) for one in diff.moves],
        "specs": [_spec(one) for one in diff.specs],
    }
    if diff.nodes is not None:
        result["nodes"] = _nodes(diff.nodes)
    if diff.pods is not None:
        result["pods"] = _pods(diff.pods)
    if diff.manifests is not None:
        result["manifests"] = [_manifest(one) for one in diff.manifests]
    return result


def _table(table: Table) -> Json:
    return {"name": table.name, "digest": table.digest}


def _worst(levels: Iterable[Level]) -> str | None:
    found = set(levels)
    return next((one.value for one in (Level.ERROR, Level.WARNING) if one in found), None)


def _rows(changes: TableChanges) -> Json:
    return {
        "added": [row.id for row in changes.added],
        "removed": [row.id for row in changes.removed],
        "renamed": [{"old": old, "new": new} for old, new in changes.renamed],
        "changed": [{"id": one.row, **_field(one)} for one in changes.changed],
    }


def _field(one: FieldChange) -> Json:
    return {"field": one.field, "old": one.before, "new": one.after}


def _move(move: Move) -> Json:
    before, after = move.quota
    result: Json = {
        "rows": list(move.rows),
        "old": move.before,
        "new": move.after,
        "deviceClass": move.device_class,
        "quota": {"old": before, "new": after},
        "problems": [_problem(one) for one in move.problems],
    }
    if move.devices is not None:
        result |= {"devices": move.devices, "nodes": move.nodes}
    return result


def _problem(one: Problem) -> Json:
    return {"level": one.level.value, "text": one.text()}


def _spec(one: SpecChange) -> Json:
    result: Json = {
        "spec": str(one.ask.spec),
        "counts": [one.ask.least, one.ask.most],
        "policy": one.policy.value,
        "level": _level(one.level),
        "old": list(one.before),
        "new": list(one.after),
        "lost": list(one.shift.lost),
        "gained": list(one.shift.gained),
    }
    if one.never:
        result["never"] = one.never
    if one.left_out:
        result["leftOut"] = list(one.left_out)
    if one.served is not None:
        result["nodes"] = {
            "old": one.served.before,
            "new": one.served.after,
            "lost": one.served.lost,
            "gained": one.served.gained,
            "reasons": dict(one.served.reasons),
        }
    return result


def _nodes(nodes: NodesReport) -> Json:
    return {
        "withGpus": nodes.gpu_nodes,
        "old": _matched(nodes.old),
        "new": _matched(nodes.new),
        "problems": [_problem(one) for one in nodes.problems],
    }


def _matched(one: Matched) -> Json:
    return {"rows": one.rows, "rowsWithNodes": one.with_nodes, "gpuNodes": one.gpu_nodes}


def _pods(pods: PodsReport) -> Json:
    return {
        "judged": pods.count(),
        "nodesKnown": pods.nodes,
        "fates": {fate.value: pods.count(fate) for fate in Fate},
        "owners": [_owner(one) for one in pods.owners if one.verdict.fate is not Fate.SAME],
    }


def _owner(one: OwnerChange) -> Json:
    return {
        **_verdict(one.verdict),
        "namespace": one.namespace,
        "owner": one.owner,
        "running": one.running,
        "pending": one.pending,
        "pods": list(one.pods),
    }


def _manifest(one: ManifestChange) -> Json:
    return {"file": one.file, "object": one.owner, "path": one.path, **_verdict(one.verdict)}


def _verdict(verdict: PodVerdict) -> Json:
    return {
        "fate": verdict.fate.value,
        "level": _level(verdict.level),
        "reason": verdict.reason,
    }


def _level(level: Level | None) -> str | None:
    return level.value if level is not None else None
