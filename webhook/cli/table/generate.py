"""``gpuspec table generate``: a table to start from, by what a cluster's nodes have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from selection_spec.denial import few
from selection_spec.errors import GpuspecError
from selection_spec.table import builtin_table, load_table
from webhook.cli import SETTINGS
from webhook.cli.cluster import asked, cluster_option
from webhook.cli.inputs import refuse_second_reading
from webhook.cli.saved import saved_items
from webhook.cli.table.live import NODES, if_allowed, names_of
from webhook.inventory.facts import NodeFacts, node_facts
from webhook.inventory.generate.catalogue import Catalogue
from webhook.inventory.generate.claims import Classes, expressions_of
from webhook.inventory.generate.coverage import coverage
from webhook.inventory.generate.drafting import Draft, draft
from webhook.inventory.generate.text import draft_text
from webhook.inventory.slice_facts import SliceFacts, slice_facts
from webhook.inventory.vendors import RESOURCES
from webhook.settings import ClusterPlace
from webhook.terms import CLASSES_PATH, PRIORITY_CLASSES_PATH, SLICES_PATH


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec table generate --cluster > table.yaml
  kubectl get nodes -o json | gpuspec table generate --nodes -
  gpuspec explain any-24gb --table table.yaml

Exit status: 0 fine, 1 no GPUs found, 2 wrong usage or unreadable input.""",
)
@click.option(
    "--nodes", "nodes_file", metavar="FILE", help="Nodes, as kubectl get nodes -o json saves them."
)
@click.option(
    "--slices",
    "slices_file",
    metavar="FILE",
    help="ResourceSlices, saved alike; for claims, and for cards that labels don't tell.",
)
@cluster_option
@click.pass_context
def generate(
    ctx: click.Context,
    nodes_file: str | None,
    slices_file: str | None,
    *,
    use_cluster: bool,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Write a selection table for the GPUs that a cluster has.

    Nodes are recognised by the labels of the vendors' discovery (NVIDIA, AMD, Intel), of clouds
    (GKE, Karpenter, EKS), or by the label of your own that tells your GPU nodes apart, and devices
    of DRA drivers by what ResourceSlices call them. What cannot be told is marked "finish:" in a
    comment.
    """
    if use_cluster == bool(nodes_file):
        raise click.UsageError("give either --cluster or --nodes FILE")
    if use_cluster and slices_file:
        raise click.UsageError("--slices goes with --nodes; --cluster reads them itself")
    refuse_second_reading(nodes_file, slices_file)
    if nodes_file:
        seen = _saved(nodes_file, slices_file)
    else:
        seen = _live(ClusterPlace(kubeconfig, context))
    catalogue = Catalogue(builtin_table())
    drafted = draft(seen.nodes, seen.slices, catalogue, seen.classes, seen.device_classes)
    if not drafted.rows:
        click.echo(_nothing(drafted), err=True)
        ctx.exit(1)
    text = draft_text(drafted)
    click.echo(text, nl=False)
    for complaint in _complaints(text, seen):
        click.echo(f"warning: {complaint}", err=True)
    rows = "1 row" if len(drafted.rows) == 1 else f"{len(drafted.rows)} rows"
    unfinished = f"{drafted.unfinished} to finish"
    click.echo(f"{rows} for {drafted.gpu_nodes} GPU nodes, {unfinished}", err=True)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a table is made of.

    Attributes:
        classes: The cluster's PriorityClasses, None where they are not known.
        device_classes: The CEL of its DeviceClasses by name, None where they are not known.
    """

    nodes: Sequence[NodeFacts]
    slices: Sequence[SliceFacts]
    classes: Sequence[str] | None = None
    device_classes: Classes | None = None


def _saved(nodes: str, slices: str | None) -> _Seen:
    return _Seen(
        [node_facts(one) for one in saved_items(nodes, "Node")],
        [slice_facts(one) for one in saved_items(slices, "ResourceSlice")] if slices else [],
    )


def _live(place: ClusterPlace) -> _Seen:
    with asked(place) as cluster:
        nodes = [node_facts(one) for one in cluster.items(NODES)]
        slices = [slice_facts(one) for one in cluster.items(SLICES_PATH)]
        classes = if_allowed(cluster, PRIORITY_CLASSES_PATH, "which PriorityClasses there are")
        asked_by = None
        if slices:
            asked_by = if_allowed(cluster, CLASSES_PATH, "which DeviceClasses there are")
    return _Seen(
        nodes,
        slices,
        None if classes is None else names_of(classes),
        None
        if asked_by is None
        else dict(zip(names_of(asked_by), map(expressions_of, asked_by), strict=True)),
    )


def _nothing(drafted: Draft) -> str:
    said = f"none of {drafted.nodes} nodes offers a GPU ({', '.join(sorted(RESOURCES))})"
    return "\n".join([said, *drafted.left_out])


def _complaints(text: str, seen: _Seen) -> Iterator[str]:
    """Check what was written, as it will be read: labels may hold more than can be foreseen."""
    try:
        found = coverage(load_table(text), seen.nodes, seen.slices)
    except GpuspecError as error:
        yield from (one.located("<stdout>") for one in error.problems)
        return
    if found.without:
        yield f"no row matches {few(found.without)}"
    if found.doubled:
        yield f"several rows match {few(found.doubled)}; see that their labels differ"
    if found.unrecognised:
        yield f"no claim recognises some devices of {few(found.unrecognised)}"
    for one, other in found.alike:
        yield f"the claims of {one} and {other} recognise the same devices"
