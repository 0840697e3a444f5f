"""``gpuspec validate --fix``: what one change certainly mends is changed where it stands."""

from __future__ import annotations

import codecs
from collections import defaultdict
from pathlib import Path

import click

from selection_spec.documents import Change, changed
from webhook.advice.findings.finding import Fix
from webhook.advice.findings.report import Report
from webhook.advice.formats.escapes import visible
from webhook.cli.edited_files import each, replace_file
from webhook.cli.inputs import STDIN, UnreadableError, called, shown


def fix_files(report: Report) -> int:
    """Change the files of a report; all else in them stays as it is, to the byte.

    Returns:
        How many changes were made; each is told on standard error.

    Raises:
        UnreadableError: Files cannot be written; all of them are named, and all others are mended.
    """
    by_file: dict[str, set[Fix]] = defaultdict(set)
    for finding in report.told:
        if finding.fix is not None:
            by_file[finding.place.file].add(finding.fix)
    by_file.pop(shown(STDIN), None)
    files = [file for file in sorted(by_file) if Path(file).is_file()]
    return sum(each(lambda file: _fix(Path(file), by_file[file]), files))


def _fix(file: Path, fixes: set[Fix]) -> int:
    try:
        raw = file.read_bytes()
        mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        text = _decoded(raw.removeprefix(mark))
        if any(text[one.start : one.end] != one.old for one in fixes):
            click.echo(f"note: {visible(str(file))} has changed meanwhile; run again", err=True)
            return 0
        mended = changed(text, (Change(one.start, one.end, one.text) for one in fixes))
        replace_file(file, mark + mended.encode())
    except OSError as error:
        raise UnreadableError(f"{called(str(file))}: {error.strerror or error}") from None
    for one in sorted(fixes, key=lambda fix: fix.start):
        click.echo(f"fixed: {visible(str(file))}: {one.said}", err=True)
    return len(fixes)


def _decoded(raw: bytes) -> str:
    """Return a file's text; "" where it is no longer in the encoding that it was judged in."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return ""
