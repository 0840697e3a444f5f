"""``gpuspec health`` itself: all that is not healthy in a cluster."""

from __future__ import annotations

import click

from webhook.advice.health.health_json import as_json
from webhook.advice.health.listing import listing, summary
from webhook.cli.health.looking import look
from webhook.cli.outputs import json_text, styled, yaml_text
from webhook.health.cases import Verdict
from webhook.settings import ClusterPlace

_COLOURS = {
    Verdict.HEALTHY: "green",
    Verdict.SUSPECT: "yellow",
    Verdict.FAILED: "red",
    Verdict.UNKNOWN: "cyan",
}


def overview(
    place: ClusterPlace, namespace: str, table_name: str, output: str, *, show_all: bool
) -> int:
    """Print the report and return the exit status."""
    judged = look(place, namespace, table_name).judged
    if output == "text":
        click.echo(listing(judged, coloured, show_all=show_all))
        click.echo(f"\n{summary(judged)}")
    else:
        echo_value(as_json(judged), output)
    return 1 if judged.is_bad else 0


def echo_value(value: object, output: str) -> None:
    """Print a value as JSON or YAML."""
    click.echo(json_text(value) if output == "json" else yaml_text([value]), nl=output == "json")


def coloured(verdict: Verdict, text: str) -> str:
    """Return a text in its verdict's colour, where that is wanted."""
    return styled(text, fg=_COLOURS[verdict])
