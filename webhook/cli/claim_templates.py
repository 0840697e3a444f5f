"""The ResourceClaimTemplates of manifests, so that these can be applied as they are (C2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from webhook.inventory.facts import mapping, mappings
from webhook.placement.templates import malformed, template, wanted
from webhook.shapes import unreadable
from webhook.workloads import pod_templates

Json = dict[str, Any]


def beside(documents: Sequence[Json]) -> list[Json]:
    """Return documents with the templates that their Pods name, each before the first that does.

    One for each namespace, and none that is among the documents already.
    """
    there = {
        (_namespace(one), mapping(one.get("metadata")).get("name"))
        for document in documents
        for one in _objects(document)
        if one.get("kind") == "ResourceClaimTemplate"
    }
    found: list[Json] = []
    for document in documents:
        for one in _objects(document):
            namespace = _namespace(one)
            for name, spec in _named_by(one):
                if (namespace, name) not in there:
                    there.add((namespace, name))
                    found.append(template(name, spec, namespace))
        found.append(document)
    return found


def named_by(document: Json) -> Iterator[str]:
    """Yield the names of the templates that the Pods of a document are made to name."""
    for name, _ in _named_by(document):
        yield name


def _named_by(document: Json) -> Iterator[tuple[str, Json]]:
    for one in pod_templates(document):
        if unreadable(one.pod):
            continue
        for name, spec in wanted(one.pod).items():
            # What somebody else wrote there is not ours to ask for in his name (C3).
            if not malformed(spec):
                yield name, spec


def _objects(document: Json) -> Iterator[Json]:
    """Yield the objects of a list, such as a List or a PodList, and any other document as it is."""
    if str(document.get("kind")).endswith("List") and isinstance(document.get("items"), list):
        for one in mappings(document["items"]):
            yield from _objects(one)
    else:
        yield document


def _namespace(one: Json) -> str | None:
    namespace = mapping(one.get("metadata")).get("namespace")
    return namespace if isinstance(namespace, str) else None
