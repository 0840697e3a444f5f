"""What the verbs read: tables and manifests, from files or standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from selection_spec.documents import Document, field_path, load_manifests
from selection_spec.errors import DocumentError, GpuspecError, Level, Problem
from selection_spec.table import Table, builtin_table, load_table
from webhook.admission.messages import one_line
from webhook.advice.findings.strays import strays
from webhook.advice.findings.views import views
from webhook.advice.formats.escapes import visible

STDIN = "-"
"""How people name standard input."""

# More than anybody mends in one go; a binary file by mistake has thousands.
_SHOWN_PROBLEMS = 50

_Function = TypeVar("_Function", bound=Callable[..., Any])


class UnreadableError(click.ClickException):
    """Input that cannot be read: every problem on standard error, exit status 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:  # noqa: ANN401 - click's signature
        """Print the problems as they are; they already say what and where."""
        click.echo(self.message, err=file is None, file=file)


def table_option(function: _Function) -> _Function:
    """Add ``--table``."""
    return click.option(
        "--table",
        "table_file",
        metavar="FILE",
        help="Selection table to judge by; - reads it from standard input.  [default: built-in]",
    )(function)


def priority_options(function: _Function) -> _Function:
    """Add ``--priority-class`` and ``--priority``."""
    function = click.option(
        "--priority", type=int, metavar="N", help="Priority of the Pod, as spec.priority."
    )(function)
    return click.option(
        "--priority-class", metavar="NAME", help="PriorityClass of the Pod, as it will be set."
    )(function)


def kueue_option(function: _Function) -> _Function:
    """Add ``--kueue``."""
    return click.option(
        "--kueue",
        is_flag=True,
        help="As in a namespace of Kueue's, where claims have no alternatives. A Pod's queue label "
        "says so by itself, and with --cluster its namespace does.",
    )(function)


def read_table(file: str | None) -> Table:
    """Return the table of a file, or the built-in one.

    Raises:
        UnreadableError: With every problem of the file.
    """
    if file is None:
        return builtin_table()
    try:
        return load_table(read_bytes(file))
    except GpuspecError as error:
        raise unreadable(file, error) from None


def read_manifests(file: str) -> tuple[Document, ...]:
    """Return the documents of a manifest as kubectl reads them; what is odd goes to stderr.

    Raises:
        UnreadableError: kubectl could not read it either, or apply it.
    """
    try:
        documents = load_manifests(read_bytes(file))
        _refuse_others_than_objects(documents)
    except GpuspecError as error:
        raise unreadable(file, error) from None
    for document in documents:
        for finding in document.findings:
            click.echo(one_line(f"warning: {finding.located(shown(file))}"), err=True)
    return documents


def warn_of_strays(documents: tuple[Document, ...], table: Table) -> None:
    """Point out keys of ours that stand where they do nothing (A8)."""
    for document in documents:
        for spot in strays(document.value, list(views(document.value)), table):
            if spot.rule.level is not Level.NOTE:
                text = f"warning: {field_path(spot.path)}: {spot.message}; {spot.hint}"
                click.echo(one_line(text), err=True)


def _refuse_others_than_objects(documents: tuple[Document, ...]) -> None:
    hint = "write a mapping with apiVersion and kind"
    problems = [
        Problem("this document is no Kubernetes object", hint=hint, line=line, column=column)
        for document in documents
        if not isinstance(document.value, dict)
        for line, column in (document.position(()),)
    ]
    if problems:
        raise DocumentError(problems)


def refuse_second_reading(*files: str | None) -> None:
    """Refuse ``-`` for more than one file.

    Raises:
        click.UsageError: Standard input is to be read twice.
    """
    if files.count(STDIN) > 1:
        raise click.UsageError("standard input can be read only once")


def read_bytes(file: str) -> bytes:
    """Return what is in a file, or on standard input for ``-``."""
    try:
        return sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        raise UnreadableError(f"{called(file)}: {error.strerror or error}") from None


def shown(file: str) -> str:
    """Return how messages call a file."""
    return "<stdin>" if file == STDIN else file


def called(file: str) -> str:
    """Return how errors call a file: a name that forges no lines and that no terminal obeys."""
    return visible(shown(file))


def unreadable(file: str, error: GpuspecError) -> UnreadableError:
    """Return an error's problems as what ends the command: a line each, not too many."""
    # Paths are made of keys, which may hold anything.
    lines = [visible(one.located(shown(file))) for one in error.problems]
    more = len(lines) - _SHOWN_PROBLEMS
    rest = [f"{called(file)}: and {more} more problems"] if more > 0 else []
    return UnreadableError("\n".join([*lines[:_SHOWN_PROBLEMS], *rest]))
