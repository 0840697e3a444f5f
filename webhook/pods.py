"""What a Pod asks for (semantics A1 to A8): from its raw JSON to a ``Demand``.

A Pod is a ``dict`` and stays one; ``shapes`` has seen that it can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from selection_spec.demand import Demand, Kind, Need
from selection_spec.denial import MAX_SUGGESTIONS, unknown_name, who
from selection_spec.errors import Level, Problem, QuantityError, SpecError
from selection_spec.grammar import almost, is_ours, looks_misspelt, misspelt, parse_spec
from selection_spec.table import Table
from webhook.amounts import count_of, raw_amount
from webhook.selectors import pod_terms
from webhook.shapes import CONTAINER_LISTS, SIDES
from webhook.terms import KUEUE_LABEL, MIRROR_ANNOTATION, RESERVED_TAINT, is_sibling

KEEP_THE_SPEC: Final = (
    "keep the spec; if you did not write the other, a LimitRange of the namespace added it and "
    "should not"
)
"""What to do about a spec beside a resource that is handed out by a spec (A5)."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One container's spec key: where it stands and what it asks for.

    ``path`` leads to the container; ``sides`` are those of limits and requests that hold the key.
    """

    path: tuple[str, int]
    key: str
    sides: tuple[str, ...]
    need: Need | None
    """None where the amount is zero and the key only has to go (A3)."""


@dataclass(slots=True)
class PodRequest:
    """Everything that a Pod says about GPUs, and everything wrong with how it says it."""

    asks: list[Ask] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    neighbours: list[tuple[Need, str]] = field(default_factory=list)
    """Containers without a spec that ask for devices by themselves, and by which resource (A6)."""
    queued: bool = False
    """Whether Kueue admits the Pod, which takes no claim with alternatives (C5)."""
    nodes_first: bool = False
    """Whether the Pod's node is chosen by its template, before there are any claims (N8)."""

    @property
    def specs(self) -> tuple[Need, ...]:
        """The containers that ask for more than zero by a spec, in their order."""
        return tuple(ask.need for ask in self.asks if ask.need is not None)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing of ours in the Pod."""
        return not self.asks and not self.problems

    @property
    def wants_devices(self) -> bool:
        """Whether any key asks for more than zero, or is wrong."""
        return bool(self.problems) or any(ask.need is not None for ask in self.asks)


def is_mirror(pod: dict[str, Any]) -> bool:
    """Tell whether the kubelet has already started this Pod from a file (N7)."""
    return MIRROR_ANNOTATION in ((pod.get("metadata") or {}).get("annotations") or {})


def is_queued(pod: dict[str, Any]) -> bool:
    """Tell whether a Pod joins a queue of Kueue's by its label (C5)."""
    return KUEUE_LABEL in ((pod.get("metadata") or {}).get("labels") or {})


def daemon_set_of(pod: dict[str, Any]) -> str | None:
    """Return the name of the DaemonSet that controls a Pod, None if none does (N8)."""
    owners = (pod.get("metadata") or {}).get("ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if not isinstance(owner, dict) or owner.get("kind") != "DaemonSet":
            continue
        group, name = owner.get("apiVersion"), owner.get("name")
        if (
            owner.get("controller") is True
            and isinstance(group, str)
            and group.startswith("apps/")
            and isinstance(name, str)
        ):
            return name
    return None


def demand_of(pod: dict[str, Any], request: PodRequest, table: Table) -> Demand:
    """Return a Pod's demand: its needs, and where its own words let it run (N4, D10)."""
    spec = pod["spec"]
    return Demand(
        needs=tuple(request.needs),
        terms=pod_terms(spec, table.index.telling_keys),
        os=_os(spec.get("os")),
        opened=_opened(spec.get("tolerations") or ()),
        one_row=request.queued,
    )


def _opened(tolerations: Iterable[object]) -> tuple[str, ...]:
    """Return the ids of rows whose reserve taint a Pod tolerates by name (N9)."""
    return tuple(
        one["value"]
        for one in tolerations
        if isinstance(one, dict)
        and one.get("key") == RESERVED_TAINT
        and isinstance(one.get("value"), str)
    )


def _os(os: object) -> str:
    """Return ``spec.os.name``; a Pod that has none runs on linux (D10)."""
    name = os.get("name") if isinstance(os, dict) else None
    return name if isinstance(name, str) else "linux"


def read(pod: dict[str, Any], table: Table) -> PodRequest:
    """Read every container's request; the Pod must be readable.

    Nothing is raised: problems (A1, A2, A4, A5, A8, G4) are collected, all of them.
    """
    reader = _Reader(table)
    spec = pod["spec"]
    for name in CONTAINER_LISTS:
        for number, container in enumerate(spec.get(name) or ()):
            if container.get("resources"):
                reader.container(container, (name, number))
    reader.pod_level(spec.get("resources") or {})
    return reader.request


def _kind(container: dict[str, Any], list_name: str) -> Kind:
    if list_name == "containers":
        return Kind.MAIN
    return Kind.SIDECAR if container.get("restartPolicy") == "Always" else Kind.INIT


class _Reader:
    """Reads one Pod's containers into one request."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.prefix = f"{table.domain}/"
        self.request = PodRequest()

    def container(self, container: dict[str, Any], path: tuple[str, int]) -> None:
        """Read one container's keys and what it asks for beside them."""
        resources = container["resources"]
        place = Need(container["name"], _kind(container, path[0]), f"spec.{path[0]}[{path[1]}]")
        self._warn_of_near_misses(resources, place)
        asks = [
            ask
            for key in self._keys(resources)
            if (ask := self._ask(key, path, place, resources)) is not None
        ]
        self.request.asks += asks
        wanted = [ask.need for ask in asks if ask.need is not None]
        raw = self._raw(resources)
        self.request.problems += self._ambiguous(place, wanted, raw)
        amounts = tuple(sorted((name, n) for name, n in raw.items() if name in self.table.rivals))
        if wanted:
            self.request.needs.append(replace(wanted[0], raw=amounts))
            return
        if amounts:
            self.request.needs.append(replace(place, raw=amounts))
        self.request.neighbours += [(place, name) for name in raw]

    def pod_level(self, resources: dict[str, Any]) -> None:
        """A8: our key in the Pod's own resources does nothing there."""
        for key in self._keys(resources):
            self.request.problems.append(
                Problem(
                    f"{key} stands in the Pod's own resources",
                    f'spec.resources.limits["{key}"]',
                    "put it in a container, under resources.limits",
                    "A8",
                )
            )

    def _warn_of_near_misses(self, resources: dict[str, Any], place: Need) -> None:
        """A key of our domain that is none of ours passes (G4); say so where one was meant."""
        prefix, knows = self.prefix, self.table.names.__contains__
        keys = dict.fromkeys(key for side in SIDES for key in resources.get(side) or ())
        for key in keys:
            text = key.removeprefix(prefix)
            if text == key or is_ours(text) or (meant := almost(text, knows)) is None:
                continue
            said = f"did you mean {prefix}{meant}? {key} is no spec: {who(place)}"
            side = next(side for side in SIDES if key in (resources.get(side) or {}))
            self._warn(said, place, "G4", f'.{side}["{key}"]')

    def _warn(self, text: str, place: Need, rule: str, at: str = "") -> None:
        path = f"{place.path}.resources{at}"
        self.request.warnings.append(Problem(text, path, rule=rule, level=Level.WARNING))

    def _keys(self, resources: dict[str, Any]) -> list[str]:
        """Return the keys of ours in limits and requests, each once, in order (G4)."""
        prefix = self.prefix
        found = [
            key
            for side in SIDES
            for key in resources.get(side) or ()
            if key.startswith(prefix) and is_ours(key[len(prefix) :])
        ]
        return list(dict.fromkeys(found))

    def _ask(
        self, key: str, path: tuple[str, int], place: Need, resources: dict[str, Any]
    ) -> Ask | None:
        """Read one key: spelling first (G4 holds even for zero), then the amount (A1 to A4)."""
        need = self._spelt(key, place)
        if need is None:
            return None
        sides = tuple(side for side in SIDES if key in (resources.get(side) or {}))
        try:
            count = count_of(need, {side: resources[side][key] for side in sides}, self.table)
        except QuantityError as error:
            self.request.problems += error.problems
            return None
        if not count and any(resources[side][key] is None for side in sides):
            self._warn(f"{who(place)}: {key} has no amount, which asks for no device", place, "A3")
        return Ask(path, key, sides, replace(need, count=count) if count else None)

    def _spelt(self, key: str, place: Need) -> Need | None:
        """Return the place with its spec; None, and a problem, where the key is misspelt (G4)."""
        table, text = self.table, key[len(self.prefix) :]
        try:
            spec = parse_spec(text)
        except SpecError:
            wrong = misspelt(text, table.names.__contains__, table.domain)
            message = f"{who(place)}: {key} {wrong.message}"
            field_path = f'{place.path}.resources.limits["{key}"]'
            self.request.problems.append(Problem(message, field_path, wrong.hint, "G4"))
            return None
        need = replace(place, spec=spec)
        if spec.is_any or spec.name in table.names or not looks_misspelt(spec):
            return need
        suggest = len(self.request.problems) < MAX_SUGGESTIONS
        self.request.problems.append(unknown_name(table, need, suggest=suggest))
        return None

    def _raw(self, resources: dict[str, Any]) -> dict[str, int]:
        """Return devices asked for by their own resource or a sibling's, none of zero (A5, A7)."""
        found: dict[str, int] = {}
        for side in SIDES:
            for name, amount in (resources.get(side) or {}).items():
                if is_sibling(name, self.table.rivals) and (count := raw_amount(amount)):
                    found[name] = max(found.get(name, 0), count)
        return found

    def _ambiguous(self, place: Need, wanted: list[Need], raw: dict[str, int]) -> Iterator[Problem]:
        """A5: one spec a container, and no raw device beside it."""
        path = f"{place.path}.resources.limits"
        if len(wanted) > 1:
            keys = " and ".join(f"{self.prefix}{need.spec}" for need in wanted)
            hint = "keep one: a container gets devices of one spec"
            text = f"{who(place)} asks by {len(wanted)} specs, {keys}"
            yield Problem(text, path, hint, "A5")
        if wanted and raw:
            yield Problem(
                f"{who(place)} asks for {self.prefix}{wanted[0].spec} and for {', '.join(raw)}",
                path,
                KEEP_THE_SPEC,
                "A5",
            )
