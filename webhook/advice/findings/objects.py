"""The objects that a document holds: itself, the items of a List, what a TriggerTemplate makes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from webhook.advice.findings.view import View, numbered
from webhook.inventory.facts import Json, mapping
from webhook.jsonpatch import Path

# Called as Kubernetes' own groups are, and none of them.
_OF_OTHERS: Final = frozenset({"sparkoperator.k8s.io"})

TEMPLATES: Final = "resourcetemplates"
"""The field of a TriggerTemplate with the objects that it makes."""


@dataclass(frozen=True, slots=True)
class Object:
    """An object of a document.

    Attributes:
        value: It itself, without its status.
        path: Where it stands in the document.
    """

    value: Json
    path: Path

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.value.get("kind"))

    @property
    def group(self) -> str:
        """The group of its API; "" for the core's."""
        return _group(self.value)

    @property
    def is_custom(self) -> bool:
        """Whether its kind is not of Kubernetes itself."""
        return is_custom(self.value)

    @property
    def owner(self) -> str:
        """What it is called, as ``Deployment/train``."""
        metadata = mapping(self.value.get("metadata"))
        return f"{self.kind}/{metadata.get('name') or metadata.get('generateName') or '?'}"

    def part(self, path: Path) -> Object:
        """Return the mapping at a path of it; an empty one where there is none."""
        found: Json = self.value
        for step in path:
            found = mapping(found.get(str(step)))
        return Object(found, self.path + path)

    def view(self, pod: Json, places: Mapping[Path, Path], sources: Collection[Path] = ()) -> View:
        """Return a Pod of this object."""
        return View(pod, places, self.owner, self.kind, self.value, self.path, sources)


def objects(document: object) -> Iterator[Object]:
    """Yield a document's objects."""
    for one in _listed(document):
        if (one.group, one.kind) != ("triggers.tekton.dev", "TriggerTemplate"):
            yield one
            continue
        spec = one.part(("spec",))
        rest = {key: part for key, part in spec.value.items() if key != TEMPLATES}
        yield Object({**one.value, "spec": rest}, one.path)
        for number, item in numbered(spec.value.get(TEMPLATES)):
            yield Object(_without_status(item), (*spec.path, TEMPLATES, number))


def is_custom(value: Json) -> bool:
    """Tell whether an object's kind is not of Kubernetes itself: its group is somebody's domain."""
    group = _group(value)
    return group in _OF_OTHERS or ("." in group and not group.endswith(".k8s.io"))


def _group(value: Json) -> str:
    return str(value.get("apiVersion")).rpartition("/")[0]


def _listed(document: object) -> Iterator[Object]:
    value = mapping(document)
    kind = str(value.get("kind"))
    if kind.endswith("List") and isinstance(value.get("items"), list):
        # The items of a PodList, as the API server sends it, do not say what they are.
        said = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")}
        inherited = said if said["kind"] else {}
        for number, item in numbered(value["items"]):
            named = item if isinstance(item.get("kind"), str) else {**inherited, **item}
            yield Object(_without_status(named), ("items", number))
    elif value:
        yield Object(_without_status(value), ())


def _without_status(value: Json) -> Json:
    """Return an object as people write it: what a controller tells of it asks for nothing."""
    return {key: part for key, part in value.items() if key != "status"}
