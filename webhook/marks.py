"""What a translated Pod carries to tell people what was asked (semantics R5).

Information, never permission: nothing is decided from it at admission.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from selection_spec.demand import Need
from selection_spec.resolve import Resolution
from webhook.jsonpatch import Edit, Put
from webhook.shapes import CONTAINER_LISTS
from webhook.terms import MIXED_SPECS, REQUEST_ANNOTATION, SPEC_LABEL


def edits(pod: dict[str, Any], needs: Sequence[Need], resolution: Resolution) -> Iterator[Edit]:
    """Return the label and the annotation; what an earlier pass wrote is extended."""
    metadata = pod.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    # Of containers that are there and are not asking anew: a copied manifest may bring others.
    spec = pod["spec"]
    names = {one["name"] for name in CONTAINER_LISTS for one in spec.get(name) or ()}
    names -= {need.name for need in needs}
    containers = [
        *(
            container
            for container in _earlier(annotations.get(REQUEST_ANNOTATION))
            if container["name"] in names
        ),
        *({"name": need.name, "spec": str(need.spec), "count": need.count} for need in needs),
    ]
    specs = {container["spec"] for container in containers}
    label = specs.pop() if len(specs) == 1 else MIXED_SPECS
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


def _earlier(annotation: object) -> list[dict[str, Any]]:
    """Return the containers that an earlier pass wrote down; nothing where it cannot be read."""
    if not isinstance(annotation, str):
        return []
    try:
        request = json.loads(annotation)
    except (ValueError, RecursionError):
        return []
    containers = request.get("containers") if isinstance(request, dict) else None
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
