"""Keys of ours where they ask for nothing, each with what happens to it there (A8)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import chain

from selection_spec.rows import CLAIMS
from selection_spec.table import Table
from webhook.advice.findings import catalogue
from webhook.advice.findings.spot import Spot
from webhook.advice.findings.views import View, objects
from webhook.jsonpatch import Path

_MAX_DEPTH = 64

_QUOTA_PREFIXES = ("requests.", "limits.", "")


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
            yield tell(table, path, key, one.owner, one.path)
        for path in _texts(one.value, one.path, table.domain):
            yield Spot(
                catalogue.MENTIONED,
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
            if any(key.startswith(f"{one}{domain}/gpu") for one in _QUOTA_PREFIXES):
                yield (*path, key), key
            yield from _keys(value, (*path, key), domain, judged)


def _texts(node: object, path: Path, domain: str) -> Iterator[Path]:
    """Yield texts of several lines that mention a key of ours: manifests within manifests."""
    if len(path) > _MAX_DEPTH:
        return
    if isinstance(node, list):
        for number, item in enumerate(node):
            yield from _texts(item, (*path, number), domain)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from _texts(value, (*path, key), domain)
    elif isinstance(node, str) and "\n" in node and f"{domain}/gpu" in node:
        yield path


def _does_nothing(table: Table, path: Path, key: str, owner: str, at: Path) -> Spot:
    del table
    message = f"{key} does nothing here"
    hint = "put it under a container's resources.limits"
    return Spot(catalogue.STRAY, path, message, hint, owner, at, "A8")


def _quota(table: Table, path: Path, key: str, owner: str, at: Path) -> Spot:
    message = f"{key} counts nothing: a quota is charged for what admission has made of a Pod"
    return Spot(catalogue.QUOTA, path, message, f"count {_counted(table)}", owner, at)


def _limit_range(table: Table, path: Path, key: str, owner: str, at: Path) -> Spot:
    del table
    message = f"a LimitRange that has {key} gives it to every container of its namespace"
    return Spot(catalogue.LIMIT_RANGE, path, message, "take it out", owner, at, "A5")


def _counted(table: Table) -> str:
    """Return which keys of a quota count the devices of a table."""
    by_class = (
        f"{row.claim.device_class}.deviceclass.resource.k8s.io/devices"
        for row in table.rows
        if row.pool == CLAIMS and row.claim is not None
    )
    by_name = (f"requests.{row.resource}" for row in table.rows if row.pool != CLAIMS)
    return " or ".join(dict.fromkeys((*by_name, *by_class)))


_TELLERS: dict[str, Callable[[Table, Path, str, str, Path], Spot]] = {
    "ResourceQuota": _quota,
    "LimitRange": _limit_range,
}
