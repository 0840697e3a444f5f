"""Where in a document's tree a path leads, however often somebody asks."""

from __future__ import annotations

from collections.abc import Iterator

from selection_spec.documents.nodes import (
    Alias,
    Mapping,
    Node,
    Path,
    Scalar,
    Sequence,
    is_merge_key,
    merge_sources,
)
from selection_spec.documents.scalars import key_text

_Entry = tuple[Node, Node]
"""A value and its key."""


class Tree:
    """The nodes of a document, found by their paths.

    Most documents are asked for a place or two, and are not worth an index. Of one mapping with
    thousands of bad keys every one is asked for: from the second time on, its entries are known by
    their names.
    """

    __slots__ = ("_entries", "root")

    def __init__(self, root: Node) -> None:
        self.root = root
        # None of a mapping that was asked once.
        self._entries: dict[Mapping, dict[str, _Entry] | None] = {}

    def find(self, path: Path) -> tuple[Node, Node | None]:
        """Return the node at ``path`` and its key (None in a list or at the root).

        Where the path leaves the tree, the nearest ancestor that exists stands in for it. Aliases
        and merge keys are followed; of duplicate keys the last counts, as in the value.
        """
        node, key = self.root, None
        for step in path:
            inner = node.target if isinstance(node, Alias) else node
            found: tuple[Node, Node | None] | None = None
            if isinstance(inner, Sequence) and isinstance(step, int):
                if 0 <= step < len(inner.children):
                    found = inner.children[step], None
            elif isinstance(inner, Mapping) and isinstance(step, str):
                found = self._entry(inner, step)
            if found is None:
                break
            node, key = found
        return node, key

    def _entry(self, mapping: Mapping, name: str) -> _Entry | None:
        """Return the entry that counts of those called ``name``, merged ones included."""
        if mapping not in self._entries:
            self._entries[mapping] = None
            named = (entry for called, entry in _strongest_first(mapping) if called == name)
            return next(named, None)
        entries = self._entries[mapping]
        if entries is None:
            entries = self._entries[mapping] = {}
            for called, entry in _strongest_first(mapping):
                entries.setdefault(called, entry)
        return entries.get(name)


def _strongest_first(
    mapping: Mapping, seen: set[Mapping] | None = None
) -> Iterator[tuple[str, _Entry]]:
    """Yield a mapping's entries with their names; of equal names the first is the one that counts.

    ``seen`` holds the mappings that were gone through already, so that none is twice.
    """
    seen = {mapping} if seen is None else seen
    for key, value in reversed(mapping.entries()):
        if is_merge_key(key):
            for source in merge_sources(value) or ():
                if source not in seen:
                    seen.add(source)
                    yield from _strongest_first(source, seen)
        elif (name := _name(key)) is not None:
            yield name, (value, key)


def _name(key: Node) -> str | None:
    """Return the text that a key becomes in JSON, None where there is none."""
    written = key.target if isinstance(key, Alias) else key
    if not isinstance(written, Scalar):
        return None
    return key_text(written.text, plain=written.plain, tag=written.tag)
