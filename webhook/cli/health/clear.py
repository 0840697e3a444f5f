"""``gpuspec health clear``: marks of ours are removed because a person says so (H10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.advice.health.marks_left import MarksLeft, annotation_after, marks_left
from webhook.advice.health.phrases import ACT_AT_ONCE
from webhook.advice.words import wrapped
from webhook.cli import SETTINGS
from webhook.cli.cluster import asked, place_options
from webhook.cli.health.agreement import require_agreement
from webhook.cli.health.reading import NODES, Marked, Reader
from webhook.inventory.facts import Json, node_facts
from webhook.settings import ClusterPlace
from webhook.terms import HEALTH_LABEL, SUSPECT, UNHEALTHY_TAINT, VERDICTS_ANNOTATION

if TYPE_CHECKING:
    from webhook.kube.cluster import Cluster

# The controller may write between reading and writing, but not so often in a row.
_ATTEMPTS = 5

_KEPT = (
    "Removed. What is still failed is left alone, its Pods too, until there is new evidence: "
    "another signal, the same one after the node was good for long enough to recover, or a reboot."
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
        remover = _Remover(cluster, marked.rules_path, forgets=forgets)
        refused = [text for one in found for text in remover.remove(one)]
    for text in refused:
        click.echo(f"error: {text}", err=True)
    if refused:
        ctx.exit(1)
    click.echo(wrapped(_FORGOTTEN if forgets else _KEPT), err=True)
    if not forgets and any(one.taint for one in found):
        click.echo(wrapped(f"note: {ACT_AT_ONCE}"), err=True)


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


class _Remover:
    """Removes marks, one thing after the other.

    What was shown may be old by the time that it is agreed to: every node is read again, and
    written with the version that was read.
    """

    def __init__(self, cluster: Cluster, rules_path: str | None, *, forgets: bool) -> None:
        self._cluster = cluster
        self._rules_path = rules_path
        self._forgets = forgets

    def remove(self, marks: MarksLeft) -> Iterator[str]:
        """Remove what is there; yield what could not be, and why."""
        from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

        for what, remove in self._removals(marks):
            try:
                remove()
            except ApiError as error:
                if not error.is_not_found:
                    yield f"{what} stays: {error}"
            except _AnotherNodeError:
                yield f"{what} stays: another node of this name has come meanwhile"

    def _removals(self, marks: MarksLeft) -> Iterator[tuple[str, Callable[[], object]]]:
        node = f"node {marks.node}"
        if marks.taint:
            yield f"{node}: taint {marks.taint}", partial(self._untaint, marks)
        if marks.label or marks.annotation is not None:
            yield f"{node}: label and annotation", partial(self._unwrite, marks)
        for name in marks.rules:
            remove = partial(self._cluster.delete, f"{self._rules_path}/{name}")
            yield f"DeviceTaintRule {name}", remove

    def _untaint(self, marks: MarksLeft) -> None:
        from webhook.controllers.node_taints import set_taint  # noqa: PLC0415 -- slow to import

        self._node(marks)
        set_taint(self._cluster, marks.node, UNHEALTHY_TAINT, None)

    def _unwrite(self, marks: MarksLeft) -> None:
        """Remove label and annotation as they are by now; the controller may write meanwhile."""
        from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

        for attempt in range(1, _ATTEMPTS + 1):
            found = self._node(marks)
            body = _unwritten(found, forgets=self._forgets)
            try:
                self._cluster.patch(f"{NODES}/{marks.node}", body)
            except ApiError as error:
                if not error.is_conflict or attempt == _ATTEMPTS:
                    raise
            else:
                return

    def _node(self, marks: MarksLeft) -> Json:
        """Read a node again.

        Raises:
            _AnotherNodeError: It is not the one that was asked about.
        """
        found: Json = self._cluster.get(f"{NODES}/{marks.node}")
        if node_facts(found).uid != marks.uid:
            raise _AnotherNodeError
        return found


class _AnotherNodeError(Exception):
    """A node of the same name has come in the place of the one that was asked about."""


def _unwritten(node: Json, *, forgets: bool) -> Json:
    facts = node_facts(node)
    metadata: Json = {"resourceVersion": node["metadata"]["resourceVersion"]}
    if facts.labels.get(HEALTH_LABEL) == SUSPECT:
        metadata["labels"] = {HEALTH_LABEL: None}
    annotation = annotation_after(facts, forgets=forgets)
    if annotation is not None:
        metadata["annotations"] = {VERDICTS_ANNOTATION: annotation or None}
    return {"metadata": metadata}
