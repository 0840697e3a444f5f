r"""JSON becomes the same nodes as YAML, by JSON's own rules.

JSON is almost YAML; the rest matters: ``\ud83d\ude00`` is one character, tabs may indent, keys
may be long, and ``1.0`` stays a float. kubectl reads a text that begins with ``{`` as JSON first.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from selection_spec.documents.faults import MAX_DEPTH, Fault, too_deep
from selection_spec.documents.nodes import Literal, Mapping, Scalar, Sequence
from selection_spec.documents.scalars import shown

if TYPE_CHECKING:
    from selection_spec.documents.nodes import Node

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null")
_WORDS = {"true": True, "false": False, "null": None}
_SURROGATE = re.compile("[\ud800-\udfff]")
_INT64 = 1 << 63
_INT64_LENGTH = len(str(-_INT64))


class JSONFaultError(Exception):
    """The text is no JSON; carries the fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(fault.message)


def parse_json(text: str, start: int = 0) -> tuple[Node, int]:
    """Return the tree of the JSON value at ``start`` and the offset behind it.

    Raises:
        JSONFaultError: There is no whole JSON value.
    """
    scanner = _Scanner(text, start)
    return scanner.value(), scanner.at


class _Scanner:
    """Reads one value with a stack of its own, so that depth is a number, not a crash."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self.at = start

    def value(self) -> Node:
        root = self._open()
        stack = [root] if isinstance(root, Mapping | Sequence) else []
        while stack:
            container = stack[-1]
            if self._take("}" if isinstance(container, Mapping) else "]"):
                stack.pop().end = self.at
                continue
            if container.children and not self._take(","):
                raise self._fault("a comma or a closing bracket is missing")
            if isinstance(container, Mapping):
                container.children.append(self._key())
            child = self._open()
            container.children.append(child)
            if isinstance(child, Mapping | Sequence):
                if len(stack) == MAX_DEPTH:
                    raise JSONFaultError(too_deep(child.at))
                stack.append(child)
        return root

    def _key(self) -> Scalar:
        node = self._open()
        if not isinstance(node, Scalar):
            self.at = node.at
            raise self._fault("a key in double quotes is missing")
        if not self._take(":"):
            raise self._fault(f'the ":" after the key "{shown(node.text)}" is missing')
        return node

    def _open(self) -> Node:
        """Read a scalar wholly, of a list or a mapping only the bracket."""
        self._skip_space()
        at, text = self.at, self._text
        match text[at : at + 1]:
            case "{":
                self.at += 1
                return Mapping(at)
            case "[":
                self.at += 1
                return Sequence(at)
            case '"':
                found = self._string()
                return Scalar(at, found, plain=False, end=self.at)
        if number := _NUMBER.match(text, at):
            self.at = number.end()
            return Literal(at, _number(number), end=self.at)
        if word := _WORD.match(text, at):
            self.at = word.end()
            return Literal(at, _WORDS[word[0]], end=self.at)
        raise self._fault("a value is missing")

    def _string(self) -> str:
        match = _STRING.match(self._text, self.at)
        if match is None:
            raise self._fault("a text in double quotes does not end, or holds what must be escaped")
        self.at = match.end()
        if "\\" not in match[0]:
            return match[0][1:-1]
        return _SURROGATE.sub("\ufffd", str(json.loads(match[0])))

    def _take(self, char: str) -> bool:
        self._skip_space()
        if not self._text.startswith(char, self.at):
            return False
        self.at += 1
        return True

    def _skip_space(self) -> None:
        space = _SPACE.match(self._text, self.at)
        self.at = space.end() if space else self.at

    def _fault(self, message: str) -> JSONFaultError:
        found = self._text[self.at : self.at + 1]
        where = f"where {shown(found)} stands" if found else "where the text ends"
        return JSONFaultError(Fault(self.at, f"{message} {where}"))


def _number(match: re.Match[str]) -> float:
    """Return the number as the API server reads it: 64-bit integers exactly, others as floats.

    A number that no float can hold is infinite.
    """
    digits, fraction, exponent = match[0], match[1], match[2]
    if not fraction and not exponent and len(digits) <= _INT64_LENGTH:
        whole = int(digits)
        if -_INT64 <= whole < _INT64:
            return whole
    return float(digits)
