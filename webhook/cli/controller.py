"""``gpuspec controller``: the loops that keep a cluster right."""

from __future__ import annotations

import socket
from pathlib import Path

import click

from webhook.cli import SETTINGS
from webhook.cli.cluster import place_options
from webhook.settings import ClusterPlace, ControllerSettings, parse_address
from webhook.terms import DEFAULT_TABLE
from webhook.wiring import CannotStartError


@click.command(context_settings=SETTINGS)
@click.option(
    "--namespace",
    default="gpuspec-system",
    show_default=True,
    metavar="NAME",
    help="Where gpuspec is installed: the lease and the certificate are there.",
)
@click.option(
    "--identity",
    metavar="NAME",
    help="Its name among the replicas.  [default: the host's, which is the Pod's]",
)
@click.option(
    "--table-name",
    default=DEFAULT_TABLE,
    show_default=True,
    metavar="NAME",
    help="The SelectionTable that the webhook serves.",
)
@click.option(
    "--listen",
    default="127.0.0.1:8080",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to serve /metrics and /healthz, without TLS.",
)
@click.option(
    "--certificates/--no-certificates",
    default=True,
    show_default=True,
    help="Whether to issue the webhook's certificate and keep it trusted.",
)
@click.option(
    "--template-grace-seconds",
    type=click.FloatRange(min=1.0),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to keep a ResourceClaimTemplate of ours that no Pod names.",
)
@place_options
def controller(
    *,
    namespace: str,
    identity: str | None,
    table_name: str,
    listen: str,
    certificates: bool,
    template_grace_seconds: float,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Run the loops that keep a cluster right.

    Table status, the reserve switch, templates of claims, certificates. Several
    replicas may run: one of them acts, by a lease, and another takes over when it
    is gone.

    \b
    Try it on the cluster of the kubeconfig:
      gpuspec controller --namespace default --no-certificates

    \b
    In a cluster:
      gpuspec controller --listen [::]:8080
    """  # noqa: D301 -- click wants the character
    # The client of the API server takes a second to import.
    from webhook.wiring.controller import control  # noqa: PLC0415

    try:
        address = parse_address(listen)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from error
    settings = ControllerSettings(
        place=ClusterPlace(kubeconfig, context),
        namespace=namespace,
        identity=identity or socket.gethostname(),
        table_name=table_name,
        listen=address,
        certificates=certificates,
        template_grace_s=template_grace_seconds,
    )
    try:
        control(settings)
    except CannotStartError as error:
        problems = "".join(f"\n  {problem}" for problem in error.problems)
        click.echo(f"gpuspec controller cannot start:{problems}", err=True)
        raise click.exceptions.Exit(2) from error
