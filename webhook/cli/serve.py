"""``gpuspec serve``: the webhook."""

from __future__ import annotations

from pathlib import Path

import click

from webhook.cli import SETTINGS
from webhook.cli.cluster import place_options
from webhook.settings import (
    CertificateFiles,
    ClusterPlace,
    SelfSignedFolder,
    Settings,
    TableName,
    parse_address,
)
from webhook.wiring import CannotStartError
from webhook.wiring.serve import serve as run

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_SECONDS = click.FloatRange(min=0)
_SOME_SECONDS = click.FloatRange(min=0, min_open=True)


@click.command(context_settings=SETTINGS)
@click.option(
    "--listen",
    default="127.0.0.1:8443",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen; port 0 picks a free one, [::] is every address.",
)
@click.option(
    "--table",
    type=_FILE,
    metavar="FILE",
    help="The selection table; followed as it changes. [default: the built-in table]",
)
@click.option(
    "--table-name",
    metavar="NAME",
    help="The SelectionTable of the cluster instead; followed as it changes.",
)
@place_options
@click.option(
    "--tls-cert",
    type=_FILE,
    metavar="FILE",
    help="The serving certificate, PEM; followed as it changes.",
)
@click.option("--tls-key", type=_FILE, metavar="FILE", help="Its private key, PEM.")
@click.option(
    "--tls-self-signed",
    type=_FOLDER,
    metavar="DIR",
    help="Keep an authority and a certificate in DIR instead; clients trust DIR/ca.crt.",
)
@click.option(
    "--tls-name",
    multiple=True,
    metavar="NAME",
    help="A further name or address for --tls-self-signed; may be repeated.",
)
@click.option(
    "--drain-seconds",
    type=_SECONDS,
    default=5.0,
    show_default=True,
    help="How long to go on accepting connections after SIGTERM.",
)
@click.option(
    "--request-seconds",
    type=_SOME_SECONDS,
    default=10.0,
    show_default=True,
    help="How long a request may take to arrive.",
)
@click.option(
    "--poll-seconds",
    type=_SOME_SECONDS,
    default=1.0,
    show_default=True,
    help="How often to look at the files.",
)
def serve(
    *,
    listen: str,
    table: Path | None,
    table_name: str | None,
    kubeconfig: Path | None,
    context: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_self_signed: Path | None,
    tls_name: tuple[str, ...],
    drain_seconds: float,
    request_seconds: float,
    poll_seconds: float,
) -> None:
    """Serve the admission webhook over TLS.

    \b
    Try it on this machine:
      gpuspec serve --tls-self-signed /tmp/gpuspec
      curl --cacert /tmp/gpuspec/ca.crt https://localhost:8443/readyz

    \b
    In a cluster:
      gpuspec serve --listen [::]:8443 --table-name default
        --tls-cert /etc/tls/tls.crt --tls-key /etc/tls/tls.key

    A changed table or certificate is taken up while serving. One that is wrong is
    refused, with the reason in the log, in /metrics and in /readyz, and the one in
    use stays; a file that is wrong at the start ends the process with exit code 2.
    Where the cluster has no SelectionTable of the name, the built-in table serves.
    """  # noqa: D301 -- click wants the character
    try:
        address = parse_address(listen)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from error
    settings = Settings(
        listen=address,
        table=_table(table, table_name, ClusterPlace(kubeconfig, context)),
        tls=_tls(tls_cert, tls_key, tls_self_signed, tls_name),
        drain_s=drain_seconds,
        request_s=request_seconds,
        poll_s=poll_seconds,
    )
    try:
        run(settings, click.echo)
    except CannotStartError as error:
        problems = "".join(f"\n  {problem}" for problem in error.problems)
        click.echo(f"gpuspec serve cannot start:{problems}", err=True)
        raise click.exceptions.Exit(2) from error


def _table(file: Path | None, name: str | None, place: ClusterPlace) -> Path | TableName | None:
    if name is None:
        if place != ClusterPlace():
            raise click.UsageError("--kubeconfig and --context are for --table-name")
        return file
    if file is not None:
        raise click.UsageError("give either --table or --table-name")
    return TableName(name, place)


def _tls(
    certificate: Path | None, key: Path | None, folder: Path | None, names: tuple[str, ...]
) -> CertificateFiles | SelfSignedFolder:
    if folder is not None:
        if certificate is not None or key is not None:
            raise click.UsageError(
                "--tls-self-signed makes its own certificate; leave out --tls-cert and --tls-key"
            )
        return SelfSignedFolder(folder, names)
    if certificate is None or key is None:
        raise click.UsageError("give --tls-cert and --tls-key, or --tls-self-signed")
    if names:
        raise click.UsageError("--tls-name is for --tls-self-signed")
    return CertificateFiles(certificate, key)
