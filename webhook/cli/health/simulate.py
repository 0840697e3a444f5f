"""``gpuspec health simulate``: a history, and what would have been done about it."""

from __future__ import annotations

from dataclasses import replace

import click

from selection_spec.errors import GpuspecError
from selection_spec.health import HealthPolicy, Mode
from webhook.advice.health.replay import Replay
from webhook.advice.health.replica import Event
from webhook.advice.health.timeline import Timeline
from webhook.advice.health.timeline_report import timeline_json, timeline_text
from webhook.cli import SETTINGS
from webhook.cli.health.events import events_of, merged
from webhook.cli.health.overview import echo_value
from webhook.cli.inputs import (
    read_bytes,
    read_table,
    refuse_second_reading,
    table_option,
    unreadable,
)
from webhook.cli.outputs import output_option
from webhook.cli.saved import progress

_NO_PODS = (
    "note: there are no Pods in this history, so no eviction can be shown; record them the same "
    "way and name both files: --events nodes.events --events pods.events"
)


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec health simulate --events nodes.events --table table.yaml
  gpuspec health simulate --events nodes.events --mode Evict
  cat nodes.events | gpuspec health simulate --events -

\b
A history is what this prints, and for pods, resourceslices, resourceclaims,
devicetaintrules, jobs and daemonsets alike, a file each:
  kubectl get nodes -A -o json -w --output-watch-events > nodes.events
Every document may have a time of its own beside type and object:
  at: 2026-06-01T12:00:00Z
Without it the newest time that the object tells counts, if that is not before
the event before it, else the time of that one.

What is placed and whom it evicts takes effect in the simulated cluster; nothing
replaces the Pods that leave. Marks of ours in the history are left out.

Exit status: 0 fine, 2 wrong usage or unreadable input.""",
)
@click.option(
    "--events",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    help="The history; - reads it from standard input. May be repeated.",
)
@table_option
@click.option(
    "--mode",
    type=click.Choice([one.value for one in Mode]),
    help="Try this mode for all rows.  [default: the table's]",
)
@click.option(
    "--no-device-rules",
    is_flag=True,
    help="As where Kubernetes serves no DeviceTaintRules.",
)
@output_option("text", "json", "yaml")
def simulate(
    files: tuple[str, ...],
    table_file: str | None,
    mode: str | None,
    output: str,
    *,
    no_device_rules: bool,
) -> None:
    """Replay a history, and show what would have been done.

    Every signal goes through the same judgement as in the controller, with the settings of the
    table; between two events, and for an hour after the last one, time goes on while anything is
    not healthy.
    """
    refuse_second_reading(table_file, *files)
    table = read_table(table_file)
    policy = _policy(table.health, mode)
    events = merged(_read(file) for file in files)
    timeline = Timeline()
    replay = Replay(table, policy, has_rules=not no_device_rules)
    with progress(replay.judgements(events), "Replaying") as bar:
        for judgement in bar:
            timeline.add(judgement)
    if output == "text":
        click.echo(timeline_text(timeline, policy, len(events)))
    else:
        echo_value(timeline_json(timeline, policy, len(events)), output)
    if not any(one.kind == "Pod" for one in events):
        click.echo(_NO_PODS, err=True)


def _read(file: str) -> tuple[Event, ...]:
    try:
        return events_of(read_bytes(file))
    except GpuspecError as error:
        raise unreadable(file, error) from None


def _policy(policy: HealthPolicy, mode: str | None) -> HealthPolicy:
    return policy if mode is None else replace(policy, mode=Mode(mode), row_modes={})
