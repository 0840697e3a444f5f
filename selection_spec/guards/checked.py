"""What is wrong with an expression by CEL's own type checker, as Kubernetes' would say (C3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final

from selection_spec.guards.environment import FIELDS, FUNCTIONS, MACROS, environment
from selection_spec.guards.syntax import Node

Fault = tuple[str, str]
"""A clause about the expression, and what to do instead; "" where that is not certain."""

_ERROR = re.compile(r"ERROR: <input>:\d+:\d+: (.*)")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_OVERLOAD = re.compile(r"found no matching overload for '([^']*)' applied to '\((.*)\)'")
_SELECT = re.compile(r"expression of type '(.*)' cannot be the operand of a select operation")
_OPERATOR = re.compile("[_@]")
# The checker takes the end of r"\" for a part of it; that all texts end was seen before.
_MISREAD = "Invalid string literal: String must end with"
_BETWEEN = re.compile(r", (?![^(]*\))")

_MACRO_CALLS: Final = frozenset({"all", "exists", "existsOne", "exists_one"})
_ONE_VARIABLE: Final = 3
_STANDARD: Final = frozenset(
    (
        *("bool", "bytes", "contains", "double", "duration", "dyn", "endsWith", "filter", "first"),
        *("getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours"),
        *("getMilliseconds", "getMinutes", "getMonth", "getSeconds", "has", "hasValue", "int"),
        *("last", "map", "matches", "optFlatMap", "optMap", "or", "orValue", "size", "startsWith"),
        *("string", "timestamp", "type", "uint", "value", *_MACRO_CALLS),
    )
)
_KNOWN: Final = _STANDARD | MACROS | {name for _, name, _, _ in FUNCTIONS}
# Kubernetes compares numbers of different types, and the checker does not.
_NUMBERS: Final = frozenset({"double", "int", "uint"})
_ORDER: Final = frozenset({"<", "<=", ">", ">="})
_WORDS: Final = {"dyn": "unknown", "optional_type": "optional", "semver": "version"}
_NAMES: Final = frozenset({"CIDR", "IP", "URL"})
_OPTIONAL: Final = "optional_type("


def faults(expression: str, tree: Node) -> Iterator[Fault]:
    """Yield why the API server would not take an expression.

    Args:
        expression: What the checker reads.
        tree: Its parts; what the checker does not know of Kubernetes is not judged.
    """
    nodes = tuple(_nodes(tree))
    yield from _no_fields(nodes)
    if any(map(_is_unknown_macro, nodes)):
        return
    try:
        compiled = environment().compile(expression)
    except RuntimeError as error:
        said = str(error)
        if said.startswith("INVALID_ARGUMENT"):  # else it is too much for the checker alone
            yield from dict.fromkeys(_clauses(_ERROR.findall(said), nodes))
        return
    kind = _word(str(compiled.return_type().name()))
    if kind not in ("bool", "unknown"):
        yield f"it is {with_article(kind)}, neither true nor false", ""


def with_article(kind: str) -> str:
    """Return a kind of value as one of them: ``an int``."""
    return f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"


def _nodes(tree: Node) -> Iterator[Node]:
    yield tree
    for part in tree.parts:
        yield from _nodes(part)


def _is_unknown_macro(node: Node) -> bool:
    if node.kind != "method":
        return False
    return node.text in MACROS or (node.text in _MACRO_CALLS and len(node.parts) > _ONE_VARIABLE)


def _no_fields(nodes: Iterable[Node]) -> Iterator[Fault]:
    for node in nodes:
        match node:
            case Node("." | ".?", name, (Node("name", "device"),)) if name not in FIELDS:
                yield f"device has no {name}", _near(name, FIELDS)


def _clauses(errors: Iterable[str], nodes: Iterable[Node]) -> Iterator[Fault]:
    undeclared = [found[1] for found in map(_UNDECLARED.match, errors) if found]
    for name in undeclared:
        yield from _undeclared(name, undeclared, nodes)
    for error in errors:
        if found := _OVERLOAD.match(error):
            operator = _operator(found[1])
            types = [_word(one) for one in _BETWEEN.split(found[2])]
            if not _is_fine_to_kubernetes(operator, types):
                *first, last = types
                together = f"{', '.join(first)} and {last}" if first else last
                yield f"{operator} does not go with {together}", ""
        elif found := _SELECT.match(error):
            yield f"{with_article(_word(found[1]))} has no fields", ""
        elif not _UNDECLARED.match(error) and not error.startswith(_MISREAD):
            yield f"the expression is no CEL: {error}", ""


def _undeclared(name: str, all_of_them: Iterable[str], nodes: Iterable[Node]) -> Iterator[Fault]:
    calls = [node for node in nodes if node.kind in {"call", "method"} and node.text == name]
    if not calls:
        name = name.partition(".")[0]
        yield f"there is no {name}", _near(name, ("device",))
    elif name not in _KNOWN:
        yield f"there is no function {name}()", _near(name, _KNOWN, "()")
    elif any(node.kind == "call" for node in calls):
        yield f"{name}() is a method", f"write x.{name}()"
    elif not any(node.parts[0].text in all_of_them for node in calls):
        yield f"{name}() is no method", f"write {name}(x)"


def _is_fine_to_kubernetes(operator: str, types: Iterable[str]) -> bool:
    if operator in _ORDER:
        return _NUMBERS.issuperset(types)
    return operator == "string()" and {"IP", "CIDR"}.issuperset(types)


def _operator(name: str) -> str:
    """Return how people write an operator or a function that the checker calls ``_&&_``."""
    plain = _OPERATOR.sub("", name)
    return f"{name}()" if plain == name else plain


def _word(kind: str) -> str:
    """Return what a person calls a type of the checker's."""
    if kind.startswith(_OPTIONAL):
        return f"optional {_word(kind[len(_OPTIONAL) : -1])}"
    plain = re.split("[<(]", kind, maxsplit=1)[0]
    return _WORDS.get(plain.lower(), plain if plain in _NAMES else plain.lower())


def _near(name: str, known: Iterable[str], after: str = "") -> str:
    close = get_close_matches(name, sorted(known), n=1)
    return f"write {close[0]}{after}" if close else ""
