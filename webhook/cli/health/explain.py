"""``gpuspec health explain``: one node with all its signals, or one Pod with its devices."""

from __future__ import annotations

from pathlib import Path

import click

from webhook.advice.health.node_view import node_json, node_text
from webhook.advice.health.pod_view import pod_json, pod_text
from webhook.cli import SETTINGS
from webhook.cli.cluster import place_options
from webhook.cli.health.looking import Wanted, look
from webhook.cli.health.options import installation_options
from webhook.cli.health.overview import echo_value
from webhook.cli.inputs import UnreadableError
from webhook.cli.outputs import output_option
from webhook.settings import ClusterPlace


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec health explain gpu-node-7
  gpuspec health explain team-a/train-0
  gpuspec health explain -n team-a train-0 -o json

Exit status: 0 fine, 2 wrong usage, there is no such node or Pod, or no cluster
answers.""",
)
@click.argument("name", metavar="NODE|POD")
@click.option(
    "-n",
    "pod_namespace",
    metavar="NAMESPACE",
    help="Namespace of the Pod; so NAME is no node.  [default: the context's]",
)
@installation_options
@place_options
@output_option("text", "json", "yaml")
def explain(
    name: str,
    pod_namespace: str | None,
    namespace: str,
    table_name: str,
    kubeconfig: Path | None,
    context: str | None,
    output: str,
) -> None:
    """Explain what is known of a node, or what would become of a Pod.

    Of a node every signal that was looked at, what came of it, and what comes next. Of a Pod
    (NAMESPACE/NAME) its devices as far as they can be told, and whether it would be evicted.
    """
    place = ClusterPlace(kubeconfig, context)
    wanted = _wanted(name, pod_namespace, place)
    found = look(place, namespace, table_name, wanted)
    if found.node is not None:
        text = node_text(found.node, found.judged)
        value = node_json(found.node, found.judged)
    elif found.pod is not None:
        text, value = pod_text(found.pod, found.judged), pod_json(found.pod, found.judged)
    else:
        neither = f"no node {wanted.node}, and " if wanted.node else ""
        raise UnreadableError(f"there is {neither}no Pod {'/'.join(wanted.pod)} to be seen")
    if output == "text":
        click.echo(text)
    else:
        echo_value(value, output)


def _wanted(name: str, namespace: str | None, place: ClusterPlace) -> Wanted:
    """Return which node is meant, or which Pod."""
    given, slash, rest = name.partition("/")
    if slash and namespace not in (None, given):
        raise click.UsageError(f"{name} and -n {namespace} name two namespaces")
    if not given or (slash and not rest) or "/" in rest:
        raise click.UsageError(f"{name!r} is no node and no Pod; a Pod is NAMESPACE/NAME")
    if slash:
        return Wanted("", (given, rest))
    if namespace is not None:
        return Wanted("", (namespace, name))
    from webhook.kube.contexts import namespace_of  # noqa: PLC0415 -- slow to import

    return Wanted(name, (namespace_of(place.kubeconfig, place.context), name))
