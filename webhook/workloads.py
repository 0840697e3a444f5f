"""Pod templates in any document: Pods themselves, workloads, lists, custom resources.

They are found by structure: an object whose ``spec.containers`` is a list of named objects is a
Pod or a template of one, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webhook.jsonpatch import Path

# No workload nests templates deeper than a List of CronJobs, by far.
_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """A Pod or a Pod template inside a document.

    Attributes:
        path: Where it stands in its document; () for a Pod.
        pod: It itself, part of the document.
        owner: The object it belongs to, as ``Deployment/train``.
        kind: That object's kind.
    """

    path: Path
    pod: dict[str, Any]
    owner: str
    kind: str


def pod_templates(document: object) -> Iterator[PodTemplate]:
    """Yield every Pod and Pod template of a document, in its order."""
    yield from _walk(document, (), "", "")


def _walk(node: object, path: Path, owner: str, kind: str) -> Iterator[PodTemplate]:
    if len(path) > _MAX_DEPTH:
        return
    if isinstance(node, list):
        for number, item in enumerate(node):
            yield from _walk(item, (*path, number), owner, kind)
    if not isinstance(node, dict):
        return
    if isinstance(node.get("kind"), str) and isinstance(node.get("apiVersion"), str):
        kind = node["kind"]
        owner = f"{kind}/{_name(node)}"
    if kind == "Pod" or _is_template(node):
        yield PodTemplate(path, node, owner or "Pod", kind)
        return
    for key, value in node.items():
        yield from _walk(value, (*path, key), owner, kind)


def _is_template(node: dict[str, Any]) -> bool:
    spec = node.get("spec")
    return are_containers(spec.get("containers") if isinstance(spec, dict) else None)


def are_containers(value: object) -> bool:
    """Tell whether a value is a list of containers with names, by which a Pod is known."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in value)
    )


def _name(node: dict[str, Any]) -> str:
    metadata = node.get("metadata")
    if not isinstance(metadata, dict):
        return "?"
    return str(metadata.get("name") or metadata.get("generateName") or "?")
