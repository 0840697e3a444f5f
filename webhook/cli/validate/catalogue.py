"""``gpuspec validate --explain``: a rule's page, or the list of all rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from webhook.advice.findings.catalogue import BY_ID, RULES
from webhook.advice.words import wrapped

_Function = TypeVar("_Function", bound=Callable[..., Any])

_ALL: Final = "all"


def explain_option(function: _Function) -> _Function:
    """Add ``--explain``, which prints a page and ends."""
    return click.option(
        "--explain",
        metavar="RULE",
        is_eager=True,
        expose_value=False,
        callback=_explain,
        help="Print a rule's page, such as GS104; all lists the rules.",
    )(function)


def _explain(ctx: click.Context, _: click.Parameter, wanted: str | None) -> None:
    if wanted is None:
        return
    if wanted == _ALL:
        for rule in RULES:
            click.echo(f"{rule.id}  {rule.level:<7}  {rule.name}")
    elif rule_ := BY_ID.get(wanted.upper()):
        click.echo(_page(rule_.page))
    elif pages := [_page(one.page) for one in RULES if wanted.upper() in one.semantics]:
        click.echo("\n\n".join(pages))
    else:
        raise click.UsageError(f"there is no rule {wanted}; --explain all lists them")
    ctx.exit(0)


def _page(markdown: str) -> str:
    """Return a page with its paragraphs in lines of a terminal; examples stay as they are."""
    blocks = markdown.rstrip().split("\n\n")
    return "\n\n".join(one if one.startswith("```") else wrapped(one, "", "") for one in blocks)
