"""``gpuspec offers``: what a user can ask for here and now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from selection_spec.errors import SpecError
from selection_spec.grammar import Spec, is_ours, parse_spec
from selection_spec.resolve import choose_policy
from selection_spec.table import Table
from webhook.admission.translate import Context
from webhook.advice.offers import Market, Offer, Start
from webhook.advice.offers_report import answers, as_json, listing
from webhook.advice.supply import Supply, supply_of_nodes, supply_of_status
from webhook.cli import SETTINGS
from webhook.cli.cluster import ClusterTable, asked, cluster_option, served_table
from webhook.cli.explanation import not_known, passed_over
from webhook.cli.inputs import (
    UnreadableError,
    priority_options,
    read_table,
    refuse_second_reading,
)
from webhook.cli.outputs import json_text, output_option, report
from webhook.cli.priorities import Priorities, priorities_of
from webhook.cli.saved import progress, saved_items
from webhook.inventory.claim_facts import claim_facts, served_resource
from webhook.inventory.claims import Offered, offered
from webhook.inventory.facts import Json, node_facts
from webhook.inventory.holders import BOUND
from webhook.inventory.pod_facts import pod_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.settings import ClusterPlace
from webhook.terms import CLAIMS_PATH, CLASSES_PATH, NODES_PATH, SLICES_PATH

if TYPE_CHECKING:
    from webhook.kube.cluster import Cluster


@dataclass(frozen=True, slots=True)
class _Found:
    """A table, what its cluster has, and since when that is known ("": right now)."""

    table: Table
    supply: Supply
    priorities: Priorities
    as_of: str = ""


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec offers                             what there is, spec by spec
  gpuspec offers any-24gb:4                  would it start now, or what would?
  gpuspec offers a100:8 --priority-class gpuspec-high
  gpuspec offers --nodes nodes.json --pods pods.json --table table.yaml

Exit status: 0 fine, 1 something asked for would not start now, 2 wrong usage,
or nothing can be seen.""",
)
@click.argument("requests", nargs=-1, metavar="[SPEC[:COUNT]]...")
@click.option(
    "--table",
    "table_file",
    metavar="FILE",
    help=(
        "Selection table to judge by; - reads it from standard input.  "
        "[default: the cluster's own; for saved files the built-in one]"
    ),
)
@click.option(
    "--nodes",
    "nodes_file",
    metavar="FILE",
    help="Instead of a cluster: kubectl get nodes -o json",
)
@click.option(
    "--pods",
    "pods_file",
    metavar="FILE",
    help="Instead of a cluster: kubectl get pods -A -o json",
)
@click.option(
    "--slices",
    "slices_file",
    metavar="FILE",
    help="For rows that are claimed: kubectl get resourceslices -o json",
)
@click.option(
    "--claims",
    "claims_file",
    metavar="FILE",
    help="For rows that are claimed: kubectl get resourceclaims -A -o json",
)
@cluster_option
@priority_options
@output_option("text", "json")
@click.pass_context
def offers(
    ctx: click.Context,
    requests: tuple[str, ...],
    table_file: str | None,
    nodes_file: str | None,
    pods_file: str | None,
    slices_file: str | None,
    claims_file: str | None,
    kubeconfig: Path | None,
    context: str | None,
    priority_class: str | None,
    priority: int | None,
    output: str,
    *,
    use_cluster: bool,
) -> None:
    """Show what a user can ask for here and now.

    Asks the cluster of the kubeconfig, and its table, unless files are given. Each SPEC is a
    question of its own: would a Pod with it start now, and if not, what would?
    """
    refuse_second_reading(table_file, nodes_file, pods_file, slices_file, claims_file)
    if bool(nodes_file) != bool(pods_file):
        raise click.UsageError("give --nodes and --pods together: free is what Pods leave of nodes")
    if bool(slices_file) != bool(claims_file) or (slices_file and not nodes_file):
        raise click.UsageError("give --slices and --claims together, beside --nodes and --pods")
    if use_cluster and nodes_file:
        raise click.UsageError("give either --cluster or saved files, not both")
    if nodes_file and pods_file:
        table = read_table(table_file)
        found = _of_files(table, nodes_file, pods_file, _saved(table, slices_file, claims_file))
    else:
        found = _of_cluster(ClusterPlace(kubeconfig, context), table_file)
    said = Context(priority_class=priority_class, priority=priority)
    known = found.priorities.of_options(said)
    if known.refusal is not None:
        report([known.refusal], "error")
        ctx.exit(1)
    choice = choose_policy(found.table, known.priority_class, known.priority)
    market = Market(found.table, found.supply, choice)
    asked_for = [_request(text, found.table.domain) for text in requests]
    given = [market.offer(*one) for one in asked_for] if requests else market.all()
    pairs = [
        (one, market.instead(one) if requests and one.start is Start.NO else ()) for one in given
    ]
    for text in (*_not_known(market, said, given if requests else ()), *_not_counted(market)):
        click.echo(f"note: {text}", err=True)
    if output == "json":
        click.echo(json_text(as_json(market, pairs, found.as_of)))
    elif requests:
        click.echo(answers(market, pairs, found.as_of))
    else:
        click.echo(listing(market, given, found.as_of))
    ctx.exit(1 if requests and any(one.start is Start.NO for one in given) else 0)


def _request(text: str, domain: str) -> tuple[Spec, int]:
    """Read ``any-24gb:4``, with or without the domain and the gpu-."""
    spec, _, count = text.partition(":")
    prefix, slash, name = spec.rpartition("/")
    if slash and prefix != domain:
        raise click.UsageError(f"{text}: the table's domain is {domain}, not {prefix}")
    key = name if is_ours(name) else f"gpu-{name}"
    if not (count or "1").isascii() or not (count or "1").isdecimal() or not int(count or "1"):
        raise click.UsageError(f"{text}: the count has to be a whole number from 1 on")
    try:
        return parse_spec(key), int(count or "1")
    except SpecError as error:
        raise click.UsageError(f"{text}: {key} {error}") from None


def _not_known(market: Market, said: Context, given: Sequence[Offer]) -> Iterator[str]:
    """Yield what is not known of the Pods' priority and matters, as ``explain`` says it (D3)."""
    name, other = said.priority_class, market.choice.policy.other
    if text := passed_over(market.table, name, said.priority):
        yield text
    elif not market.choice.certain:
        for one in given:
            would = market.offer(one.spec, one.count, other)
            if (one.candidates, one.denial) != (would.candidates, would.denial):
                rows = ", ".join(would.candidates) or "denied"
                yield f"{one.request}: {not_known(name, other, rows)}"
        if not given:
            yield not_known(name, other, "other rows")


def _not_counted(market: Market) -> Iterator[str]:
    supply = market.supply
    for row, reason in supply.broken.items():
        yield f"no Pod starts whose claim names {row}: {reason}"
    for row, reason in supply.unread.items():
        if row not in supply.broken:
            yield f"devices of {row} are not counted: {reason}"


def _saved(table: Table, slices_file: str | None, claims_file: str | None) -> Offered | None:
    """Read what drivers offer and claims hold; None where no row needs it.

    Raises:
        click.UsageError: A row needs it, and there are no files.
    """
    if slices_file and claims_file:
        return offered(
            map(slice_facts, saved_items(slices_file, "ResourceSlice")),
            claims=filter(None, map(claim_facts, saved_items(claims_file, "ResourceClaim"))),
        )
    if table.index.claims:
        raise click.UsageError(
            f"table {table.name} has rows that are claimed: give --slices and --claims, too"
        )
    return None


def _of_files(table: Table, nodes_file: str, pods_file: str, offers: Offered | None) -> _Found:
    nodes = [node_facts(node) for node in saved_items(nodes_file, "Node")]
    with progress(saved_items(pods_file, "Pod"), "Reading Pods") as bar:
        supply = supply_of_nodes(table, nodes, map(pod_facts, bar), offers)
    return _Found(table, supply, Priorities(table))


def _of_cluster(place: ClusterPlace, table_file: str | None) -> _Found:
    """Count what nodes have; where these may not be seen, believe the table's status."""
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

    with asked(place) as cluster:
        served = (
            served_table(cluster)
            if table_file is None
            else ClusterTable(read_table(table_file), {})
        )
        priorities = priorities_of(cluster, served.table)
        try:
            nodes = [node_facts(node) for node in cluster.items(NODES_PATH)]
            pods = cluster.items("/api/v1/pods", fieldSelector=BOUND)
            with progress(pods, "Reading Pods") as bar:
                offers = _offered(cluster, served.table)
                supply = supply_of_nodes(served.table, nodes, map(pod_facts, bar), offers)
            return _Found(served.table, supply, priorities)
        except ApiError as error:
            if not error.is_forbidden:
                raise
            return _of_status(served, priorities, error.message)


def _offered(cluster: Cluster, table: Table) -> Offered | None:
    """Ask what drivers offer and claims hold; None where no row can be claimed and nobody may.

    Raises:
        ApiError: That may not be seen, and a row can be claimed.
    """
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

    try:
        return _all_offered(cluster)
    except ApiError as error:
        if any(row.claim is not None for row in table.rows) or not error.is_forbidden:
            raise
        click.echo(f"note: what claims hold is not known: {error.message}", err=True)
        return None


def _all_offered(cluster: Cluster) -> Offered:
    classes = {one["metadata"]["name"]: served_resource(one) for one in _all(cluster, CLASSES_PATH)}
    return offered(
        map(slice_facts, _all(cluster, SLICES_PATH)),
        classes,
        filter(None, map(claim_facts, _all(cluster, CLAIMS_PATH))),
    )


def _all(cluster: Cluster, path: str) -> Iterator[Json]:
    """Yield the objects of a kind; one that the cluster does not have has none."""
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see webhook.cli.cluster

    try:
        yield from cluster.items(path)
    except ApiError as error:
        if not error.is_not_found:
            raise


def _of_status(served: ClusterTable, priorities: Priorities, refusal: str) -> _Found:
    if not served.status.get("rows"):
        raise UnreadableError(
            f"{refusal}\nask an admin for permission to list nodes and pods in all namespaces, and "
            "resourceclaims where devices are claimed; or for gpuspec controller, whose table "
            "status is as good for this"
        )
    click.echo(f"note: {refusal}; using the table's status", err=True)
    return _Found(
        served.table,
        supply_of_status(served.table, served.status),
        priorities,
        str(served.status.get("renewTime") or ""),
    )
