"""``gpuspec health resume``: rows go on that the breaker has stopped (H5)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.advice.health.foresight import coming
from webhook.advice.health.phrases import lasting
from webhook.advice.words import wrapped
from webhook.cli import SETTINGS
from webhook.cli.cluster import asked, place_options
from webhook.cli.health.agreement import require_agreement
from webhook.cli.health.looking import look
from webhook.cli.health.options import installation_options
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

Shows what the controller would do about these rows, and asks. What failed until
now does not stop them again; what fails from now on may. Look first whether the
sensor is right: gpuspec health.

Exit status: 0 fine, 2 wrong usage, a row is not stopped, it was not agreed to,
or no cluster answers.""",
)
@click.argument("rows", nargs=-1, metavar="[ROW]...")
@click.option("--all", "every", is_flag=True, help="All rows that are stopped.")
@click.option("--yes", "is_agreed", is_flag=True, help="Let them go on without asking.")
@installation_options
@place_options
def resume(
    rows: tuple[str, ...],
    namespace: str,
    table_name: str,
    kubeconfig: Path | None,
    context: str | None,
    *,
    every: bool,
    is_agreed: bool,
) -> None:
    """Let rows go on that the breaker has stopped.

    It stops a row where so much of it failed at once that the sensor is suspected. Nothing is done
    about that row until it is let go on; with two rows stopped, about any row.
    """
    if rows and every:
        raise click.UsageError("give either rows or --all")
    place = ClusterPlace(kubeconfig, context)
    with asked(place) as cluster:
        _, ledger = _read(cluster, namespace)
        if not ledger.breakers:
            click.echo("No row is stopped.")
            return
        _require_stopped(rows, ledger, every=every)
    # What stops while this is looked at was not asked about, and stays.
    chosen = tuple(sorted(rows or ledger.breakers))
    judged = look(place, namespace, table_name).judged
    click.echo(f"Once {' and '.join(chosen)} {'go' if len(chosen) > 1 else 'goes'} on:")
    for line in coming(judged, frozenset(chosen)):
        click.echo(wrapped(line, "  ", "    "))
    require_agreement(
        "Is the sensor right, and are they to go on?",
        is_agreed=is_agreed,
        without="lets them go on",
        refused="nothing was changed",
    )
    with asked(place) as cluster:
        before = _resume(cluster, namespace, chosen)
    for line in _said(before, chosen, judged.now):
        click.echo(line)


def _resume(cluster: Cluster, namespace: str, rows: tuple[str, ...]) -> Ledger:
    """Write the ledger with these rows going on; return it as it was before."""
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

    attempts = 0
    while True:
        attempts += 1
        found, ledger = _read(cluster, namespace)
        if not ledger.breakers:
            return ledger
        _require_stopped(rows, ledger, every=False)
        resumed = ledger.resume(frozenset(rows))
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
