"""Pods put together of containers that stand in several places of an object."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from webhook.advice.findings.objects import Object
from webhook.advice.findings.view import View, numbered
from webhook.inventory.facts import Json, mapping
from webhook.jsonpatch import Path
from webhook.shapes import SIDES

# What decides where a Pod runs, beside its containers; many kinds keep it next to these.
PLACING: Final = ("nodeSelector", "affinity", "tolerations", "priorityClassName", "priority")


@dataclass(frozen=True, slots=True)
class Container:
    """A container, and where it stands.

    Attributes:
        value: It itself.
        path: Where it stands in the document.
        places: Where parts of its resources stand that are not within it, by the path in them.
        sources: Where resources stand of which these are made.
    """

    value: Json
    path: Path
    places: Mapping[Path, Path] = field(default_factory=dict)
    sources: Collection[Path] = ()


Resources = tuple[object, Path]
"""A container's resources, and where they stand; None where there are none."""


def placing(*parts: Json) -> Json:
    """Return what says where a Pod runs, where the last part that has a field is heard."""
    return {name: part[name] for part in parts for name in PLACING if name in part}


def named(value: object, path: Path, name: str) -> Iterator[Container]:
    """Yield the containers of a list, with a name where they have none.

    Args:
        value: The list.
        path: Where it stands.
        name: How those without a name are called.
    """
    for number, item in numbered(value):
        yield Container({"name": f"{name}-{number}", **item}, (*path, number))


def merged(
    value: Json, path: Path, given: Sequence[Resources], common: Resources = (None, ())
) -> Container:
    """Return a container whose resources are said in several places.

    Amounts of different keys come together; of one key that of the last place holds. Unless one
    place of its own says all, no place is that of the resources as a whole: whoever changed it
    would change less than that, or other containers as well.

    Args:
        value: The container without its resources.
        path: Where it stands.
        given: Its own resources, the strongest last.
        common: Those that it has with other containers, the weakest of all.
    """
    held = [(resources, at) for resources, at in (common, *given) if resources is not None]
    if not held:
        return Container(value, path)
    sources = tuple(at for _, at in held)
    whole, at = held[-1]
    if len(held) == 1 and common[0] is None:
        return Container({**value, "resources": whole}, path, {(): at}, sources)
    places: dict[Path, Path] = {(): path}
    if isinstance(whole, dict):
        whole = _together([(one, of) for one, of in held if isinstance(one, dict)], places)
    return Container({**value, "resources": whole}, path, places, sources)


def _together(given: Sequence[tuple[Json, Path]], places: dict[Path, Path]) -> Json:
    """Return resources as one, and put down where each of their parts stands."""
    found: Json = {}
    for resources, at in given:
        for name, part in resources.items():
            before = found.get(name) if name in SIDES else None
            is_more = isinstance(before, dict) and isinstance(part, dict)
            found[name] = {**mapping(before), **part} if is_more else part
            places[name,] = (*at, name)
            places.update({(name, key): (*at, name, key) for key in mapping(part)})
    return found


def assembled(
    one: Object,
    path: Path,
    spec: Json,
    containers: Sequence[Container],
    inits: Sequence[Container] = (),
) -> View:
    """Return a Pod of containers that stand in several places.

    Args:
        one: The object.
        path: Where in the document the rest of the Pod's spec is said to stand.
        spec: What the Pod has beside them.
        containers: Its containers.
        inits: Its init containers.
    """
    spec = dict(spec)
    places: dict[Path, Path] = {("spec",): path}
    sources: list[Path] = []
    for name, those in (("containers", containers), ("initContainers", inits)):
        if those:
            spec[name] = [container.value for container in those]
        for number, container in enumerate(those):
            here: Path = ("spec", name, number)
            places[here] = container.path
            places.update({(*here, "resources", *at): to for at, to in container.places.items()})
            sources += container.sources
    return one.view({"spec": spec}, places, tuple(sources))
