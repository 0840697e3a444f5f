"""Where the report goes: one format to standard output, others to files."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from selection_spec.errors import Level
from webhook import __version__
from webhook.advice.findings.catalogue import RULES
from webhook.advice.findings.report import Report
from webhook.advice.formats import Format, render
from webhook.advice.formats.sarif import Tool
from webhook.cli.inputs import UnreadableError, called
from webhook.cli.outputs import styled
from webhook.cli.validate.repository import in_repository

LEVELS: Final = {one.value: one for one in Level}

_COLOURS: Final = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}
_IN_ORDER: Final = tuple(Level)

# Whoever reads these knows files by their places in the repository.
_FOR_REVIEWS: Final = (Format.GITHUB, Format.SARIF)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which formats were asked for, each with its file; "" for standard output."""

    formats: tuple[tuple[Format, str], ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Wanted:
        """Read what was asked for.

        Raises:
            click.UsageError: A format that is none, or two for one place.
        """
        found = []
        for text in texts or (Format.TEXT.value,):
            name, _, file = text.partition("=")
            if name not in list(Format):
                raise click.UsageError(
                    f"--format {text}: there is no {name}; there are {', '.join(Format)}"
                )
            found.append((Format(name), file))
        places = [file and os.path.realpath(file) for _, file in found]
        if twice := sorted({file for file in places if places.count(file) > 1}):
            where = ", ".join(file or "standard output" for file in twice)
            raise click.UsageError(
                f"--format: several for {where}; give each another file, as in sarif=out.sarif"
            )
        return cls(tuple(found))

    def spare(self, read: Iterable[str]) -> None:
        """Refuse to write a report over what is read.

        Raises:
            click.UsageError: A format's file is one of those.
        """
        inputs = set(map(os.path.realpath, read))
        for form, file in self.formats:
            if file and os.path.realpath(file) in inputs:
                raise click.UsageError(
                    f"--format {form}={called(file)}: the file is one of those to be judged; give "
                    "the report another"
                )

    @property
    def is_for_people(self) -> bool:
        """Whether what goes to standard output is for people to read."""
        return (Format.TEXT, "") in self.formats and sys.stderr.isatty()

    @staticmethod
    def at_least(level: Level) -> Collection[Level]:
        """Return the levels that are as bad as one, or worse."""
        return _IN_ORDER[: _IN_ORDER.index(level) + 1]


def write(report: Report, wanted: Wanted, *, fail_on: Level) -> None:
    """Write a report everywhere.

    Raises:
        UnreadableError: A file cannot be written.
    """
    tool = Tool(__version__, RULES)
    reviewed = in_repository(report)
    for form, file in wanted.formats:
        said = reviewed if form in _FOR_REVIEWS else report
        if file:
            text = render(said, form=form, tool=tool, fail_on=fail_on)
            try:
                Path(file).write_text(f"{text}\n" if text else "", encoding="utf-8")
            except OSError as error:
                raise UnreadableError(f"{called(file)}: {error.strerror or error}") from None
        elif text := render(said, form=form, tool=tool, fail_on=fail_on, colour=_coloured):
            click.echo(text)


def _coloured(level: Level, text: str) -> str:
    return styled(text, fg=_COLOURS[level], bold=True)
