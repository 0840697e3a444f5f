"""Which attributes of a device an expression reads, and what is known of them there (C3).

An attribute that a device lacks is an error in an expression, and that aborts the scheduling of
every Pod that asks. Not seen are attributes whose domain or name is no literal, and variables of
macros other than ``cel.bind``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

from selection_spec.guards.syntax import Node

Path = tuple[str, ...]
"""What of a device is meant: ``("attributes", domain, name)``, or as much of it as is said."""

WHOLE: Final = 3
"""Parts of the path of one attribute."""

CONDITION: Final = "condition"
"""What is asked of an attribute that stands alone, to be true or false."""

MIRRORED: Final = {
    "==": "==",
    "!=": "!=",
    "in": "in",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
"""Comparisons, and what each is with its sides exchanged."""

_CHEAP: Final = frozenset({"endsWith", "startsWith"})
_KINDS: Final = {"semver": "version", "quantity": "quantity"}
_HOLDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "in": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Read:
    """An attribute or a capacity that is read without a guard.

    Attributes:
        node: What reads it.
        path: What is read.
        asked: The kind of what it is compared with, ``CONDITION``, or "" where that cannot be told;
            None where a value that means nothing would fulfil what is asked.
        operand: The smallest condition around it.
    """

    node: Node
    path: Path
    asked: str | None
    operand: Node


@dataclass(frozen=True, slots=True)
class _Scope:
    """What is known where a part stands: attributes that the device has, and variables."""

    present: frozenset[Path] = frozenset()
    variables: Mapping[str, Path] = field(default_factory=lambda: {"device": ("device",)})

    def having(self, *facts: frozenset[Path]) -> _Scope:
        """Return the scope where these attributes are there, too."""
        return _Scope(self.present.union(*facts), self.variables)

    def naming(self, variable: str, path: Path) -> _Scope:
        """Return the scope of a variable; one that holds a whole attribute was read before."""
        meant = path if len(path) < WHOLE else ()
        return _Scope(self.present, {**self.variables, variable: meant})


def path_of(node: Node) -> Path:
    """Return what of the device a part means where no variable is bound, () if nothing of it."""
    return _path(node, _Scope())


def attributes(node: Node, *, with_has: bool = False) -> Iterator[tuple[Node, Path]]:
    """Yield what reads an attribute or a capacity, guarded or not.

    Args:
        node: Where to look.
        with_has: Whether what ``has()`` asks for counts, too.
    """
    yield from _attributes(node, _Scope(), with_has=with_has)


def unguarded(tree: Node) -> Iterator[Read]:
    """Yield what is read without a guard."""
    yield from _reads(tree, _Scope(), CONDITION, tree)


def _attributes(node: Node, scope: _Scope, *, with_has: bool) -> Iterator[tuple[Node, Path]]:
    path = _path(node, scope)
    if len(path) == WHOLE:
        yield node, path
        return
    inside = ((part, inner) for part, inner, _ in _inside(node, scope, None))
    if with_has and (node.kind, node.text) == ("call", "has"):
        inside = ((part, scope) for part in node.parts)
    for part, inner in inside:
        yield from _attributes(part, inner, with_has=with_has)


def _path(node: Node, scope: _Scope) -> Path:
    """Return what of the device a part means, () if it means something else."""
    if node.kind == "name":
        return scope.variables.get(node.text, ())
    if node.kind == "method" and node.text == "value" and node.parts[0].kind == ".?":
        return _path(node.parts[0], scope)  # an optional value that is taken to be there
    if node.kind in {".", ".?"}:
        match _path(node.parts[0], scope):
            case ("device",):
                return (node.text,)
            case ("attributes" | "capacity", *rest) as base if len(rest) < WHOLE - 1:
                return (*base, node.text)
    return ()


def _reads(node: Node, scope: _Scope, asked: str | None, operand: Node) -> Iterator[Read]:
    path = _path(node, scope)
    if len(path) == WHOLE:
        if node.kind != ".?" and path not in scope.present:
            yield Read(node, path, asked, operand)
        return
    is_split = node.kind in {"&&", "||", "?:"}
    for part, inner, asked_of_it in _inside(node, scope, asked):
        yield from _reads(part, inner, asked_of_it, part if is_split else operand)


def _inside(
    node: Node, scope: _Scope, asked: str | None
) -> Iterator[tuple[Node, _Scope, str | None]]:
    """Yield the parts of something that are evaluated, what is known there, and what is asked.

    An error in an operand of ``&&`` or ``||`` does no harm where another one decides, on either
    side of it.
    """
    match node:
        case Node("&&" | "||"):
            facts = (_facts(part, scope, holds=node.kind == "&&") for part in node.parts)
            inner = scope.having(*facts)
            yield from ((part, inner, CONDITION) for part in node.parts)
        case Node("?:", parts=(test, yes, no)):
            yield test, scope, CONDITION
            yield yes, scope.having(_facts(test, scope, holds=True)), asked
            yield no, scope.having(_facts(test, scope, holds=False)), asked
        case Node("call", "has"):
            return
        case Node("method", "bind", (_, Node("name", variable), bound, body)):
            yield bound, scope, ""
            yield body, scope.naming(variable, _path(bound, scope)), asked
        case Node("<" | "<=" | "!=", parts=(Node("method", "compareTo", (target, *rest)), other)):
            # Whatever means nothing is the least there is.
            yield target, scope, None
            yield from ((part, scope, "") for part in (*rest, other))
        case _:
            yield from ((part, scope, _asked_of(part, node)) for part in node.parts)


def _asked_of(part: Node, node: Node) -> str | None:
    """Return the kind of value that may stand in a part's place, by what stands beside it."""
    beside = next((one for one in node.parts if one is not part), None)
    kind = "" if beside is None else _kind_of(beside)
    match node:
        case Node("!"):
            return CONDITION
        case Node("in", parts=(_, within)) if part is within:
            return ""  # a list of them
        case Node("method", text) if text in _CHEAP:
            return "string"
        case Node("method", "isLessThan", (first, *_)) if part is first:
            return None
        case Node("method", "isGreaterThan", (first, *_)) if part is not first:
            return None
        case Node("method"):
            return kind if kind in _KINDS.values() else ""
    if node.kind not in MIRRORED or not kind or beside is None:
        return ""
    comparison = node.kind if part is node.parts[0] else MIRRORED[node.kind]
    return None if _is_fulfilled(comparison, beside) else kind


def _is_fulfilled(comparison: str, beside: Node) -> bool:
    """Tell whether a value that means nothing compares so with a literal."""
    holds = _HOLDS[comparison]
    match beside:
        case Node("list", parts=items):
            return any(_is_fulfilled(comparison, item) for item in items)
        case Node("text", text):
            return holds("", text)
        case Node("number", text):
            return holds(0, _number(text))
        case Node("-", parts=(Node("number", text),)):
            return holds(0, -_number(text))
        case Node("name", "true" | "false" as word):
            return holds(False, word == "true")  # noqa: FBT003 -- a value, no switch
    return comparison == "!="


def _number(text: str) -> float:
    plain = text.rstrip("uU")
    return int(plain, 16) if plain[:2].lower() == "0x" else float(plain)


def _kind_of(node: Node) -> str:
    match node:
        case Node("text"):
            return "string"
        case Node("number") | Node("-", parts=(Node("number"),)):
            return "int"
        case Node("name", "true" | "false"):
            return "bool"
        case Node("list", parts=(first, *_)):
            return _kind_of(first)
        case Node("call", name):
            return _KINDS.get(name, "")
    return ""


def _facts(node: Node, scope: _Scope, *, holds: bool) -> frozenset[Path]:
    """Return the attributes that a device has if a condition holds, or if it doesn't."""
    match node:
        case Node("!", parts=(part,)):
            return _facts(part, scope, holds=not holds)
        case Node("&&" | "||"):
            sets = [_facts(part, scope, holds=holds) for part in node.parts]
            every = (node.kind == "&&") == holds
            return reduce(frozenset.union if every else frozenset.intersection, sets)
        case Node("call", "has", (part,)) | Node("method", "hasValue", (part,)) if holds:
            return frozenset({_path(part, scope)})
        case Node("in", parts=(Node("text", name), within)) if holds:
            return frozenset({(*_path(within, scope), name)})
    return frozenset()
