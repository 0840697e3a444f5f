"""``gpuspec table diff``: what the step from one table to another means, and for whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import click

from selection_spec.errors import Level
from selection_spec.table import Table
from webhook.admission.translate import Context
from webhook.advice.asks import asks_that_matter
from webhook.advice.diff import Diff, ManifestChange, NodesReport
from webhook.advice.diff_json import as_json
from webhook.advice.diff_nodes import Grounds
from webhook.advice.diff_text import as_text
from webhook.advice.fit import waiting
from webhook.advice.moves import Present, moves
from webhook.advice.pod_changes import PodJudge
from webhook.advice.row_changes import table_changes
from webhook.advice.spec_changes import Known, spec_changes
from webhook.cli import SETTINGS
from webhook.cli.cluster import cluster_option, named_table
from webhook.cli.inputs import read_manifests, refuse_second_reading
from webhook.cli.outputs import json_text, output_option
from webhook.cli.saved import progress
from webhook.cli.table.diff_live import Files, Live, judge_of, of_cluster, of_files
from webhook.inventory.broken import broken_rows
from webhook.jsonpatch import pointer
from webhook.settings import ClusterPlace
from webhook.workloads import pod_templates

Json = dict[str, Any]

_FAILING = {
    "error": frozenset({Level.ERROR}),
    "warning": frozenset({Level.ERROR, Level.WARNING}),
    "never": frozenset[Level](),
}


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec table diff old.yaml new.yaml
  gpuspec table diff cluster:default new.yaml --cluster
  gpuspec table diff old.yaml new.yaml --nodes nodes.json --pods pods.json
  gpuspec table diff old.yaml new.yaml -f job.yaml --fail-on warning

\b
Errors:   a spec that had devices has none; where nodes are known: a spec that
          nodes could serve finds none; a Pod would be denied, or find no node
          that has what it would get; a row goes to claims that get nothing; a
          claim has a selector that is refused, or fails on devices.
Warnings: a spec loses devices; where nodes are known: some nodes; a Pod would
          start on another kind of node; a reserve has to wait; a row goes to
          claims or back, and its devices are given out otherwise, too, or
          somebody still holds them.

Exit status: 0 fine, 1 something at or above --fail-on, 2 wrong usage or
unreadable input.""",
)
@click.argument("old_file", metavar="OLD")
@click.argument("new_file", metavar="NEW")
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="MANIFEST",
    help="Judge a manifest's Pod templates by both tables, too. May be repeated.",
)
@click.option(
    "--pods",
    "pods_file",
    metavar="FILE",
    help="Judge the Pods of: kubectl get pods -A -o json",
)
@click.option(
    "--nodes",
    "nodes_file",
    metavar="FILE",
    help="Count nodes, and see where Pods run: kubectl get nodes -o json",
)
@click.option(
    "--slices",
    "slices_file",
    metavar="FILE",
    help="See what claims recognise: kubectl get resourceslices -o json",
)
@click.option(
    "--claims",
    "claims_file",
    metavar="FILE",
    help="See what claims hold: kubectl get resourceclaims -A -o json",
)
@cluster_option
@click.option(
    "--fail-on",
    type=click.Choice(list(_FAILING)),
    default="error",
    show_default=True,
    help="From which level on to exit with 1.",
)
@output_option("text", "json")
@click.option("--all", "show_all", is_flag=True, help="Leave nothing out of long lists.")
@click.pass_context
def diff(
    ctx: click.Context,
    old_file: str,
    new_file: str,
    filenames: tuple[str, ...],
    pods_file: str | None,
    nodes_file: str | None,
    slices_file: str | None,
    claims_file: str | None,
    kubeconfig: Path | None,
    context: str | None,
    fail_on: str,
    output: str,
    *,
    use_cluster: bool,
    show_all: bool,
) -> None:
    """Compare two selection tables by what they mean.

    OLD and NEW are files, - for standard input, or cluster:NAME for a cluster's own. Shown are
    the rows that changed, what it means that some are taken by claims from now on, the specs that
    gain or lose devices, and, with --cluster or saved nodes and Pods, which specs lose their nodes,
    and whose Pods would be denied, moved or admitted otherwise if they were created again.
    """
    files = Files(nodes_file, pods_file, slices_file, claims_file)
    refuse_second_reading(old_file, new_file, *astuple(files), *filenames)
    if use_cluster and any(astuple(files)):
        raise click.UsageError("give either --cluster or saved files, not both")
    place = ClusterPlace(kubeconfig, context)
    old, new = (named_table(one, place) for one in (old_file, new_file))
    live = of_cluster(place, old, new) if use_cluster else of_files(files, old, new)
    found = _compared(old, new, live, filenames)
    click.echo(json_text(as_json(found)) if output == "json" else as_text(found, show_all=show_all))
    ctx.exit(1 if found.levels & _FAILING[fail_on] else 0)


def _compared(old: Table, new: Table, live: Live, filenames: tuple[str, ...]) -> Diff:
    changes = table_changes(old, new)
    nodes = live.nodes or {}
    grounds = Grounds(old, new, nodes.values(), live.offers) if nodes else None
    known = Known(grounds, (broken_rows(old.rows, live.offers), broken_rows(new.rows, live.offers)))
    asks = asks_that_matter(old, new, sizes=grounds.sizes if grounds else ())
    with progress(asks, "Comparing specs") as bar:
        specs = tuple(spec_changes(old, new, bar, changes.successors, known))
    return Diff(
        old=old,
        new=new,
        changes=changes,
        asks=asks,
        specs=specs,
        moves=moves(old, new, changes.successors, Present(nodes.values(), live.offers, live.held)),
        nodes=_nodes(new, grounds, live) if grounds else None,
        pods=live.pods,
        manifests=_manifests(judge_of(old, new, Live(offers=live.offers)), filenames),
    )


def _nodes(new: Table, grounds: Grounds, live: Live) -> NodesReport:
    problems = waiting(new, (live.nodes or {}).values(), live.daemons)
    return NodesReport(
        grounds.gpu_nodes, *grounds.matched(), tuple(problem for _, problem in problems)
    )


def _manifests(judge: PodJudge, files: tuple[str, ...]) -> tuple[ManifestChange, ...] | None:
    if not files:
        return None
    return tuple(change for file in files for change in _of_manifest(judge, file))


def _of_manifest(judge: PodJudge, file: str) -> Iterator[ManifestChange]:
    for document in read_manifests(file):
        for template in pod_templates(document.value):
            name = template.owner.partition("/")[2]
            context = Context(
                is_template=template.kind != "Pod",
                daemon_set=name if template.kind == "DaemonSet" else None,
            )
            for verdict in judge.template(template.pod, context):
                yield ManifestChange(file, template.owner, pointer(template.path), verdict)
