"""Keys of ours where they ask for nothing, each with what happens to it there (A8)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import chain

from selection_spec.errors import SpecError
from selection_spec.grammar import is_ours, parse_spec
from selection_spec.rows import CLAIMS
from selection_spec.table import Table
from webhook.advice.findings import rules_of_objects as rules
from webhook.advice.findings.objects import Object, objects
from webhook.advice.findings.spot import Spot
from webhook.advice.findings.view import View
from webhook.jsonpatch import Path

_MAX_DEPTH = 64

_QUOTA_PREFIXES = ("requests.", "limits.", "")

# What is called like a spec there is a label, and not meant as a request.
_LABELS = frozenset({"labels", "annotations", "matchLabels"})

_WHY_NOTHING = {
    "overhead": "an overhead is what a runtime takes beside the containers",
    "nodeSelector": "a nodeSelector chooses nodes by their labels",
    "ephemeralContainers": "an ephemeral container has no resources",
    "volumeClaimTemplates": "a claim of a volume asks for storage alone",
    "volumeClaimTemplate": "a claim of a volume asks for storage alone",
}

_ONLY_CONTAINERS = "only the resources of a Pod's containers ask for devices"

# Argo's Pods are patched by these: one line of JSON is as common as several of YAML.
_PATCHES = frozenset({"podSpecPatch"})

# What kubectl has kept of the same object.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def strays(document: object, found: Collection[View], table: Table) -> Iterator[Spot]:
    """Yield keys of ours, and texts that mention them, outside of what asks for devices.

    Args:
        document: The document.
        found: The Pods that are in it.
        table: Whose domain is ours.
    """
    judged = set(chain.from_iterable(view.containers() for view in found))
    for one in objects(document):
        tell = _TELLERS.get(one.kind, _does_nothing)
        for path, key in _keys(one.value, one.path, table.domain, judged):
            if "nodeSelector" in path and key in table.index.label_keys:
                continue
            yield tell(table, path, key, one)
        for path in _texts(one.value, one.path, table.domain):
            yield Spot(
                rules.MENTIONED,
                path,
                f"this text mentions {table.domain}/gpu… and is not judged",
                "judge what is made of it where it is made",
                one.owner,
                one.path,
            )


def _keys(
    node: object, path: Path, domain: str, judged: Collection[Path]
) -> Iterator[tuple[Path, str]]:
    if len(path) > _MAX_DEPTH or path in judged:
        return
    if isinstance(node, list):
        for number, item in enumerate(node):
            yield from _keys(item, (*path, number), domain, judged)
    if isinstance(node, dict):
        for key, value in node.items():
            if _is_our_key(key, domain):
                yield (*path, key), key
            if key not in _LABELS:
                yield from _keys(value, (*path, key), domain, judged)


def _is_our_key(key: str, domain: str) -> bool:
    """Tell whether a key is meant as a spec (G4), as it is or as a quota would count it."""
    before, found, spec = key.partition(f"{domain}/")
    return bool(found) and before in _QUOTA_PREFIXES and is_ours(spec)


def _texts(node: object, path: Path, domain: str) -> Iterator[Path]:
    """Yield texts of several lines that mention a key of ours: manifests within manifests."""
    if len(path) > _MAX_DEPTH:
        return
    if isinstance(node, list):
        for number, item in enumerate(node):
            yield from _texts(item, (*path, number), domain)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in _PATCHES and isinstance(value, str) and _mentions(value, domain):
                yield (*path, key)
            elif key != _LAST_APPLIED:
                yield from _texts(value, (*path, key), domain)
    elif isinstance(node, str) and "\n" in node and _mentions(node, domain):
        yield path


def _mentions(text: str, domain: str) -> bool:
    return f"{domain}/gpu" in text


def _does_nothing(table: Table, path: Path, key: str, one: Object) -> Spot:
    del table
    why = next((_WHY_NOTHING[str(step)] for step in reversed(path) if step in _WHY_NOTHING), "")
    if one.is_custom and not why:
        message = (
            f"{key} is not judged: what becomes of it here is for the operator of {one.kind} to say"
        )
        hint = "the Pods that it makes are judged when they are made"
        return Spot(rules.OPERATORS, path, message, hint, one.owner, one.path)
    message = f"{key} does nothing here: {why or _ONLY_CONTAINERS}"
    hint = "put it under a container's resources.limits"
    return Spot(rules.STRAY, path, message, hint, one.owner, one.path, "A8")


def _quota(table: Table, path: Path, key: str, one: Object) -> Spot:
    message = f"{key} counts nothing: a quota is charged for what admission has made of a Pod"
    return Spot(rules.QUOTA, path, message, f"count {_counted(table, key)}", one.owner, one.path)


def _limit_range(table: Table, path: Path, key: str, one: Object) -> Spot:
    del table
    if "default" in path or "defaultRequest" in path:
        message = f"a LimitRange that has {key} gives it to every container of its namespace"
    else:
        message = f"{key} limits nothing: admission has replaced it when a LimitRange is asked"
    return Spot(rules.LIMIT_RANGE, path, message, "take it out", one.owner, one.path, "A5")


def _counted(table: Table, key: str) -> str:
    """Return which keys of a quota count the devices that a key means; all where it is none."""
    try:
        spec = parse_spec(key.partition(f"{table.domain}/")[2])
    except SpecError:
        spec = None
    meant = [
        row
        for row in table.rows
        if spec is None or spec.is_any or spec.name in (row.name, *row.aliases)
    ]
    rows = meant or table.rows
    by_class = (
        f"{row.claim.device_class}.deviceclass.resource.k8s.io/devices"
        for row in rows
        if row.pool == CLAIMS and row.claim is not None
    )
    by_name = (f"requests.{row.resource}" for row in rows if row.pool != CLAIMS)
    return " or ".join(dict.fromkeys((*by_name, *by_class)))


_TELLERS: dict[str, Callable[[Table, Path, str, Object], Spot]] = {
    "ResourceQuota": _quota,
    "LimitRange": _limit_range,
}
