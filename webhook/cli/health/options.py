"""Options by which the verbs about health find an installation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from webhook.terms import DEFAULT_TABLE

_Function = TypeVar("_Function", bound=Callable[..., Any])


def installation_options(function: _Function) -> _Function:
    """Add ``--namespace`` and ``--table-name``."""
    function = click.option(
        "--table-name",
        default=DEFAULT_TABLE,
        show_default=True,
        metavar="NAME",
        help="The SelectionTable that the cluster is served by.",
    )(function)
    return click.option(
        "--namespace",
        default="gpuspec-system",
        show_default=True,
        metavar="NAME",
        help="Where gpuspec is installed.",
    )(function)
