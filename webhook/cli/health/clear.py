"""``gpuspec health clear``: marks of ours are removed because a person says so (H10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.advice.health.marks_left import MarksLeft, marks_left
from webhook.advice.words import wrapped
from webhook.cli import SETTINGS
from webhook.cli.cluster import asked, place_options
from webhook.cli.health.agreement import require_agreement
from webhook.cli.health.reading import NODES, Marked, Reader
from webhook.health.fences import UNHEALTHY
from webhook.inventory.facts import Json
from webhook.settings import ClusterPlace
from webhook.terms import HEALTH_LABEL, UNHEALTHY_TAINT, VERDICTS_ANNOTATION

if TYPE_CHECKING:
    from webhook.kube.cluster import Cluster

_KEPT = (
    "Removed. The controller respects this until there is new evidence: another signal, the same "
    "one after the node was good for long enough to recover, or a reboot. To have it act on a node "
    f"again at once: kubectl taint node NODE {UNHEALTHY}"
)
_FORGOTTEN = (
    "Removed. A controller that runs writes down again what it knows, and that you have removed "
    "its marks; one that starts after this begins afresh."
)


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec health clear gpu-node-7
  gpuspec health clear --all --yes
  gpuspec health clear --all --forget

Exit status: 0 fine, or nothing to remove, 1 not everything could be removed,
2 wrong usage, it was not agreed to, or no cluster answers.""",
)
@click.argument("nodes", nargs=-1, metavar="[NODE]...")
@click.option("--all", "every", is_flag=True, help="All nodes, and devices that are on none.")
@click.option(
    "--forget",
    "forgets",
    is_flag=True,
    help="Remove what is known of the nodes, too: after gpuspec was uninstalled.",
)
@click.option("--yes", "is_agreed", is_flag=True, help="Remove without asking.")
@place_options
@click.pass_context
def clear(
    ctx: click.Context,
    nodes: tuple[str, ...],
    kubeconfig: Path | None,
    context: str | None,
    *,
    every: bool,
    forgets: bool,
    is_agreed: bool,
) -> None:
    """Remove the marks of ours that are left on nodes and devices.

    Our taint, our label, and our DeviceTaintRules on the devices of these nodes; nobody else's.
    Shows what it would remove, and asks. That a person has removed them is noted in our annotation,
    so that they come back for new evidence only.
    """
    if bool(nodes) == every:
        raise click.UsageError("name the nodes, or give --all")
    with asked(ClusterPlace(kubeconfig, context)) as cluster:
        reader = Reader(cluster)
        marked = reader.marked()
        for text in reader.unseen:
            click.echo(f"note: {text}", err=True)
        found = _chosen(marked, nodes, forgets=forgets)
        if not found:
            click.echo("No mark of ours is there.")
            return
        for one in found:
            click.echo(str(one))
        require_agreement(
            "Remove all this?",
            is_agreed=is_agreed,
            without="removes",
            refused="nothing was removed",
        )
        refused = [text for one in found for text in _remove(cluster, one, marked.rules_path)]
    for text in refused:
        click.echo(f"error: {text}", err=True)
    if refused:
        ctx.exit(1)
    click.echo(wrapped(_FORGOTTEN if forgets else _KEPT), err=True)


def _chosen(marked: Marked, nodes: tuple[str, ...], *, forgets: bool) -> tuple[MarksLeft, ...]:
    """Return the marks of these nodes, of all and those on devices without a node if none is named.

    Raises:
        click.UsageError: There is no such node.
    """
    unknown = sorted({*nodes} - marked.nodes.keys())
    if unknown:
        raise click.UsageError(f"there is no node {', '.join(unknown)}")
    found = marks_left(marked.nodes, marked.devices, marked.rules, forgets=forgets)
    return tuple(one for one in found if not nodes or one.node in nodes)


def _remove(cluster: Cluster, marks: MarksLeft, rules_path: str | None) -> Iterator[str]:
    """Remove what is there, one thing after the other; yield what could not be, and why."""
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

    for what, remove in _removals(cluster, marks, rules_path):
        try:
            remove()
        except ApiError as error:
            if not error.is_not_found:
                yield f"{what} stays: {error}"


def _removals(
    cluster: Cluster, marks: MarksLeft, rules_path: str | None
) -> Iterator[tuple[str, Callable[[], object]]]:
    from webhook.controllers.node_taints import set_taint  # noqa: PLC0415 -- slow to import

    node = f"node {marks.node}"
    if marks.taint:
        remove = partial(set_taint, cluster, marks.node, UNHEALTHY_TAINT, None)
        yield f"{node}: taint {marks.taint}", remove
    if marks.label or marks.annotation is not None:
        body = _unwritten(marks)
        yield f"{node}: label and annotation", partial(cluster.patch, f"{NODES}/{marks.node}", body)
    for name in marks.rules:
        yield f"DeviceTaintRule {name}", partial(cluster.delete, f"{rules_path}/{name}")


def _unwritten(marks: MarksLeft) -> Json:
    metadata: Json = {}
    if marks.label:
        metadata["labels"] = {HEALTH_LABEL: None}
    if marks.annotation is not None:
        metadata["annotations"] = {VERDICTS_ANNOTATION: marks.annotation or None}
    return {"metadata": metadata}
