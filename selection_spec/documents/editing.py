"""A document's value is changed by changing its text where the value stands, and nowhere else.

Comments, order, quotes and everything that stays the same stay as they are written. What cannot be
changed so is refused, never written anew: a value that several places share by an anchor above all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from selection_spec.documents import emitting, removal
from selection_spec.documents.changes import (
    FORM,
    SHARED,
    Change,
    EditError,
    line_end,
    line_start,
)
from selection_spec.documents.emitting import Style, style_of
from selection_spec.documents.likeness import alike, grown_from, same, subsequence
from selection_spec.documents.nodes import (
    Alias,
    Literal,
    Mapping,
    Node,
    Path,
    Scalar,
    is_merge_key,
)
from selection_spec.documents.nodes import Sequence as SequenceNode
from selection_spec.documents.scalars import key_text

_SHOWS_STYLE = 1 << 14
_COMMENT_BEHIND = re.compile(r"[ \t]*#")


def changes_between(text: str, root: Node, before: object, after: object) -> list[Change]:
    """Return what has to change in a text so that a document's value becomes another.

    Args:
        text: The whole text.
        root: The document's tree in it.
        before: The document's value.
        after: What it is to be.

    Raises:
        EditError: It cannot be changed where it stands; with all places where that is so.
    """
    editor = _Editor(text, root.at, is_json=_is_json(root, text))
    editor.value(root, (), before, after)
    if editor.failures:
        raise EditError(next(iter(editor.failures.values())), editor.failures)
    return editor.changes


class _Editor:
    """Walks a tree with the value that it has and the one that it is to have."""

    def __init__(self, text: str, begin: int, *, is_json: bool) -> None:
        self._text = text
        # Whoever looks for a style in a long text has found it soon.
        self._style = replace(style_of(text[begin : begin + _SHOWS_STYLE]), is_json=is_json)
        self.changes: list[Change] = []
        self.failures: dict[Path, str] = {}

    def value(self, node: Node, path: Path, before: object, after: object) -> None:
        """Change a value; where that fails the others change nevertheless, so that all is told."""
        if same(before, after):
            return
        try:
            self._value(node, path, before, after)
        except EditError as error:
            self.failures[path] = str(error)

    def _value(self, node: Node, path: Path, before: object, after: object) -> None:
        self._refuse_shared(node)
        if isinstance(node, Mapping | SequenceNode) and after in ({}, []):
            self._replace(node, "{}" if after == {} else "[]")
        elif isinstance(node, Mapping) and isinstance(before, dict) and isinstance(after, dict):
            self._mapping(node, path, before, after)
        elif (
            isinstance(node, SequenceNode) and isinstance(before, list) and isinstance(after, list)
        ):
            self._sequence(node, path, before, after)
        elif isinstance(before, dict | list) or isinstance(after, dict | list):
            self._replace(node, emitting.flow(after, self._style))
        else:
            json_style = replace(self._style, is_json=True)
            self._replace(node, emitting.scalar(after, json_style))

    def _refuse_shared(self, node: Node) -> None:
        """Refuse what stands in two places, or carries the mark by which it could."""
        if isinstance(node, Alias):
            raise EditError(SHARED)
        if self._text[node.at : node.at + 1] == "&":
            raise EditError(SHARED)
        if node.end > node.at and self._text[node.at] == "!":
            raise EditError(FORM)

    def _refuse_anchors_in(self, node: Node) -> None:
        """Refuse to take away what other places may refer to."""
        if not isinstance(node, Alias) and self._text[node.at : node.at + 1] == "&":
            raise EditError(SHARED)
        if isinstance(node, Mapping | SequenceNode):
            for child in node.children:
                self._refuse_anchors_in(child)

    def _replace(self, node: Node, written: str) -> None:
        """Write something on one line in a value's place."""
        self._refuse_anchors_in(node)
        start = len(self._text[: node.at].rstrip())
        if self._text[start - 1 : start] == ":" and "\n" in self._text[start : node.end]:
            self._change(start, node.end, f" {written}")
        else:
            gap = " " if node.at == node.end and self._text[node.at - 1 : node.at] == ":" else ""
            self._change(node.at, node.end, gap + written)

    def _mapping(
        self, node: Mapping, path: Path, before: dict[str, object], after: dict[str, object]
    ) -> None:
        entries = node.entries()
        places = {_name(key): place for place, (key, _) in enumerate(entries)}
        gone = [name for name in before if name not in after]
        new = {name: value for name, value in after.items() if name not in before}
        if any(name not in places for name in gone) or "" in gone:
            raise EditError(SHARED)
        for name in list(gone):
            heir = next((one for one, value in new.items() if alike(before[name], value)), None)
            if heir is not None:
                key, value = entries[places[name]]
                self._rename(key, heir)
                self.value(value, (*path, name), before[name], new.pop(heir))
                gone.remove(name)
        for name, was in before.items():
            if name in after and not same(was, after[name]):
                if name not in places:
                    raise EditError(SHARED)
                self.value(entries[places[name]][1], (*path, name), was, after[name])
        self._drop_entries(node, {places[name] for name in gone})
        if new:
            self._add_entries(node, new, all_gone=len(gone) == len(entries))

    def _rename(self, key: Node, name: str) -> None:
        self._refuse_shared(key)
        first = self._text[key.at : key.at + 1]
        style = replace(self._style, is_json=first == '"')
        written = f"'{name}'" if first == "'" and "'" not in name else emitting.scalar(name, style)
        self._change(key.at, key.end, written)

    # --- What goes

    def _drop_entries(self, node: Mapping, places: set[int]) -> None:
        entries = node.entries()
        for place in places:
            self._refuse_anchors_in(entries[place][1])
        spans = [(key.at, max(key.end, value.end)) for key, value in entries]
        if node.is_flow:
            self.changes += removal.in_flow(self._text, spans, places, node.end - 1)
        else:
            self.changes += removal.of_entries(self._text, spans, places)

    def _drop_items(self, node: SequenceNode, places: set[int]) -> None:
        for place in places:
            self._refuse_anchors_in(node.children[place])
        if node.is_flow:
            spans = [(one.at, one.end) for one in node.children]
            self.changes += removal.in_flow(self._text, spans, places, node.end - 1)
            return
        for place in sorted(places):
            child = node.children[place]
            begin = line_start(self._text, self._dash(child))
            self._change(begin, line_end(self._text, child.end), "")

    def _dash(self, child: Node) -> int:
        """Return where the dash of an item stands; nothing but spaces is before it."""
        dash = self._text.rfind("-", 0, child.at)
        between = self._text[dash + 1 : child.at]
        if (
            dash < 0
            or between.strip()
            or self._text[line_start(self._text, dash) : dash].strip(" ")
        ):
            raise EditError(FORM)
        return dash

    # --- What comes

    def _add_entries(self, node: Mapping, new: dict[str, object], *, all_gone: bool) -> None:
        entries = node.entries()
        if not node.is_flow:
            indent = self._column(entries[0][0].at)
            texts = [
                emitting.entry(name, value, indent, self._style) for name, value in new.items()
            ]
            self._insert_lines(entries[-1][1].end, "".join(texts))
            return
        keys = [key for key, _ in entries]
        style = self._flow_style(node, keys)
        parts = [
            f"{emitting.scalar(name, style)}: {emitting.flow(value, style)}"
            for name, value in new.items()
        ]
        self._insert_in_flow(node, entries[-1][1].end if entries else 0, keys, parts, all_gone)

    def _add_items(self, node: SequenceNode, new: Sequence[object], *, all_gone: bool) -> None:
        children = node.children
        if not node.is_flow:
            indent = self._column(self._dash(children[0]))
            texts = [emitting.item(value, indent, self._style) for value in new]
            self._insert_lines(children[-1].end, "".join(texts))
            return
        style = self._flow_style(node, children)
        parts = [emitting.flow(value, style) for value in new]
        self._insert_in_flow(node, children[-1].end if children else 0, children, parts, all_gone)

    def _flow_style(self, node: Mapping | SequenceNode, within: Sequence[Node]) -> Style:
        """Return JSON's style where what is in there first is JSON's, or nothing tells."""
        first: Node = node
        while isinstance(first, Mapping | SequenceNode) and first.children:
            first = first.children[0]
        is_literal = isinstance(first, Literal)
        is_json = not within or is_literal or self._text[first.at : first.at + 1] == '"'
        return replace(self._style, is_json=is_json)

    def _insert_in_flow(
        self,
        node: Mapping | SequenceNode,
        behind: int,
        within: Sequence[Node],
        parts: Sequence[str],
        all_gone: bool,  # noqa: FBT001 -- passed through by its name's bearer
    ) -> None:
        if not within:
            self._change(node.at + 1, node.at + 1, ", ".join(parts))
            return
        if all_gone:
            self._change(behind, behind, ", ".join(parts))
            return
        if _COMMENT_BEHIND.match(self._text, behind):
            # What comes here would take the last entry's comment for its own.
            raise EditError(FORM)
        lead = self._text[node.at + 1 : within[0].at]
        gap = lead if "\n" in lead and not lead.strip() else " "
        self._change(behind, behind, "".join(f",{gap}{part}" for part in parts))

    def _insert_lines(self, behind: int, lines: str) -> None:
        at = line_end(self._text, behind)
        if at == len(self._text) and not self._text.endswith("\n"):
            newline = self._style.newline
            lines = newline + lines.removesuffix(newline)
        self._change(at, at, lines)

    # --- Lists

    def _sequence(
        self, node: SequenceNode, path: Path, before: list[object], after: list[object]
    ) -> None:
        kept = subsequence(before, after)
        if kept is not None:
            self._drop_items(node, set(range(len(before))) - set(kept))
            return
        heirs = list(range(min(len(before), len(after))))
        if len(before) != len(after):
            heirs = grown_from(before, after) or heirs
        for place, other in zip(heirs, after, strict=False):
            self.value(node.children[place], (*path, place), before[place], other)
        self._drop_items(node, set(range(len(before))) - set(heirs))
        if len(after) > len(heirs):
            self._add_items(node, after[len(heirs) :], all_gone=not heirs)

    # --- The text

    def _change(self, start: int, end: int, text: str) -> None:
        self.changes.append(Change(start, end, text))

    def _column(self, at: int) -> int:
        return at - line_start(self._text, at)


def _is_json(root: Node, text: str) -> bool:
    """Tell whether a document is written as JSON, so that all in it has to be."""
    return (
        isinstance(root, Mapping | SequenceNode)
        and root.is_flow
        and all(text[one.at : one.at + 1] in ('"', "{", "[") for one in root.children[:1])
    )


def _name(key: Node) -> str:
    """Return the text of a key that is written out; "" for all others."""
    if not isinstance(key, Scalar) or is_merge_key(key):
        return ""
    return key_text(key.text, plain=key.plain, tag=key.tag) or ""
