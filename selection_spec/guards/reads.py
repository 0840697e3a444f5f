"""Which attributes of a device an expression reads, and whether it may (semantics C3).

An attribute that a device lacks is an error in an expression, and that aborts the scheduling of
every Pod that asks. Known here is where a device's attributes stand, not CEL's types and functions:
whether those fit is for the API server to tell. Not seen are attributes whose domain or name is no
literal, and variables of macros other than ``cel.bind``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from selection_spec.guards.syntax import NoCelError, Node, parse

Doubt = tuple[str, str]
"""A clause about the expression, and what to do instead."""

Path = tuple[str, ...]
"""What of a device is meant: ``("attributes", domain, name)``, or as much of it as is said."""

_NOTHING: Final = {"semver": 'semver("0.0.0")', "quantity": 'quantity("0")'}

# What reads a text from end to end. The API server knows that an attribute is short, but takes what
# orValue() returns to be of any length, and refuses what that might cost.
_COSTLY: Final = frozenset(
    {"contains", "find", "lowerAscii", "matches", "replace", "split", "upperAscii"}
)
_CHEAP: Final = frozenset({"endsWith", "startsWith"})
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
_WHOLE: Final = 3
"""Parts of the path of one attribute."""


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
        meant = path if len(path) < _WHOLE else ()
        return _Scope(self.present, {**self.variables, variable: meant})


def doubts(expression: str, driver: str) -> Iterator[Doubt]:
    """Yield what is doubtful in an expression that is asked of devices of a driver only."""
    try:
        tree = parse(expression)
        found = [*_never(tree, driver), *_strange(tree, driver), *_unguarded(tree), *_costly(tree)]
    except NoCelError as error:
        found = [(f"the expression is no CEL: {error}", "no claim can be made with it")]
    except RecursionError:
        found = [("the expression is nested too deeply to be judged", "split it")]
    yield from dict.fromkeys(found)


def _never(tree: Node, driver: str) -> Iterator[Doubt]:
    """Yield other drivers that a device must have."""
    for node in tree.parts if tree.kind == "&&" else (tree,):
        sides = {_path(side, _Scope()): side for side in node.parts if node.kind == "=="}
        other = sides.get(())
        if ("driver",) in sides and other and other.kind == "text" and other.text != driver:
            yield f'device.driver is never "{other.text}" there', f'write "{driver}"'


def _strange(node: Node, driver: str) -> Iterator[Doubt]:
    """Yield domains that are not the driver's; Kubernetes' own is every driver's."""
    match _path(node, _Scope()):
        case (kind, domain) if domain != driver and not f".{domain}".endswith(".kubernetes.io"):
            what = f"{driver} is asked for {kind} of {domain}"
            yield what, f'write "{driver}" unless it has them'
    for part in node.parts:
        yield from _strange(part, driver)


def _unguarded(tree: Node) -> Iterator[Doubt]:
    for (kind, domain, name), value in _reads(tree, _Scope(), "false"):
        default = _NOTHING["quantity"] if kind == "capacity" else value
        optional = f"{_owner(kind, domain)}.?{name}.orValue({default})"
        yield f"{name} is unguarded", f"write {optional if default else _has(kind, domain, name)}"


def _costly(node: Node) -> Iterator[Doubt]:
    match node:
        case Node("method", function, (Node("method", "orValue", (optional, _)), *_)):
            path = _path(optional, _Scope())
            if function in _COSTLY and len(path) == _WHOLE:
                yield f"orValue().{function}() is too costly", f"write {_has(*path)}"
    for part in node.parts:
        yield from _costly(part)


def _owner(kind: str, domain: str) -> str:
    return f"device.{kind}[{json.dumps(domain, ensure_ascii=False)}]"


def _has(kind: str, domain: str, name: str) -> str:
    return f"has({_owner(kind, domain)}.{name}) && …"


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
            case ("attributes" | "capacity", *rest) as base if len(rest) < _WHOLE - 1:
                return (*base, node.text)
    return ()


def _reads(node: Node, scope: _Scope, value: str) -> Iterator[tuple[Path, str]]:
    """Yield the attributes that are read without a guard.

    Args:
        node: What reads.
        scope: What is known there.
        value: A value of its type, as CEL; "" where its type cannot be told.
    """
    path = _path(node, scope)
    if len(path) == _WHOLE:
        if node.kind != ".?" and path not in scope.present:
            yield path, value
        return
    for part, inner, its_value in _inside(node, scope, value):
        yield from _reads(part, inner, its_value)


def _inside(node: Node, scope: _Scope, value: str) -> Iterator[tuple[Node, _Scope, str]]:
    """Yield the parts of something that are evaluated, each with what is known there.

    An error in an operand of ``&&`` or ``||`` does no harm where another one decides, on either
    side of it.
    """
    match node:
        case Node("&&" | "||"):
            facts = (_facts(part, scope, holds=node.kind == "&&") for part in node.parts)
            inner = scope.having(*facts)
            yield from ((part, inner, "false") for part in node.parts)
        case Node("?:", parts=(test, yes, no)):
            yield test, scope, "false"
            yield yes, scope.having(_facts(test, scope, holds=True)), value
            yield no, scope.having(_facts(test, scope, holds=False)), value
        case Node("call", "has"):
            return
        case Node("method", "bind", (_, Node("name", variable), bound, body)):
            yield bound, scope, ""
            yield body, scope.naming(variable, _path(bound, scope)), value
        case _:
            yield from ((part, scope, _value_beside(part, node)) for part in node.parts)


def _value_beside(part: Node, node: Node) -> str:
    """Return a value of a part's type that may stand in its place, by what stands beside it."""
    beside = next(filter(None, (_value_like(one) for one in node.parts if one is not part)), "")
    match node.kind:
        case "!":
            return "false"
        case "in" if part is node.parts[-1]:
            return ""  # a list of them
        case "method" if node.text in _CHEAP:
            return '""'
        case "method":
            return beside if beside in _NOTHING.values() else ""
    return beside if node.kind in _COMPARISONS else ""


def _value_like(node: Node) -> str:
    match node:
        case Node("text"):
            return '""'
        case Node("number"):
            return "0"
        case Node("name", "true" | "false"):
            return "false"
        case Node("list", parts=(first, *_)):
            return _value_like(first)
        case Node("call", name):
            return _NOTHING.get(name, "")
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
