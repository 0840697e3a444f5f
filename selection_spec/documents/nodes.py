"""The tree of a document: what was written where, before anything is read into it.

YAML events and JSON tokens both become these nodes. A node keeps the offsets of its first character
in the text (``at``) and of what comes behind its last one (``end``); lines and columns are worked
out when somebody asks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

Path = tuple[str | int, ...]

_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(slots=True, eq=False)
class Scalar:
    """A scalar as written: its characters, whether it was plain, and its explicit tag."""

    at: int
    text: str
    plain: bool
    tag: str = ""
    end: int = 0


@dataclass(slots=True, eq=False)
class Literal:
    """A JSON number, true, false or null: JSON leaves nothing to guess.

    A number too large for a float is infinite.
    """

    at: int
    value: float | bool | None
    end: int = 0


@dataclass(slots=True, eq=False)
class Alias:
    """A reference (``*name``) to an earlier node of the same document."""

    at: int
    name: str
    target: Node
    end: int = 0


@dataclass(slots=True, eq=False)
class Sequence:
    """A list; ``is_flow`` where it is written between brackets."""

    at: int
    tag: str = ""
    children: list[Node] = field(default_factory=list)
    end: int = 0
    is_flow: bool = True


@dataclass(slots=True, eq=False)
class Mapping:
    """A mapping; ``children`` holds key, value, key, value as written, duplicates included."""

    at: int
    tag: str = ""
    children: list[Node] = field(default_factory=list)
    end: int = 0
    is_flow: bool = True

    def entries(self) -> list[tuple[Node, Node]]:
        """Return the (key, value) pairs in the order of the text."""
        return list(zip(self.children[::2], self.children[1::2], strict=True))


Node = Scalar | Literal | Alias | Sequence | Mapping


def is_merge_key(node: Node) -> bool:
    """Tell whether a key is ``<<``, which takes over the keys of other mappings (YAML 1.1)."""
    merge_tag = "tag:yaml.org,2002:merge"
    return isinstance(node, Scalar) and node.text == "<<" and (node.plain or node.tag == merge_tag)


def field_path(path: Path) -> str:
    """Return a path as Kubernetes writes it.

    ``("spec", "devices", 2, "vram")`` is ``spec.devices[2].vram``; a key that holds more than
    letters, digits, ``_`` and ``-`` is quoted: ``limits["nvidia.com/gpu"]``. The root is "".
    """
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _BARE_KEY.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            escaped = step.replace("\\", "\\\\").replace('"', '\\"')
            parts.append(f'["{escaped}"]')
    return "".join(parts)


class Lines:
    """Turns offsets into a text into lines and columns, both 1-based, counted in characters."""

    __slots__ = ("_starts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] | None = None

    @property
    def text(self) -> str:
        """The text."""
        return self._text

    def place(self, offset: int) -> tuple[int, int]:
        """Return (line, column); a line ends at a line feed, as editors and kubectl count."""
        if self._starts is None:
            self._starts = [0, *(match.end() for match in re.finditer("\n", self._text))]
        offset = min(max(offset, 0), len(self._text))
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def merge_sources(value: Node) -> list[Mapping] | None:
    """Return the mappings that a merge key takes over, the strongest first; None: not mappings."""
    inner = value.target if isinstance(value, Alias) else value
    if isinstance(inner, Mapping):
        return [inner]
    if not isinstance(value, Sequence):
        return None
    sources = [child.target if isinstance(child, Alias) else child for child in value.children]
    mappings = [source for source in sources if isinstance(source, Mapping)]
    return mappings if len(mappings) == len(sources) else None
