"""What changes a cluster is agreed to by a person first."""

from __future__ import annotations

import sys

import click

from webhook.cli.inputs import UnreadableError


def require_agreement(question: str, *, is_agreed: bool, without: str, refused: str) -> None:
    """Ask, unless it was agreed to beforehand.

    Args:
        question: What is asked.
        is_agreed: Whether ``--yes`` was given.
        without: What ``--yes`` does without asking, as a word: ``removes``.
        refused: What is said when the answer is no.

    Raises:
        UnreadableError: Nobody can be asked, or the answer is no.
    """
    if is_agreed:
        return
    if not is_terminal():
        raise UnreadableError(f"nobody to ask: this is no terminal; --yes {without} without asking")
    if not click.confirm(question, err=True):
        raise UnreadableError(refused)


def is_terminal() -> bool:
    """Tell whether somebody can be asked."""
    return sys.stdin.isatty()
