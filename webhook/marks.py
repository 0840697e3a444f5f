"""What a translated Pod carries to tell people what was asked (semantics R5).

Information, never permission: nothing is decided from it at admission.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from selection_spec.demand import Need
from selection_spec.resolution import Resolution
from webhook.jsonpatch import Edit, Put
from webhook.shapes import CONTAINER_LISTS
from webhook.terms import MIXED_SPECS, REQUEST_ANNOTATION, SPEC_LABEL


@dataclass(frozen=True, slots=True)
class Mark:
    """What a Pod's annotation says was asked and what came of it.

    Attributes:
        containers: Each with its ``name``, ``spec`` and ``count``.
        policy: The policy that was applied.
        candidates: Ids of the rows that the Pod got.
        table: Digest of the table that decided.
    """

    containers: tuple[dict[str, Any], ...]
    policy: str
    candidates: tuple[str, ...]
    table: str


def edits(pod: dict[str, Any], needs: Sequence[Need], resolution: Resolution) -> Iterator[Edit]:
    """Return the label and the annotation; what an earlier pass wrote is extended."""
    containers = [
        *translated_before(pod, needs),
        *({"name": need.name, "spec": str(need.spec), "count": need.count} for need in needs),
    ]
    specs = {container["spec"] for container in containers}
    label = specs.pop() if len(specs) == 1 else MIXED_SPECS
    metadata = pod.get("metadata") or {}
    if (metadata.get("labels") or {}).get(SPEC_LABEL) != label:
        yield Put(("metadata", "labels", SPEC_LABEL), label, "R5")
    request = {
        "containers": containers,
        "policy": resolution.policy.value,
        "candidates": [row.id for row in resolution.candidates],
        "table": resolution.table.digest,
    }
    text = json.dumps(request, separators=(",", ":"))
    yield Put(("metadata", "annotations", REQUEST_ANNOTATION), text, "R5")


def translated_before(pod: dict[str, Any], needs: Sequence[Need]) -> list[dict[str, Any]]:
    """Return the containers that an earlier pass wrote down; nothing where it cannot be read.

    Only those that are there and are not asking anew: a copied manifest may bring others.
    """
    spec = pod["spec"]
    names = {one["name"] for name in CONTAINER_LISTS for one in spec.get(name) or ()}
    names -= {need.name for need in needs}
    return [one for one in _containers(_written(pod)) if one["name"] in names]


def read(pod: dict[str, Any]) -> Mark | None:
    """Return what a Pod's annotation says; None where there is none that can be read."""
    written = _written(pod)
    containers = _containers(written)
    policy, candidates, table = (written.get(key) for key in ("policy", "candidates", "table"))
    if not (
        containers
        and isinstance(policy, str)
        and isinstance(candidates, list)
        and all(isinstance(one, str) for one in candidates)
        and isinstance(table, str)
    ):
        return None
    return Mark(tuple(containers), policy, tuple(candidates), table)


def _written(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the annotation's JSON object; an empty one where there is none."""
    annotation = ((pod.get("metadata") or {}).get("annotations") or {}).get(REQUEST_ANNOTATION)
    if not isinstance(annotation, str):
        return {}
    try:
        written = json.loads(annotation)
    except (ValueError, RecursionError):
        return {}
    return written if isinstance(written, dict) else {}


def _containers(written: dict[str, Any]) -> list[dict[str, Any]]:
    containers = written.get("containers")
    if not isinstance(containers, list) or not all(map(_is_entry, containers)):
        return []
    return containers


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) == {"name", "spec", "count"}
        and isinstance(entry["name"], str)
        and isinstance(entry["spec"], str)
        and type(entry["count"]) is int
    )
