"""The grammar of CEL, as far as the parts of an expression tell what it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NoReturn

_TOKEN: Final = re.compile(
    r"""(?P<space>(?:[ \t\r\n\f]|//[^\n]*)+)
    |(?P<text>[bB]?[rR](?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"[^"\r\n]*"|'[^'\r\n]*')
        |[bB]?(?:\"{3}(?:[^\\]|\\[\s\S])*?\"{3}|'{3}(?:[^\\]|\\[\s\S])*?'{3}
            |"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*'))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*|`[^`\r\n]+`)
    |(?P<mark>\|\||&&|[=!<>]=|[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE,
)
_QUOTES: Final = re.compile(r"""^[bBrR]*(\"{3}|'{3}|"|')([\s\S]*)\1$""")

# Operators by how tightly they bind.
_LEVELS: Final = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys("*/%", 5),
}
_SHOWN: Final = 20


class NoCelError(Exception):
    """A text is no CEL; the argument says why, as a clause."""


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression.

    Attributes:
        kind: An operator, ``.`` or ``.?`` (also where it is written with brackets), ``call``,
            ``method`` (its target is the first part), ``list`` (also a map or a message), ``[``
            (what is in the brackets is no literal), ``text``, ``number`` or ``name``.
        text: The name or the value.
        parts: What it is made of; a chain of ``&&`` or of ``||`` is one node.
        start: Where it begins in the expression; brackets around it are no part of it.
        end: Where it ends.
    """

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


def parse(expression: str) -> Node:
    """Read an expression.

    Raises:
        NoCelError: It is none.
        RecursionError: It is nested more deeply than anybody writes.
    """
    return _Parser(expression).whole()


class _Parser:
    """Reads one expression, by the grammar of CEL.

    Every method reads what it is called after and raises NoCelError where that is not there.
    """

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def whole(self) -> Node:
        node = self._ternary()
        return node if self._next == "" else self._fail()

    @property
    def _next(self) -> str:
        return self._tokens[self._at][1]

    @property
    def _start(self) -> int:
        return self._tokens[self._at][2] - 1

    def _made(self, start: int, kind: str, text: str = "", parts: tuple[Node, ...] = ()) -> Node:
        """Return a node that ends with the last token that was stepped over."""
        _, last, place = self._tokens[self._at - 1]
        return Node(kind, text, parts, start, place - 1 + len(last))

    def _take(self, *texts: str) -> str:
        """Step over the next token if it is one of these, and return it, else ""."""
        found = self._next
        if found not in texts:
            return ""
        self._at += 1
        return found

    def _need(self, text: str) -> None:
        if not self._take(text):
            self._fail()

    def _fail(self) -> NoReturn:
        _, text, place = self._tokens[self._at]
        if not text:
            raise NoCelError("something is missing at its end, such as a closing bracket")
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        raise NoCelError(f"{shown} at character {place} is out of place")

    def _ternary(self) -> Node:
        start = self._start
        test = self._binary(1)
        if not self._take("?"):
            return test
        yes = self._binary(1)
        self._need(":")
        no = self._ternary()
        return self._made(start, "?:", parts=(test, yes, no))

    def _binary(self, least: int) -> Node:
        start = self._start
        node = self._unary()
        while (level := _LEVELS.get(self._next, 0)) >= least:
            operator = self._take(self._next)
            right = self._binary(level + 1)
            before = node.parts if operator == node.kind in {"&&", "||"} else (node,)
            node = self._made(start, operator, parts=(*before, right))
        return node

    def _unary(self) -> Node:
        start = self._start
        if mark := self._take("!", "-"):
            part = self._unary()
            return self._made(start, mark, parts=(part,))
        node = self._primary()
        while mark := self._take(".", "[", "{"):
            if mark == "{":
                node = self._made(start, "list", parts=(node, *self._several("}")))
                continue
            kind = ".?" if self._take("?") else "."
            if mark == "[":
                index = self._ternary()
                self._need("]")
                if index.kind == "text":
                    node = self._made(start, kind, index.text, (node,))
                else:
                    node = self._made(start, "[", parts=(node, index))
                continue
            name = self._name()
            if kind == "." and self._take("("):
                node = self._made(start, "method", name, (node, *self._several(")")))
            else:
                node = self._made(start, kind, name, (node,))
        return node

    def _primary(self) -> Node:
        start = self._start
        kind, text, _ = self._tokens[self._at]
        if kind in {"text", "number"}:
            self._at += 1
            return self._made(start, kind, _QUOTES.sub(r"\2", text))
        if self._take("("):
            node = self._ternary()
            self._need(")")
            return node
        if opening := self._take("[", "{"):
            return self._made(start, "list", parts=self._several("]" if opening == "[" else "}"))
        self._take(".")
        name = self._name()
        if self._take("("):
            return self._made(start, "call", name, self._several(")"))
        return self._made(start, "name", name)

    def _name(self) -> str:
        kind, text, _ = self._tokens[self._at]
        if kind != "name" or text == "in":
            self._fail()
        self._at += 1
        return text.strip("`")

    def _several(self, closing: str) -> tuple[Node, ...]:
        """Read arguments, items or entries up to the closing bracket."""
        found: list[Node] = []
        while not self._take(closing):
            self._take("?")
            found.append(self._ternary())
            if closing == "}":
                self._need(":")
                found.append(self._ternary())
            if not self._take(","):
                self._need(closing)
                break
        return tuple(found)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind, text and place, counted from 1, of every token, at last one without text."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            what = "is never closed" if text[at] in "\"'" else "is out of place"
            raise NoCelError(f"{text[at]} at character {at + 1} {what}")
        if match.lastgroup and match.lastgroup != "space":
            yield match.lastgroup, match[0], at + 1
        at = match.end()
    yield "", "", at + 1
