"""The part of a Pod that admission reads; two Pods that agree in it are answered alike.

A translation only ever looks at its essence, and its patch only touches what is in it, so an
answer worked out for one replica holds for the next. A test shows that a Pod and its essence are
translated with the same edits.
"""

from __future__ import annotations

from typing import Any

from webhook.shapes import CONTAINER_LISTS
from webhook.terms import (
    CLAIMS_ANNOTATION,
    KUEUE_LABEL,
    MIRROR_ANNOTATION,
    REQUEST_ANNOTATION,
    SPEC_LABEL,
)

_OF_POD = (
    "affinity",
    "nodeName",
    "nodeSelector",
    "os",
    "priority",
    "priorityClassName",
    "resourceClaims",
    "resources",
    "schedulerName",
    "tolerations",
)
_OF_CONTAINER = ("name", "resources", "restartPolicy")
_OF_LABELS = (SPEC_LABEL, KUEUE_LABEL)
_OF_ANNOTATIONS = (MIRROR_ANNOTATION, REQUEST_ANNOTATION, CLAIMS_ANNOTATION)


def essence_of(pod: dict[str, Any]) -> dict[str, Any]:
    """Return a readable Pod with only what admission reads; fields that are absent stay absent."""
    spec = pod["spec"]
    essence = _pick(spec, _OF_POD)
    for name in CONTAINER_LISTS:
        containers = spec.get(name)
        if containers:
            essence[name] = [_pick(container, _OF_CONTAINER) for container in containers]
    result: dict[str, Any] = {"spec": essence}
    metadata = pod.get("metadata")
    if metadata is not None:
        result["metadata"] = _metadata(metadata)
    return result


def _metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    picked: dict[str, Any] = {}
    for name, keys in (("labels", _OF_LABELS), ("annotations", _OF_ANNOTATIONS)):
        if name in metadata:
            there = metadata[name]
            picked[name] = there if there is None else _pick(there, keys)
    owners = metadata.get("ownerReferences")
    if isinstance(owners, list):
        # Only DaemonSets matter (N8); the others would tell replicas of different ones apart.
        picked["ownerReferences"] = [
            owner
            for owner in owners
            if isinstance(owner, dict) and owner.get("kind") == "DaemonSet"
        ]
    return picked


def _pick(holder: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: holder[key] for key in keys if key in holder}
