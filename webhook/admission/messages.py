"""Problems as the texts that Kubernetes passes on, within its limits (semantics R4, R8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from selection_spec.errors import Problem
from webhook.terms import MAX_MESSAGE_BYTES, MAX_WARNING_CHARACTERS, MAX_WARNINGS


def denial(problems: Sequence[Problem]) -> str:
    """Return all problems, one line each, in at most 1,000 bytes; the rest is counted (R4).

    No problems make no text.
    """
    return bounded([problem.text() for problem in problems], MAX_MESSAGE_BYTES)


def bounded(texts: Sequence[str], limit: int) -> str:
    """Return texts, one line each, in at most so many bytes; the rest is counted."""
    if not texts:
        return ""
    lines = _that_fit(texts, limit)
    while lines:
        text = "\n".join(lines) + _rest(len(texts) - len(lines))
        if len(text.encode()) <= limit:
            return text
        lines.pop()
    more = _rest(len(texts) - 1)
    return _cut(one_line(texts[0]), limit - len(more.encode())) + more


def _that_fit(texts: Iterable[str], limit: int) -> list[str]:
    """Return the first lines that fit a message which has nothing else in it."""
    lines: list[str] = []
    size = -1
    for text in texts:
        line = one_line(text)
        size += 1 + len(line.encode())
        if size > limit:
            break
        lines.append(line)
    return lines


def _rest(count: int) -> str:
    return f"\n… and {count} more" if count else ""


def warnings(problems: Sequence[Problem]) -> list[str]:
    """Return the first five as texts of at most 120 characters (R8)."""
    texts = dict.fromkeys(one_line(problem.text()) for problem in problems)
    return [
        text if len(text) <= MAX_WARNING_CHARACTERS else text[: MAX_WARNING_CHARACTERS - 1] + "…"
        for text in list(texts)[:MAX_WARNINGS]
    ]


def one_line(text: str) -> str:
    """Fold what a user's own names bring in: line breaks, and what is not seen or cannot be sent.

    The text ends up on a terminal, where an escape character would be obeyed.
    """
    folded = " ".join(text.split())
    if folded.isprintable():
        return folded
    return "".join(character if character.isprintable() else "?" for character in folded)


def _cut(text: str, size: int) -> str:
    ellipsis = "…"
    kept = text.encode()[: size - len(ellipsis.encode())].decode(errors="ignore")
    return kept + ellipsis
