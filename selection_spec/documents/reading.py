"""Nodes become plain values as kubectl would read them, and findings where others would not.

One reader serves both kinds of documents: for users' manifests the findings are warnings beside
the values, for our own documents they are errors, so that what loads means the same to everybody.

Anchors and plain aliases are no findings: all readers agree about them, ``kubectl apply`` expands
them, and a table that repeats a toleration sixty times is better for one. Merge keys are: YAML 1.2
has dropped them, and readers differ in what wins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from selection_spec.documents.faults import MAX_DEPTH, MAX_LISTED, Fault, too_deep
from selection_spec.documents.nodes import (
    Alias,
    Lines,
    Literal,
    Mapping,
    Node,
    Path,
    Scalar,
    Sequence,
    is_merge_key,
    merge_sources,
)
from selection_spec.documents.scalars import (
    ScalarError,
    is_text,
    key_text,
    scalar_value,
    shown,
    surprise,
)

# The bound on aliases ("billion laughs") is kubectl's own: of all nodes visited, those below an
# alias may be at most 99 in 100, and ever fewer beyond 400,000 visits: about 400,000 at the most.
_FREE_ALIASED, _FREE_VISITS = 100, 1000
_LOW, _HIGH = 400_000, 4_000_000
_SHARE_LOW, _SHARE_HIGH = 0.99, 0.10

# A template that nobody rendered ("{{ .Values.x }}") reads as a mapping with a mapping as its key.
_TEXT_KEY = 'make it a text; if it is a template ("{{ }}"), render it first'


@dataclass(frozen=True, slots=True)
class Located:
    """A fault and the field that it is in."""

    path: Path
    fault: Fault


@dataclass(slots=True)
class Reading:
    """What became of a document's tree.

    Attributes:
        value: Plain dicts, lists and scalars; of no use where there are errors.
        errors: What kubectl refuses.
        findings: What kubectl reads and a careful reader would not; at most ``MAX_LISTED``.
    """

    value: object = None
    errors: list[Located] = field(default_factory=list)
    findings: list[Located] = field(default_factory=list)


def read(root: Node, lines: Lines) -> Reading:
    """Return the value of a tree with everything that is wrong or doubtful in it."""
    reading = Reading()
    reader = _Reader(reading, lines)
    try:
        reading.value = reader.value(root)
    except _TooMuchError as stop:
        reading.errors.append(stop.located)
    return reading


class _TooMuchError(Exception):
    """The tree cannot be expanded any further."""

    def __init__(self, located: Located) -> None:
        self.located = located
        super().__init__(located.fault.message)


class _Reader:
    """Walks a tree once; ``_path`` is the field where it stands."""

    def __init__(self, reading: Reading, lines: Lines) -> None:
        self._reading = reading
        self._lines = lines
        self._path: list[str | int] = []
        self._depth = 0
        self._expanding: list[Alias] = []
        self._visits = 1  # kubectl counts the document itself
        self._aliased = 0

    def value(self, node: Node) -> object:
        self._count()
        if isinstance(node, Scalar):
            return self._scalar(node)
        if isinstance(node, Literal):
            if node.value in (math.inf, -math.inf):
                self._error(node.at, "the number is too large", "write it as a text in quotes")
            return node.value
        if isinstance(node, Alias):
            return self._alias(node, None)
        if node.tag:
            self._finding(node.at, *_odd_tag(node.tag))
        if isinstance(node, Mapping):
            result: dict[str, object] = {}
            self._fill(node, result)
            return result
        return self._sequence(node)

    def _scalar(self, node: Scalar) -> object:
        try:
            value = scalar_value(node.text, plain=node.plain, tag=node.tag)
        except ScalarError as error:
            hint = "leave the tag out" if node.tag else f'write "{node.text}" in quotes'
            self._error(node.at, f"{shown(node.text) or 'an empty value'} {error}", hint)
            return None
        self._doubt(node)
        return value

    def _doubt(self, node: Scalar) -> bool:
        """Report a scalar that readers take differently; tell whether it was one."""
        odd = _odd_tag(node.tag) if node.tag else surprise(node.text) if node.plain else None
        if odd:
            self._finding(node.at, *odd)
        return odd is not None

    def _sequence(self, node: Sequence) -> list[object]:
        self._descend(node)
        items: list[object] = []
        for index, child in enumerate(node.children):
            self._path.append(index)
            items.append(self.value(child))
            self._path.pop()
        self._depth -= 1
        return items

    def _fill(self, node: Mapping, result: dict[str, object]) -> None:
        """Put a mapping's entries into ``result``: the last one of a name wins."""
        self._descend(node)
        seen: dict[str, Node] = {}
        for key, value in node.entries():
            if is_merge_key(key):
                self._merge(key, value, result)
                continue
            name = self._key(key)
            if name is None:
                continue
            self._path.append(name)
            if name in seen:
                self._duplicate(name, key, seen[name])
            seen.setdefault(name, key)
            result[name] = self.value(value)
            self._path.pop()
        self._depth -= 1

    def _merge(self, key: Node, value: Node, result: dict[str, object]) -> None:
        hint = "write the keys out instead"
        self._finding(key.at, "YAML readers differ about the merge key <<", hint)
        if merge_sources(value) is None:
            self._error(value.at, "<< wants a mapping, or a list of mappings", hint)
            return
        sources = reversed(value.children) if isinstance(value, Sequence) else (value,)
        for source in sources:
            self._count()
            if isinstance(source, Alias):
                self._alias(source, result)
            elif isinstance(source, Mapping):
                self._fill(source, result)

    def _alias(self, alias: Alias, result: dict[str, object] | None) -> object:
        """Return the target's value, or with ``result`` put its entries there."""
        if any(outer is alias for outer in self._expanding):
            self._error(alias.at, f"*{shown(alias.name)} contains itself", "", anywhere=True)
            return None
        self._expanding.append(alias)
        if result is not None and isinstance(alias.target, Mapping):
            self._count()
            self._fill(alias.target, result)
            value: object = result
        else:
            value = self.value(alias.target)
        self._expanding.pop()
        return value

    def _key(self, node: Node) -> str | None:
        """Return the text that a key becomes in JSON, None where there is none."""
        self._count()
        if isinstance(node, Alias):
            node = node.target
            self._count()
        if not isinstance(node, Scalar):
            self._error(node.at, "a key is a list or a mapping", _TEXT_KEY)
            return None
        name = key_text(node.text, plain=node.plain, tag=node.tag)
        if name is None:
            what = f"the key {shown(node.text)}" if node.text else "an empty key"
            self._error(node.at, f"{what} is no text", "write it in quotes")
            return None
        self._path.append(name)
        if not self._doubt(node) and node.plain and not is_text(node.text):
            hint = f'write "{shown(node.text)}" in quotes'
            self._finding(node.at, f"the key {shown(node.text)} is no text", hint)
        self._path.pop()
        return name

    def _duplicate(self, name: str, key: Node, first: Node) -> None:
        if len(self._reading.findings) == MAX_LISTED:
            return
        line = self._lines.place(first.at)[0]
        message = f"the key {shown(name)} stands on line {line} too, and only the last one counts"
        self._finding(key.at, message, "remove one of them")

    def _descend(self, node: Node) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _TooMuchError(Located(tuple(self._path), too_deep(node.at)))

    def _count(self) -> None:
        """Count a visit, and stop where aliases make a small text a huge document."""
        self._visits += 1
        if not self._expanding:
            return
        self._aliased += 1
        if self._aliased <= _FREE_ALIASED or self._visits <= _FREE_VISITS:
            return
        if self._aliased / self._visits > _allowed_share(self._visits):
            fault = Fault(
                self._expanding[0].at,
                f"aliases make {self._visits:,} nodes of this document",
                "write out what they stand for",
            )
            raise _TooMuchError(Located(tuple(self._path), fault))

    def _error(self, at: int, message: str, hint: str, *, anywhere: bool = False) -> None:
        # What stands below an alias was reported where it was written.
        if (anywhere or not self._expanding) and len(self._reading.errors) < MAX_LISTED:
            self._reading.errors.append(Located(tuple(self._path), Fault(at, message, hint)))

    def _finding(self, at: int, message: str, hint: str) -> None:
        if not self._expanding and len(self._reading.findings) < MAX_LISTED:
            self._reading.findings.append(Located(tuple(self._path), Fault(at, message, hint)))


def _allowed_share(visits: int) -> float:
    if visits <= _LOW:
        return _SHARE_LOW
    if visits >= _HIGH:
        return _SHARE_HIGH
    return _SHARE_LOW - (_SHARE_LOW - _SHARE_HIGH) * (visits - _LOW) / (_HIGH - _LOW)


def _odd_tag(tag: str) -> tuple[str, str]:
    short = tag.replace("tag:yaml.org,2002:", "!!", 1)
    return f"YAML readers differ about the tag {shown(short)}", "leave it out"
