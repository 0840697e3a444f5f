"""Where the scalars of a text are: a ``#`` or a ``{{`` within one is data and nothing else."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# kubectl begins a document there, before any YAML reader sees the text. A byte order mark that
# begins one is no part of it, and would not be counted in the offsets of its tokens.
_BEGIN = re.compile(r"\A\ufeff?|^---(?:.*\n\ufeff)?", re.MULTILINE)
_BLOCK_STYLES = ("|", ">")


class Within(Enum):
    """What a character of a text belongs to."""

    NO_SCALAR = auto()
    SCALAR = auto()
    BLOCK = auto()
    """A text of several lines after ``|`` or ``>``, which mostly is somebody else's language."""


@dataclass(slots=True)
class ScalarSpans:
    """Where the scalars of a text begin and end, as far as each of its documents can be read."""

    _starts: list[int] = field(default_factory=list)
    _spans: list[tuple[int, Within]] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> ScalarSpans:
        """Look for the scalars of a text."""
        spans = cls()
        begins = [
            match.end() if match[0].endswith("\ufeff") else match.start()
            for match in _BEGIN.finditer(text)
        ]
        for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
            part = text[begin:end]
            for token in _tokens(part):
                spans._add(token, part, begin)
        return spans

    def at(self, offset: int) -> Within:
        """Return what the character at an offset belongs to."""
        number = bisect_right(self._starts, offset) - 1
        if number < 0 or offset >= self._spans[number][0]:
            return Within.NO_SCALAR
        return self._spans[number][1]

    def _add(self, token: Any, part: str, begin: int) -> None:  # noqa: ANN401 - no types there
        start, end, within = token.start_mark.index, token.end_mark.index, Within.SCALAR
        if token.style in _BLOCK_STYLES:
            # What follows the | on its own line may be a comment.
            start, within = part.find("\n", start) + 1, Within.BLOCK
        self._starts.append(begin + start)
        self._spans.append((begin + end, within))


def _tokens(part: str) -> Iterator[Any]:
    """Yield the scalars of a document up to where it is no YAML."""
    try:
        loader = _Loader(part)
        while loader.check_token():
            token = loader.get_token()
            if isinstance(token, yaml.ScalarToken):
                yield token
    except yaml.YAMLError:
        return
