"""What ``kubectl get … -o json`` has saved, read back; and a bar for what takes long."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, TypeVar

import click
import orjson

from webhook.cli.inputs import UnreadableError, called, read_bytes

Json = dict[str, Any]

# What takes seconds to read.
_LARGE_BYTES = 100 << 20

_NAMESPACED = ("Pod", "ResourceClaim")

_Item = TypeVar("_Item")


def saved_items(file: str, kind: str) -> list[Json]:
    """Return the objects of a file: the items of a list, or the one object that it holds.

    Args:
        file: The file; ``-`` is standard input.
        kind: What they have to be, such as ``Node``.

    Raises:
        UnreadableError: It holds something else.
    """
    text = read_bytes(file)
    if len(text) > _LARGE_BYTES and sys.stderr.isatty():
        click.echo(f"Reading {called(file)} ({len(text) >> 20:,} MiB) …", err=True)
    how = f"save them with: kubectl get {kind.lower()}s {'-A ' * (kind in _NAMESPACED)}-o json"
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UnreadableError(f"{called(file)}: is no JSON ({error}); {how}") from None
    items = document.get("items", [document]) if isinstance(document, dict) else document
    if not isinstance(items, list):
        raise UnreadableError(f"{called(file)}: is no list of {kind}s; {how}")
    for number, item in enumerate(items):
        # The items of a NodeList, as the API server sends it, do not say what they are.
        found = item.get("kind", kind) if isinstance(item, dict) else type(item).__name__
        if found != kind:
            raise UnreadableError(
                f"{called(file)}: item {number} is of kind {found}, not {kind}; {how}"
            )
    return items


@contextmanager
def progress(items: Iterable[_Item], label: str, length: int | None = None) -> Iterator[Any]:
    """Give the items back with a bar on standard error, where that is a terminal.

    Where it is not known beforehand how many there are, they are counted: no bar could fill.
    """
    is_known = length is not None or isinstance(items, Sized)
    with click.progressbar(
        items,
        length=length,
        label=label,
        show_pos=True,
        bar_template="%(label)s  [%(bar)s]  %(info)s" if is_known else "%(label)s  %(info)s",
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
    ) as bar:
        yield bar
