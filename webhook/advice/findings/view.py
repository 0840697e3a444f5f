"""A Pod in a document: what admission would see of it, and where its parts stand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from webhook.inventory.facts import Json, mapping
from webhook.jsonpatch import Path
from webhook.shapes import CONTAINER_LISTS
from webhook.terms import KUEUE_LABEL


@dataclass(frozen=True, slots=True)
class View:
    """A Pod in a document.

    Attributes:
        pod: As admission would see it, as far as the document tells.
        places: Where its parts stand: by the path in the Pod the path in the document.
        owner: The object that it is in, as ``Deployment/train``.
        kind: That object's kind.
        item: That object.
        object: That object's path in the document.
        sources: Where the document has resources that were merged into those of its containers.
    """

    pod: Json
    places: Mapping[Path, Path]
    owner: str
    kind: str
    item: Json
    object: Path
    sources: Collection[Path] = ()

    @property
    def is_queued(self) -> bool:
        """Whether the object joins a queue of Kueue's, and so its Pods do (C5)."""
        return KUEUE_LABEL in mapping(mapping(self.item.get("metadata")).get("labels"))

    def place(self, path: Path) -> Path:
        """Return where in the document a path of the Pod leads."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return self.places[path[:length]] + path[length:]
        return self.object

    def containers(self) -> Iterator[Path]:
        """Yield where in the document each container's resources are."""
        spec = mapping(self.pod.get("spec"))
        yield self.place(("spec", "resources"))
        for name in CONTAINER_LISTS:
            for number, _ in numbered(spec.get(name)):
                yield self.place(("spec", name, number, "resources"))
        yield from self.sources


def numbered(value: object) -> Iterator[tuple[int, Json]]:
    """Yield the mappings of a list, each with its place in it."""
    for number, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield number, item
