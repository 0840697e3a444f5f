"""A rule that a finding is of: its id, how bad it is, and its page."""

from __future__ import annotations

from dataclasses import dataclass

from selection_spec.errors import Level


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding; its id is never used again for another one.

    Attributes:
        id: ``GS`` and three digits.
        name: A short name in words, for lists and SARIF: ``misspelt-spec``.
        level: How bad a finding of it is unless it says otherwise itself.
        title: What is wrong, as one sentence without names.
        why: Why that is wrong and what comes of it, some sentences.
        wrong: A manifest's lines that have it; "" where none would show it.
        right: The same lines, mended.
        semantics: The numbers of the rules of admission that it stands for (``G4``); () of others.
    """

    id: str
    name: str
    level: Level
    title: str
    why: str
    wrong: str = ""
    right: str = ""
    semantics: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        """All that is known of it, as Markdown."""
        parts = [f"# {self.id} {self.name} ({self.level})", self.title, self.why]
        if self.wrong:
            parts += ["Wrong:", _block(self.wrong)]
        if self.right:
            parts += ["Right:", _block(self.right)]
        if self.semantics:
            numbers = ", ".join(self.semantics)
            rules = "rule" if len(self.semantics) == 1 else "rules"
            parts.append(f"Admission refuses or tells the same by its {rules} {numbers}.")
        return "\n\n".join(parts) + "\n"


def _block(lines: str) -> str:
    return f"```yaml\n{lines}\n```"
