"""Problems as the texts that Kubernetes passes on, within its limits (semantics R4, R8)."""

from __future__ import annotations

from collections.abc import Sequence

from selection_spec.errors import Problem
from webhook.terms import MAX_MESSAGE_BYTES, MAX_WARNING_CHARACTERS, MAX_WARNINGS


def denial(problems: Sequence[Problem]) -> str:
    """Return all problems, one line each, in at most 1,000 bytes; the rest is counted (R4).

    No problems make no text.
    """
    if not problems:
        return ""
    lines = [_one_line(problem.text()) for problem in problems]
    for shown in range(len(lines), 0, -1):
        rest = len(lines) - shown
        text = "\n".join([*lines[:shown], *([f"… and {rest} more"] if rest else [])])
        if len(text.encode()) <= MAX_MESSAGE_BYTES:
            return text
    rest = len(lines) - 1
    more = f"\n… and {rest} more" if rest else ""
    return _cut(lines[0], MAX_MESSAGE_BYTES - len(more.encode())) + more


def warnings(problems: Sequence[Problem]) -> list[str]:
    """Return the first five as texts of at most 120 characters (R8)."""
    texts = dict.fromkeys(_one_line(problem.text()) for problem in problems)
    return [
        text if len(text) <= MAX_WARNING_CHARACTERS else text[: MAX_WARNING_CHARACTERS - 1] + "…"
        for text in list(texts)[:MAX_WARNINGS]
    ]


def _one_line(text: str) -> str:
    """Fold what a user's own names bring in: line breaks and what UTF-8 cannot hold."""
    return " ".join(text.split()).encode(errors="replace").decode()


def _cut(text: str, size: int) -> str:
    ellipsis = "…"
    kept = text.encode()[: size - len(ellipsis.encode())].decode(errors="ignore")
    return kept + ellipsis
