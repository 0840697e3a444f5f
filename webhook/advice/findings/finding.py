"""One thing that was found, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

from selection_spec.errors import Level
from webhook.advice.findings.rule import Rule


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something stands in a text; lines and columns are 1-based, 0 where none is known.

    Attributes:
        file: As it was named, with ``/`` between folders; ``<stdin>`` for standard input.
        line: The line of the text.
        column: Its character.
        end_column: The character behind what is meant, on the same line; 0 where that is not known.
        path: The field path in its document (``spec.template.spec.containers[0]``); "" for all.
        object: The object, as ``Deployment/train``; "" where there is none.
    """

    file: str
    line: int = 0
    column: int = 0
    end_column: int = 0
    path: str = ""
    object: str = ""


@dataclass(frozen=True, slots=True)
class Fix:
    """A change to a text that certainly mends a finding.

    Attributes:
        start: Offset in characters of the text at which it begins.
        end: Offset behind what is replaced.
        old: What stands there.
        text: What comes in its place.
        said: What it does, as an imperative sentence.
    """

    start: int
    end: int
    old: str
    text: str
    said: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes:
        rule: Of which rule it is.
        place: Where.
        message: What is wrong, naming object, field and value; that of admission where it is one.
        hint: What to do instead; "" where the message says it.
        level: How bad it is.
        semantics: The number of admission's rule (``G4``); "" where there is none.
        source: The line of the text, without its end; "" where there is none.
        fix: What mends it, where one change certainly does.
        suppressed: Why it is not to be told, in somebody's words; "" where it is told.
        template: From what Helm says it has rendered the document; "" where it says nothing.
    """

    rule: Rule
    place: Place
    message: str
    hint: str
    level: Level
    semantics: str = ""
    source: str = ""
    fix: Fix | None = None
    suppressed: str = ""
    template: str = ""

    @property
    def text(self) -> str:
        """Message and hint as one line."""
        return f"{self.message}; {self.hint}" if self.hint else self.message

    @property
    def origin(self) -> str:
        """The object and what it was rendered from, as far as they are known."""
        known = [f"in {self.place.object}"] if self.place.object else []
        known += [f"from {self.template}"] if self.template else []
        return ", ".join(known)
