"""``gpuspec health resume``: rows go on that the breaker has stopped (H5)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.advice.health.phrases import lasting
from webhook.cli import SETTINGS
from webhook.cli.cluster import asked, place_options
from webhook.cli.health.options import namespace_option
from webhook.cli.health.reading import ledger_path, ledger_text_of
from webhook.cli.inputs import UnreadableError
from webhook.health.breaker import Breakers
from webhook.health.ledger import Ledger
from webhook.health.stored_ledger import ledger_of, ledger_text
from webhook.inventory.facts import Json, mapping
from webhook.settings import ClusterPlace
from webhook.terms import HEALTH_OBJECT, LEDGER_FIELD

if TYPE_CHECKING:
    from webhook.kube.cluster import Cluster

# The controller may write between reading and writing, but not so often in a row.
_ATTEMPTS = 5


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec health resume a100-80gb
  gpuspec health resume --all

What failed until now does not stop these rows again; what fails from now on
may. See first what gpuspec health says of them.

Exit status: 0 fine, 2 wrong usage, a row is not stopped, or no cluster answers.""",
)
@click.argument("rows", nargs=-1, metavar="[ROW]...")
@click.option("--all", "every", is_flag=True, help="All rows that are stopped.")
@namespace_option
@place_options
def resume(
    rows: tuple[str, ...],
    namespace: str,
    kubeconfig: Path | None,
    context: str | None,
    *,
    every: bool,
) -> None:
    """Let rows go on that the breaker has stopped.

    It stops a row where so much of it failed at once that the sensor is suspected. Nothing is done
    about that row until it is let go on; with two rows stopped, about any row.
    """
    if rows and every:
        raise click.UsageError("give either rows or --all")
    with asked(ClusterPlace(kubeconfig, context)) as cluster:
        before = _resume(cluster, namespace, rows, every=every)
    for line in _said(before, rows or tuple(before.breakers), time.time()):
        click.echo(line)


def _resume(cluster: Cluster, namespace: str, rows: tuple[str, ...], *, every: bool) -> Ledger:
    """Write the ledger with these rows going on; return it as it was before."""
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

    attempts = 0
    while True:
        attempts += 1
        found, ledger = _read(cluster, namespace)
        if not ledger.breakers:
            return ledger
        _require_stopped(rows, ledger, every=every)
        resumed = ledger.resume(frozenset(rows) or None)
        data = {**mapping(found.get("data")), LEDGER_FIELD: ledger_text(resumed)}
        try:
            # With the version that was just read: whoever has written since makes this fail.
            cluster.replace(ledger_path(namespace), {**found, "data": data})
        except ApiError as error:
            if not error.is_conflict or attempts == _ATTEMPTS:
                raise
        else:
            return ledger


def _read(cluster: Cluster, namespace: str) -> tuple[Json, Ledger]:
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

    try:
        found = cluster.get(ledger_path(namespace))
    except ApiError as error:
        if not error.is_not_found:
            raise
        return {}, Ledger()
    text = ledger_text_of(found)
    ledger = ledger_of(text) if text else Ledger()
    if ledger is None:
        raise UnreadableError(
            f"ConfigMap {namespace}/{HEALTH_OBJECT}: {LEDGER_FIELD} cannot be read; the controller "
            "writes it again as it knows it, and starts afresh where it was not running"
        )
    return found, ledger


def _require_stopped(rows: tuple[str, ...], ledger: Ledger, *, every: bool) -> None:
    stopped = ", ".join(sorted(ledger.breakers))
    unknown = sorted({*rows} - ledger.breakers.keys())
    if unknown:
        is_not = "is not stopped" if len(unknown) == 1 else "are not stopped"
        raise click.UsageError(f"{', '.join(unknown)} {is_not}; these are: {stopped}")
    if not rows and not every:
        raise click.UsageError(f"name the rows that are to go on, or --all; stopped: {stopped}")


def _said(before: Ledger, rows: tuple[str, ...], now: float) -> list[str]:
    if not before.breakers:
        return ["No row is stopped."]
    lines = [
        f"{row} goes on; it was stopped for {lasting(now - before.breakers[row])}"
        for row in sorted({*rows})
    ]
    left = {row: at for row, at in before.breakers.items() if row not in rows}
    if left:
        stops = (
            "still stopped, and so is every row" if Breakers(left).stops_all else "still stopped"
        )
        lines.append(f"{stops}: {', '.join(sorted(left))}")
    return lines
