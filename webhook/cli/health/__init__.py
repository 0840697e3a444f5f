"""``gpuspec health``: verdicts of a cluster; a module a sub-command, imported when it is called."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from webhook.cli import SETTINGS, Verbs
from webhook.cli.cluster import place_options
from webhook.cli.health.options import installation_options
from webhook.cli.outputs import output_option

_VERBS = {
    "clear": "Remove the marks of ours that are left on nodes and devices.",
    "explain": "Explain what is known of a node, or what would become of a Pod.",
    "resume": "Let rows go on that the breaker has stopped.",
    "simulate": "Replay a history, and show what would have been done.",
}


@click.command(
    cls=Verbs,
    package=__name__,
    verbs=_VERBS,
    invoke_without_command=True,
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec health
  gpuspec health --all
  gpuspec health -o json

Nothing is changed. What could not be looked at is named on standard error.

Exit status: 0 nothing has failed, 1 a node or device has failed, or a breaker
has stopped a row, 2 wrong usage, or no cluster answers.""",
)
@installation_options
@place_options
@click.option("--all", "show_all", is_flag=True, help="Tell of each by itself, however alike.")
@output_option("text", "json", "yaml")
@click.pass_context
def health(
    ctx: click.Context,
    namespace: str,
    table_name: str,
    kubeconfig: Path | None,
    context: str | None,
    output: str,
    *,
    show_all: bool,
) -> None:
    """Show the nodes and devices that are not healthy, and what is done about it.

    First the rows that the breaker has stopped. Then for each the verdict, the evidence, what was
    done and what would be, and what holds that back; those that are alike are told of together.
    Last what was evicted lately, and what is left of the budget.
    """
    if ctx.invoked_subcommand is not None:
        _refuse_options(ctx, ctx.invoked_subcommand)
        return
    # Whoever wants help, or a sub-command, does not wait for what this imports.
    from webhook.cli.health.overview import overview  # noqa: PLC0415
    from webhook.settings import ClusterPlace  # noqa: PLC0415

    place = ClusterPlace(kubeconfig, context)
    ctx.exit(overview(place, namespace, table_name, output, show_all=show_all))


def _refuse_options(ctx: click.Context, verb: str) -> None:
    """Refuse options before a sub-command: it has its own, and would not see them."""
    given = [
        parameter.opts[-1]
        for parameter in ctx.command.params
        if ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"put {', '.join(given)} behind {verb}: gpuspec health {verb} …")
