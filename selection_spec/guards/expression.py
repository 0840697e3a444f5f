"""Everything that is doubtful in one expression of an admin's (semantics C3).

What the API server would not take, or what no device of a driver can fulfil, is an error; what
fails on some devices, which aborts the scheduling of every Pod that asks, is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from selection_spec.errors import Level
from selection_spec.guards.checked import Fault, faults, with_article
from selection_spec.guards.comparisons import wrong_comparisons
from selection_spec.guards.environment import KINDS, VARIABLE
from selection_spec.guards.forms import NOTHING, guarded, has
from selection_spec.guards.kinds import Kinds, Seen
from selection_spec.guards.reads import CONDITION, WHOLE, Read, attributes, path_of, unguarded
from selection_spec.guards.syntax import NoCelError, Node, parse

# What reads a text from end to end. The API server knows that an attribute is short, but takes what
# orValue() returns to be of any length, and refuses what that might cost.
_COSTLY = frozenset({"contains", "find", "lowerAscii", "matches", "replace", "split", "upperAscii"})

_NO_CLAIM = "no claim can be made with it"

_Span = tuple[int, int, str]
"""Where an expression is replaced, from and to, and by what."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A clause about an expression, and what to do instead; "" where that is not certain."""

    message: str
    hint: str = ""
    level: Level = Level.WARNING


def doubts(expression: str, driver: str, seen: Seen | None = None) -> Iterator[Doubt]:
    """Yield what is doubtful in an expression that is asked of devices of a driver only.

    Args:
        expression: What the admin wrote.
        driver: The claim's.
        seen: What its devices have, None or nothing where none are known.
    """
    try:
        yield from dict.fromkeys(_doubts(expression, driver, Kinds(seen)))
    except NoCelError as error:
        yield Doubt(f"the expression is no CEL: {error}", _NO_CLAIM, Level.ERROR)
    except RecursionError:
        yield Doubt("the expression is nested too deeply to be judged", "split it")


def _doubts(expression: str, driver: str, kinds: Kinds) -> Iterator[Doubt]:
    tree = parse(expression)
    yield from _unknown(tree, driver, kinds)
    wrong = list(wrong_comparisons(tree, expression, kinds))
    for one in wrong:
        level = Level.ERROR if one.is_refused or kinds.seen else Level.WARNING
        message = f"{one.name} is {with_article(one.kind)}, compared by compareTo()"
        yield Doubt(message, f"write {one.form}", level)
    expression = _replaced(
        expression, ((one.node.start, one.node.end, f"({one.form})") for one in wrong)
    )
    tree = parse(expression)
    yield from _faults(expression, tree, kinds)
    yield from _never(tree, driver)
    yield from _strange(tree, driver)
    for read in unguarded(tree):
        form = _form(read, kinds)
        is_sound = form and not _is_faulty(_guarded_by(form, read, expression), kinds)
        yield Doubt(f"{read.path[-1]} is unguarded", f"write {form}" if is_sound else "")
    yield from _costly(tree)


def _unknown(tree: Node, driver: str, kinds: Kinds) -> Iterator[Doubt]:
    """Yield attributes that no device there is has."""
    for _, path in attributes(tree, with_has=True):
        if not kinds.lacks(path):
            continue
        message = f"no device of {driver} has {path[-1]}"
        near = kinds.near(path)
        if kinds.is_documented(path):
            yield Doubt(message)
        elif near:
            kind = kinds.of(near)
            of = f", {with_article(kind)}" if kind else ""
            yield Doubt(message, f"write {near[-1]}{of}", Level.ERROR)
        else:
            yield Doubt(message, level=Level.ERROR)


def _faults(expression: str, tree: Node, kinds: Kinds) -> Iterator[Doubt]:
    """Yield what does not go together: always, and where attributes are of their kinds."""
    plain = list(faults(expression, tree))
    if plain:
        yield from (Doubt(message, hint or _NO_CLAIM, Level.ERROR) for message, hint in plain)
        return
    level = Level.ERROR if kinds.seen else Level.WARNING
    known = {path[-1]: kinds.of(path) for _, path in attributes(tree)}
    for message, hint in _typed(expression, tree, kinds):
        told = (
            f"{name} is {with_article(kind)}"
            for name, kind in known.items()
            if _says(message, kind)
        )
        yield Doubt("; ".join([message, *told]), hint, level)


def _says(message: str, kind: str) -> bool:
    return kind != "" and re.search(rf"\b{kind}\b", message) is not None


def _typed(expression: str, tree: Node, kinds: Kinds) -> Iterator[Fault]:
    """Yield faults of an expression where attributes of known kinds are variables of these."""
    spans: list[_Span] = []
    for node, path in attributes(tree):
        kind = kinds.of(path)
        if path[0] == "attributes" and kind in KINDS:
            variable = VARIABLE.format(kind)
            text = f"optional.of({variable})" if node.kind == ".?" else variable
            spans.append((node.start, node.end, text))
    yield from faults(_replaced(expression, spans), tree)


def _is_faulty(expression: str, kinds: Kinds) -> bool:
    return any(_typed(expression, parse(expression), kinds))


def _replaced(expression: str, spans: Iterable[_Span]) -> str:
    for start, end, text in sorted(spans, reverse=True):
        expression = f"{expression[:start]}{text}{expression[end:]}"
    return expression


def _form(read: Read, kinds: Kinds) -> str:
    """Return how to guard a read, "" where there is no telling."""
    kind = kinds.of(read.path)
    if read.asked is None or (read.asked in {"", CONDITION} and not kind):
        return f"{has(read.path)} && …"
    if kind == "quantity":
        return guarded(read.path, kind)
    if read.asked == "":
        return f"{has(read.path)} && …"
    asked = "bool" if read.asked == CONDITION else read.asked
    return guarded(read.path, asked) if kind in ("", asked) and asked in NOTHING else ""


def _guarded_by(form: str, read: Read, expression: str) -> str:
    """Return the expression with a form in place of what it guards, or before it."""
    if form.endswith("…"):
        at = read.operand.start
        return f"{expression[:at]}{form.removesuffix('…')}{expression[at:]}"
    return _replaced(expression, [(read.node.start, read.node.end, form)])


def _never(tree: Node, driver: str) -> Iterator[Doubt]:
    """Yield other drivers that a device must have."""
    for node in tree.parts if tree.kind == "&&" else (tree,):
        sides = {path_of(side): side for side in node.parts if node.kind == "=="}
        other = sides.get(())
        if ("driver",) in sides and other and other.kind == "text" and other.text != driver:
            yield Doubt(f'device.driver is never "{other.text}" there', f'write "{driver}"')


def _strange(node: Node, driver: str) -> Iterator[Doubt]:
    """Yield domains that are not the driver's; Kubernetes' own is every driver's."""
    match path_of(node):
        case (kind, domain) if domain != driver and not f".{domain}".endswith(".kubernetes.io"):
            what = f"{driver} is asked for {kind} of {domain}"
            yield Doubt(what, f'write "{driver}" unless it has them')
    for part in node.parts:
        yield from _strange(part, driver)


def _costly(node: Node) -> Iterator[Doubt]:
    match node:
        case Node("method", function, (Node("method", "orValue", (optional, _)), *_)):
            path = path_of(optional)
            if function in _COSTLY and len(path) == WHOLE:
                yield Doubt(f"orValue().{function}() is too costly", f"write {has(path)} && …")
    for part in node.parts:
        yield from _costly(part)
