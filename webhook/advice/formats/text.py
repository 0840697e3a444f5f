"""Findings for people: where, what, the line itself, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from selection_spec.errors import Level
from webhook.admission.messages import one_line
from webhook.advice.findings.finding import Finding, Place
from webhook.advice.findings.report import Report
from webhook.advice.formats.escapes import disarmed, visible
from webhook.advice.formats.source_line import marked
from webhook.advice.words import WIDTH, counted, wrapped

Colour = Callable[[Level, str], str]
"""Colours a text by how bad it is."""

_FURTHER: Final = " " * 4
_BESIDE_SOURCE: Final = "  | "
_BESIDE_ADVICE: Final = "  = "

# A line of a log that begins with it, whatever blanks are before it, is obeyed by GitHub Actions.
_COMMAND: Final = "::"
# Holds words together in a line; one_line has left none in the texts themselves.
_GLUE: Final = "\N{NO-BREAK SPACE}"


def plain(_: Level, text: str) -> str:
    """Leave a text without colour."""
    return text


def as_text(report: Report, colour: Colour = plain) -> str:
    """Return what is told, one finding after the other, and a line that sums up."""
    blocks = ["\n".join(finding_lines(one, colour)) for one in report.told]
    return disarmed("\n\n".join([*blocks, summary(report)]))


def finding_lines(one: Finding, colour: Colour = plain) -> Iterator[str]:
    """Yield a finding in lines of 80 columns; only long names are longer."""
    place, kind = where(one.place), f"{one.level} {one.rule.id}"
    head = f"{place}: {kind} "
    text = _wrapped(one.message, head).removeprefix(head)
    yield f"{place}: {colour(one.level, kind)} {text}"
    if one.source.strip():
        yield from _source(one, colour)
    if one.hint.strip():
        yield _wrapped(one.hint, f"{_BESIDE_ADVICE}help: ")
    about = [one_line(one.origin)] if one.origin else []
    about += [f"by admission's rule {one.semantics}"] if one.semantics else []
    if about:
        yield _wrapped(", ".join(about), _BESIDE_ADVICE)
    if one.fix:
        yield _wrapped(f"{one.fix.said.rstrip('. ')}; --fix applies it", f"{_BESIDE_ADVICE}fix: ")


def where(place: Place) -> str:
    """Return ``file:line:column`` as far as it is known, for editors to jump to."""
    file = visible(place.file)
    if file.lstrip().startswith(_COMMAND):
        file = f"./{file}"
    known = (place.line, place.column) if place.line else ()
    return ":".join([file, *(str(number) for number in known if number)])


def summary(report: Report) -> str:
    """Return what was found in how much, as one line."""
    counts = report.counts()
    found = ", ".join(counted(counts[level], level.value) for level in Level if counts[level])
    suppressed = len(report.findings) - len(report.told)
    return (
        f"{found or 'nothing found'} in {counted(report.files, 'file')}"
        + (f", {suppressed} suppressed" if suppressed else "")
        + f" ({counted(report.pods, 'Pod')} judged by {one_line(report.table)})"
    )


def _source(one: Finding, colour: Colour) -> Iterator[str]:
    place = one.place
    shown = marked(one.source, place.column, place.end_column, WIDTH - len(_BESIDE_SOURCE))
    yield _BESIDE_SOURCE + shown.line
    if shown.mark:
        yield _BESIDE_SOURCE + shown.blank + colour(one.level, shown.mark)


def _wrapped(text: str, head: str) -> str:
    """Wrap a text so that no word of a manifest begins a line which a CI would obey."""
    glued = one_line(text).replace(f" {_COMMAND}", f"{_GLUE}{_COMMAND}")
    return wrapped(glued, head, _FURTHER).replace(_GLUE, " ")
