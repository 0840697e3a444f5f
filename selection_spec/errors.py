"""Problems and the exceptions that carry them.

Exceptions::

    GpuspecError            anything this project raises on purpose
    ├── SpecError           a key is no GPU Selection Spec (semantics G1, G4)
    ├── QuantityError       a text is no Kubernetes quantity, or no amount of devices (A1, A2)
    ├── DurationError       a text is no length of time
    ├── DocumentError       a YAML or JSON document cannot be read
    └── TableError          a document is read but is no usable SelectionTable (design §3)

A ``Problem`` is a value: what is wrong, where, and what to do instead. Warnings are the same type.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a problem is: an error refuses, a warning only tells, a note needs no remedy."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, in words that can be acted upon.

    Attributes:
        message: What is wrong, naming the object, the field and the value.
        path: The field path, as Kubernetes writes it (``spec.devices[3].vram``); "" for the whole.
        hint: What to do instead, in the imperative; "" where the message already says it.
        rule: The rule of the semantics that refuses it (``G4``), "" where none has a number.
        line: 1-based line in the source text, 0 where there is no text.
        column: 1-based column in the source text, 0 where there is no text.
        level: Error, warning or note.
    """

    message: str
    path: str = ""
    hint: str = ""
    rule: str = ""
    line: int = 0
    column: int = 0
    level: Level = Level.ERROR

    def text(self) -> str:
        """Return message and hint as one line."""
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def located(self, source: str) -> str:
        """Return the line ``source:line:column: path: message; hint`` that editors can jump to."""
        place = f"{source}:{self.line}:{self.column}" if self.line else source
        return f"{place}: {self.path}: {self.text()}" if self.path else f"{place}: {self.text()}"


class GpuspecError(Exception):
    """The base of everything this project raises on purpose; carries one or more problems."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (
            (problems,) if isinstance(problems, Problem) else tuple(problems)
        )
        super().__init__("\n".join(problem.text() for problem in self.problems))


class SpecError(GpuspecError):
    """A resource key looks like a GPU Selection Spec and is none (semantics G1, G4)."""


class QuantityError(GpuspecError):
    """A text is no Kubernetes quantity, or no whole number of devices (semantics A1, A2)."""


class DurationError(GpuspecError):
    """A text is no duration such as ``30s``."""


class DocumentError(GpuspecError):
    """A YAML or JSON text cannot be read; all its problems have a line and a column."""


class TableError(GpuspecError):
    """A document breaks a load-time law of the selection table (design §3)."""
