"""A document's value is changed by changing its text where the value stands, and nowhere else.

Comments, order, quotes and everything that stays the same stay as they are written. What cannot be
changed so is refused, never written anew: a value that several places share by an anchor above all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from selection_spec.documents import emitting
from selection_spec.documents.emitting import Style, style_of
from selection_spec.documents.likeness import alike, grown_from, same, subsequence
from selection_spec.documents.nodes import (
    Alias,
    Literal,
    Mapping,
    Node,
    Scalar,
    is_merge_key,
)
from selection_spec.documents.nodes import Sequence as SequenceNode
from selection_spec.documents.scalars import key_text

_SHARED = "an anchor (&) or an alias (*) shares it with another place"
_SHOWS_STYLE = 1 << 14
_FORM = "it is written in a form that is not edited"


class EditError(Exception):
    """A value cannot be changed where it stands; says why, in words about ``it``."""


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """What is between two offsets of a text is replaced."""

    start: int
    end: int
    text: str


def changed(text: str, changes: Iterable[Change]) -> str:
    """Return a text with changes applied; of those at one place the first comes first.

    Raises:
        EditError: Two of them overlap.
    """
    ordered = sorted(changes, key=lambda change: (change.start, change.end))
    if any(one.end > other.start for one, other in pairwise(ordered)):
        raise EditError("two changes meet in one place")
    parts: list[str] = []
    at = 0
    for change in ordered:
        parts += [text[at : change.start], change.text]
        at = change.end
    return "".join([*parts, text[at:]])


def changes_between(text: str, root: Node, before: object, after: object) -> list[Change]:
    """Return what has to change in a text so that a document's value becomes another.

    Args:
        text: The whole text.
        root: The document's tree in it.
        before: The document's value.
        after: What it is to be.

    Raises:
        EditError: It cannot be changed where it stands.
    """
    editor = _Editor(text, root.at, is_json=_is_json(root, text))
    editor.value(root, before, after)
    return editor.changes


class _Editor:
    """Walks a tree with the value that it has and the one that it is to have."""

    def __init__(self, text: str, begin: int, *, is_json: bool) -> None:
        self._text = text
        # Whoever looks for a style in a long text has found it soon.
        self._style = replace(style_of(text[begin : begin + _SHOWS_STYLE]), is_json=is_json)
        self.changes: list[Change] = []

    def value(self, node: Node, before: object, after: object) -> None:
        if same(before, after):
            return
        self._refuse_shared(node)
        if isinstance(node, Mapping | SequenceNode) and after in ({}, []):
            self._replace(node, "{}" if after == {} else "[]")
        elif isinstance(node, Mapping) and isinstance(before, dict) and isinstance(after, dict):
            self._mapping(node, before, after)
        elif (
            isinstance(node, SequenceNode) and isinstance(before, list) and isinstance(after, list)
        ):
            self._sequence(node, before, after)
        elif isinstance(before, dict | list) or isinstance(after, dict | list):
            self._replace(node, emitting.flow(after, self._style))
        else:
            json_style = replace(self._style, is_json=True)
            self._replace(node, emitting.scalar(after, json_style))

    def _refuse_shared(self, node: Node) -> None:
        """Refuse what stands in two places, or carries the mark by which it could."""
        if isinstance(node, Alias):
            raise EditError(_SHARED)
        if self._text[node.at : node.at + 1] == "&":
            raise EditError(_SHARED)
        if node.end > node.at and self._text[node.at] == "!":
            raise EditError(_FORM)

    def _refuse_anchors_in(self, node: Node) -> None:
        """Refuse to take away what other places may refer to."""
        if not isinstance(node, Alias) and self._text[node.at : node.at + 1] == "&":
            raise EditError(_SHARED)
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

    def _mapping(self, node: Mapping, before: dict[str, object], after: dict[str, object]) -> None:
        entries = node.entries()
        places = {_name(key): place for place, (key, _) in enumerate(entries)}
        gone = [name for name in before if name not in after]
        new = {name: value for name, value in after.items() if name not in before}
        if any(name not in places for name in gone) or "" in gone:
            raise EditError(_SHARED)
        for name in list(gone):
            heir = next((one for one, value in new.items() if alike(before[name], value)), None)
            if heir is not None:
                key, value = entries[places[name]]
                self._rename(key, heir)
                self.value(value, before[name], new.pop(heir))
                gone.remove(name)
        for name, was in before.items():
            if name in after and not same(was, after[name]):
                if name not in places:
                    raise EditError(_SHARED)
                self.value(entries[places[name]][1], was, after[name])
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
            self._drop_in_flow(spans, places)
            return
        for place in sorted(places):
            start, end = spans[place]
            begin = self._line_start(start)
            if not self._text[begin:start].strip(" "):
                self._change(begin, self._line_end(end), "")
            elif self._text[begin:start].strip(" -") or place + 1 == len(entries):
                raise EditError(_FORM)
            else:
                # The first entry of a list's item: the next one moves up behind the dash.
                self._change(start, spans[place + 1][0], "")

    def _drop_in_flow(self, spans: Sequence[tuple[int, int]], places: set[int]) -> None:
        is_first = True
        for place, (start, end) in enumerate(spans):
            if place not in places:
                is_first = False
            elif not is_first:
                self._change(spans[place - 1][1], end, "")
            else:
                behind = spans[place + 1][0] if place + 1 < len(spans) else end
                self._change(start, behind, "")

    def _drop_items(self, node: SequenceNode, places: set[int]) -> None:
        for place in places:
            self._refuse_anchors_in(node.children[place])
        if node.is_flow:
            self._drop_in_flow([(one.at, one.end) for one in node.children], places)
            return
        for place in sorted(places):
            child = node.children[place]
            begin = self._line_start(self._dash(child))
            self._change(begin, self._line_end(child.end), "")

    def _dash(self, child: Node) -> int:
        """Return where the dash of an item stands; nothing but spaces is before it."""
        dash = self._text.rfind("-", 0, child.at)
        between = self._text[dash + 1 : child.at]
        if dash < 0 or between.strip() or self._text[self._line_start(dash) : dash].strip(" "):
            raise EditError(_FORM)
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
        lead = self._text[node.at + 1 : within[0].at]
        gap = lead if "\n" in lead and not lead.strip() else " "
        self._change(behind, behind, "".join(f",{gap}{part}" for part in parts))

    def _insert_lines(self, behind: int, lines: str) -> None:
        at = self._line_end(behind)
        if at == len(self._text) and not self._text.endswith("\n"):
            newline = self._style.newline
            lines = newline + lines.removesuffix(newline)
        self._change(at, at, lines)

    # --- Lists

    def _sequence(self, node: SequenceNode, before: list[object], after: list[object]) -> None:
        kept = subsequence(before, after)
        if kept is not None:
            self._drop_items(node, set(range(len(before))) - set(kept))
            return
        heirs = list(range(min(len(before), len(after))))
        if len(before) != len(after):
            heirs = grown_from(before, after) or heirs
        for place, other in zip(heirs, after, strict=False):
            self.value(node.children[place], before[place], other)
        self._drop_items(node, set(range(len(before))) - set(heirs))
        if len(after) > len(heirs):
            self._add_items(node, after[len(heirs) :], all_gone=not heirs)

    # --- The text

    def _change(self, start: int, end: int, text: str) -> None:
        self.changes.append(Change(start, end, text))

    def _line_start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        """Return where the next line begins; a block of text ends at the beginning of one."""
        if at and self._text[at - 1] == "\n":
            return at
        found = self._text.find("\n", at)
        return len(self._text) if found < 0 else found + 1

    def _column(self, at: int) -> int:
        return at - self._line_start(at)


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
