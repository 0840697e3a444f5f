"""Versions and quantities that are compared like numbers, which Kubernetes' CEL does not (C3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from selection_spec.errors import QuantityError
from selection_spec.guards.forms import guarded, has
from selection_spec.guards.kinds import Kinds
from selection_spec.guards.reads import MIRRORED, WHOLE, Path, path_of
from selection_spec.guards.syntax import Node
from selection_spec.quantity import parse_quantity

_OF: Final = {"quantity": "quantity", "version": "semver"}
"""Functions that make values of a kind."""

_SHORT_VERSION = re.compile(r"(0|[1-9][0-9]*)(?:\.(0|[1-9][0-9]*))?(?:\.(0|[1-9][0-9]*))?")
# Nothing is less than what stands where a device has no such attribute.
_LESS: Final = frozenset({"<", "<=", "!="})


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared as it cannot be.

    Attributes:
        node: The comparison.
        name: Of the attribute or the capacity.
        kind: Its kind.
        form: What to write instead.
        is_refused: Whether the API server would not take it; else it fails on a device.
    """

    node: Node
    name: str
    kind: str
    form: str
    is_refused: bool


def wrong_comparisons(node: Node, expression: str, kinds: Kinds) -> Iterator[Comparison]:
    """Yield comparisons for which there is another form, in their order."""
    if node.kind in MIRRORED and node.kind != "in":
        left, right = node.parts
        for sides in ((left, node.kind, right), (right, MIRRORED[node.kind], left)):
            if found := _compared(node, sides, expression, kinds):
                yield found
                return
    for part in node.parts:
        yield from wrong_comparisons(part, expression, kinds)


def _compared(
    node: Node, sides: tuple[Node, str, Node], expression: str, kinds: Kinds
) -> Comparison | None:
    """Judge a comparison whose first side may be an attribute."""
    attribute, sign, other = sides
    path = _attribute(attribute)
    kind = kinds.of(path) if path else ""
    value = _value(kind, other, expression) if kind in _OF else ""
    is_call = other.kind == "call"
    if not value or (is_call and sign in {"==", "!="}):
        return None
    form = f"{guarded(path, kind)}.compareTo({value}) {sign} 0"
    if sign in _LESS:
        form = f"{has(path)} && {form}"
    return Comparison(node, path[-1], kind, form, is_call or kind == "quantity")


def _attribute(node: Node) -> Path:
    """Return what a part reads, guarded or not; () if no attribute of its own."""
    match node:
        case Node("method", "orValue", (optional, _)):
            node = optional
    path = path_of(node)
    return path if len(path) == WHOLE else ()


def _value(kind: str, node: Node, expression: str) -> str:
    """Return a value of a kind as CEL, by how it was written; "" if it is none."""
    match node:
        case Node("call", name) if name == _OF[kind]:
            return expression[node.start : node.end]
        case Node("number" | "text", text) if kind == "version":
            if found := _SHORT_VERSION.fullmatch(text):
                return f'semver("{".".join(part or "0" for part in found.groups())}")'
        case Node("text", text) if _is_quantity(text):
            return f'quantity("{text}")'
    return ""


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except QuantityError:
        return False
    return True
