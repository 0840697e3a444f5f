"""``gpuspec table lint``: everything that is wrong with a table, and what is only doubtful."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from selection_spec.catalog import default_table_text
from selection_spec.errors import GpuspecError, Level, Problem
from selection_spec.schema import DEFAULT_DOMAIN
from selection_spec.table import Table, load_table, located_in, smells_in
from webhook.advice.fit import Finding, other_domain, unknown_classes, unmatched, waiting
from webhook.cli import SETTINGS
from webhook.cli.cluster import asked, cluster_option, raw_table, table_in_use
from webhook.cli.inputs import read_bytes, refuse_second_reading, shown
from webhook.cli.outputs import json_text, output_option, styled
from webhook.cli.table.live import DAEMON_SETS, NODES, holding_pods, if_allowed, names_of, offers_of
from webhook.cli.table.selectors import of_devices
from webhook.inventory.claims import Offered
from webhook.inventory.daemon_facts import DaemonFacts, daemon_facts
from webhook.inventory.facts import NodeFacts, mapping, node_facts
from webhook.inventory.pod_facts import PodFacts
from webhook.inventory.status import table_status
from webhook.inventory.table_object import table_text
from webhook.settings import ClusterPlace
from webhook.terms import PRIORITY_CLASSES_PATH, TABLE_KIND, TABLES_PATH

_FAILING = {"error": {Level.ERROR}, "warning": {Level.ERROR, Level.WARNING}}
_COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}


@dataclass(frozen=True, slots=True)
class _Source:
    """A table to look at: what messages call it, its text, and whether anybody has seen that."""

    name: str
    text: bytes
    is_file: bool = True


@dataclass(frozen=True, slots=True)
class _Live:
    """What a cluster has that tables are held against.

    Attributes:
        classes: Its PriorityClasses; None where they may not be read.
        offers: What its DRA drivers offer; None where that may not be read.
        domains: The resourceDomain of each of its tables, by name.
    """

    nodes: Sequence[NodeFacts]
    daemons: Sequence[DaemonFacts]
    classes: Sequence[str] | None
    offers: Offered | None
    pods: Sequence[PodFacts]
    domains: Mapping[str, str]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec table lint table.yaml
  gpuspec table lint tables/*.yaml --fail-on warning
  gpuspec table lint table.yaml --cluster    also against the nodes there are
  gpuspec table lint --cluster               the table in use there
  kubectl get selectiontable default -o yaml | gpuspec table lint -

Errors: what the API server would refuse to store, or to make a claim with, and
with --cluster what does not work on the nodes and devices there are. Warnings:
what is legal but probably not meant. Notes: what is good to know of a table as
it is. Warnings, notes and nodes are looked at where the table could be stored.

Exit status: 0 fine, 1 something at or above --fail-on, 2 wrong usage, a file
that cannot be opened or a cluster that does not answer.""",
)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@cluster_option
@click.option(
    "--fail-on",
    type=click.Choice(list(_FAILING)),
    default="error",
    show_default=True,
    help="What makes the exit status 1.",
)
@output_option("text", "json")
@click.pass_context
def lint(
    ctx: click.Context,
    files: tuple[str, ...],
    *,
    use_cluster: bool,
    kubeconfig: Path | None,
    context: str | None,
    fail_on: str,
    output: str,
) -> None:
    """Find what is wrong with selection tables, and what is doubtful.

    Each finding has file, line and column, and says what to write instead.
    """
    if not files and not use_cluster:
        raise click.UsageError("give a FILE, or --cluster")
    refuse_second_reading(*files)
    sources = [_Source(shown(file), read_bytes(file)) for file in files]
    live = None
    if use_cluster:
        place = ClusterPlace(kubeconfig, context)
        sources = sources or [_in_use(place)]
        live = _live(place, with_claims=any(map(_has_claims, sources)))
    found = [(source.name, problem) for source in sources for problem in _findings(source, live)]
    _show(found, output, tables=len(sources))
    failing = _FAILING[fail_on]
    ctx.exit(1 if any(problem.level in failing for _, problem in found) else 0)


def _in_use(place: ClusterPlace) -> _Source:
    """Return the table that serves in a cluster, its own or the built-in one."""
    name = table_in_use()
    with asked(place) as cluster:
        raw = raw_table(cluster, name)
    if raw is None:
        return _Source("built-in table", default_table_text(), is_file=False)
    return _Source(f"{TABLE_KIND} {name}", table_text(raw), is_file=False)


def _has_claims(source: _Source) -> bool:
    try:
        return any(row.claim is not None for row in load_table(source.text).rows)
    except GpuspecError:
        return False  # which is said of it elsewhere


def _live(place: ClusterPlace, *, with_claims: bool) -> _Live:
    with asked(place) as cluster:
        nodes = [node_facts(node) for node in cluster.items(NODES)]
        daemons = if_allowed(cluster, DAEMON_SETS, "what a reserve waits for")
        classes = if_allowed(cluster, PRIORITY_CLASSES_PATH, "whether the table's classes exist")
        offers = offers_of(cluster) if with_claims else None
        pods = holding_pods(cluster) if with_claims else ()
        tables = if_allowed(cluster, TABLES_PATH, "whether resourceDomain stays as it is")
    return _Live(
        nodes=nodes,
        offers=offers,
        pods=pods,
        daemons=[daemon_facts(one) for one in daemons or ()],
        classes=None if classes is None else names_of(classes),
        domains={
            one["metadata"]["name"]: mapping(one.get("spec")).get("resourceDomain", DEFAULT_DOMAIN)
            for one in tables or ()
        },
    )


def _findings(source: _Source, live: _Live | None) -> Iterator[Problem]:
    try:
        found = smells_in(source.text)
    except GpuspecError as error:
        found, live = error.problems, None
    if live is not None:
        found += located_in(source.text, _on_cluster(load_table(source.text), live))
    certain = {(problem.path, problem.message) for problem in found if _fails(problem)}
    for problem in found:
        if not _fails(problem) and (problem.path, problem.message) in certain:
            continue  # a suspicion that devices confirm
        yield problem if source.is_file else replace(problem, line=0, column=0)


def _on_cluster(table: Table, live: _Live) -> Iterator[Finding]:
    """Yield what does not work in a cluster."""
    status = table_status(table, live.nodes, live.pods, live.offers)
    for counts in status.rows:
        for problem in counts.problems:
            message = f"{counts.row.id}: {problem.message}"
            yield ("devices", counts.row.id), replace(problem, message=message)
    yield from waiting(table, live.nodes, live.daemons)
    yield from unmatched(status.unmatched)
    if live.offers is not None:
        yield from of_devices(table, live.offers.slices)
    if live.classes is not None:
        yield from unknown_classes(table, live.classes)
    if table.name in live.domains:
        yield from other_domain(table, live.domains[table.name])


def _fails(problem: Problem) -> bool:
    return problem.level is Level.ERROR


def _show(found: Sequence[tuple[str, Problem]], output: str, tables: int) -> None:
    if output == "json":
        click.echo(json_text([_as_json(source, problem) for source, problem in found]))
        return
    for source, problem in found:
        click.echo(_as_text(source, problem))
    levels = [problem.level for _, problem in found]
    errors, warnings = levels.count(Level.ERROR), levels.count(Level.WARNING)
    counts = f"{_many(errors, 'error')}, {_many(warnings, 'warning')}"
    if notes := levels.count(Level.NOTE):
        counts += f", {_many(notes, 'note')}"
    click.echo(f"{_many(tables, 'table')}: {counts}", err=True)


def _as_text(source: str, problem: Problem) -> str:
    """Return ``file:line:col: level: path: message; hint``, which editors can jump to."""
    place = f"{source}:{problem.line}:{problem.column}" if problem.line else source
    level = styled(problem.level, fg=_COLOURS[problem.level])
    path = f"{problem.path}: " if problem.path else ""
    return f"{place}: {level}: {path}{problem.text()}"


def _as_json(source: str, problem: Problem) -> dict[str, Any]:
    return {
        "file": source,
        "line": problem.line,
        "column": problem.column,
        "level": problem.level.value,
        "path": problem.path,
        "message": problem.message,
        "hint": problem.hint,
        "rule": problem.rule,
    }


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
