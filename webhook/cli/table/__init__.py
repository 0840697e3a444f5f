"""``gpuspec table``: the admin's side, a module a sub-command, imported when it is called."""

from __future__ import annotations

import click

from webhook.cli import SETTINGS, Verbs

_VERBS = {
    "diff": "Compare two selection tables by what they mean.",
    "generate": "Write a selection table for the GPUs that a cluster has.",
    "lint": "Find what is wrong with selection tables, and what is doubtful.",
    "show": "Show a selection table, and who gets what of it.",
}


@click.command(
    cls=Verbs,
    package=__name__,
    verbs=_VERBS,
    context_settings=SETTINGS,
    epilog="Start with: gpuspec table show",
)
def table() -> None:
    """Check, show, make and compare selection tables.

    A selection table says which devices a cluster has and how Pods get at them. It is the same
    document as a file and as a SelectionTable of a cluster.
    """
