"""``gpuspec health simulate``: a history, and what would have been done about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import click

from selection_spec.errors import GpuspecError
from selection_spec.health import HealthPolicy, Mode
from webhook.advice.health.replay import Replay
from webhook.advice.health.replica import Change, Event
from webhook.advice.health.timeline import Timeline
from webhook.advice.health.timeline_report import timeline_json, timeline_text
from webhook.advice.words import counted
from webhook.cli import SETTINGS
from webhook.cli.cluster import named_table, place_options
from webhook.cli.health.events import events_of, merged
from webhook.cli.health.overview import echo_value
from webhook.cli.inputs import read_bytes, refuse_second_reading, unreadable
from webhook.cli.outputs import output_option
from webhook.cli.saved import progress
from webhook.settings import ClusterPlace

_NO_PODS = (
    "there are no Pods in this history, so no eviction can be shown; record them the same "
    "way and name both files: --events nodes.events --events pods.events"
)
_TIMED = (
    "keep the managedFields of what was recorded, write at: 2026-06-01T12:00:00Z beside its type, "
    "or, where a person sets a condition, give that a lastTransitionTime"
)


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec health simulate --events nodes.events --table table.yaml
  gpuspec health simulate --events nodes.events --events pods.events --mode Evict
  gpuspec health simulate --events nodes.events --table cluster:default
  cat nodes.events | gpuspec health simulate --events -

\b
A history is what this prints, and for pods, resourceslices, resourceclaims,
devicetaintrules, jobs and daemonsets alike, a file each:
  kubectl get nodes -A -o json -w --output-watch-events > nodes.events
Every document may have a time of its own beside type and object:
  at: 2026-06-01T12:00:00Z
Without it the newest time counts that the object tells now and did not tell
before. A change that tells none counts as of the next moment that its file
tells, else as of the end of all files.

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
@click.option(
    "--table",
    "table_file",
    metavar="TABLE",
    help="A file, - for standard input, or cluster:NAME for a cluster's own.  [default: built-in]",
)
@place_options
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
    kubeconfig: Path | None,
    context: str | None,
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
    table = named_table(table_file, ClusterPlace(kubeconfig, context))
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
    for text in _notes(events):
        click.echo(f"note: {text}", err=True)


def _notes(events: Iterable[Event]) -> Iterator[str]:
    if not any(one.kind == "Pod" for one in events):
        yield _NO_PODS
    # What is deleted never tells when; it is gone a little later, which changes little.
    undated = [one for one in events if not (one.is_dated or one.change is Change.DELETED)]
    if undated:
        do = "does" if len(undated) == 1 else "do"
        yield (
            f"{counted(len(undated), 'change')} {do} not tell when (the first: {undated[0].name}): "
            f"as if it came with what follows in its file, or at the end; {_TIMED}"
        )


def _read(file: str) -> tuple[Event, ...]:
    try:
        return events_of(read_bytes(file))
    except GpuspecError as error:
        raise unreadable(file, error) from None


def _policy(policy: HealthPolicy, mode: str | None) -> HealthPolicy:
    return policy if mode is None else replace(policy, mode=Mode(mode), row_modes={})
