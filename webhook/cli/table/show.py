"""``gpuspec table show``: a selection table as people read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from selection_spec.cel import selectors
from selection_spec.health import HealthPolicy
from selection_spec.rows import Claim, Policy, PriorityRule, Row
from selection_spec.table import Table
from webhook.advice.reach import Span, reach
from webhook.cli import SETTINGS
from webhook.cli.cluster import cluster_option, cluster_table
from webhook.cli.inputs import read_table, table_option
from webhook.cli.outputs import json_text, output_option
from webhook.cli.table.listing import as_text
from webhook.settings import ClusterPlace

Json = dict[str, Any]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  gpuspec table show                      the built-in table
  gpuspec table show --table table.yaml
  gpuspec table show --cluster            the table in force, with live counts

Exit status: 0 fine, 2 wrong usage or unreadable input.""",
)
@table_option
@cluster_option
@output_option("text", "json")
def show(
    table_file: str | None,
    *,
    use_cluster: bool,
    kubeconfig: Path | None,
    context: str | None,
    output: str,
) -> None:
    """Show a selection table, and who gets what of it."""
    if table_file is not None and use_cluster:
        raise click.UsageError("give either --table or --cluster")
    if use_cluster:
        found = cluster_table(ClusterPlace(kubeconfig, context))
        table, status = found.table, found.status
        if found.builtin:
            click.echo("note: the cluster has no table, so the built-in one serves", err=True)
    else:
        table, status = read_table(table_file), {}
    click.echo(json_text(as_json(table, status)) if output == "json" else as_text(table, status))


def as_json(table: Table, status: Json) -> Json:
    """Return a table and its status, {} where there is none, in one document."""
    every, smallest = (reach(table, policy) for policy in (Policy.EVERY_FIT, Policy.SMALLEST_FIT))
    live = {row.get("id"): row for row in status.get("rows") or ()}
    return {
        "name": table.name,
        "digest": table.digest,
        "resourceDomain": table.domain,
        "priorities": [_rule(rule) for rule in table.priorities],
        "defaultPolicy": table.default_policy.value,
        "preferCheaper": table.prefer_cheaper,
        "mixedNodes": table.mixed_nodes,
        "health": _health(table.health) if table.has_health else None,
        "rows": [
            {
                **_row(row),
                "everyFit": [_span(span) for span in every.get(row.id, ())],
                "smallestFit": [_span(span) for span in smallest.get(row.id, ())],
                "live": live.get(row.id),
            }
            for row in table.rows
        ],
    }


def _health(policy: HealthPolicy) -> Json:
    modes = sorted(policy.row_modes.items())
    return {
        "mode": policy.mode.value,
        "rows": [{"id": row, "mode": mode.value} for row, mode in modes],
    }


def _rule(rule: PriorityRule) -> Json:
    names = None if rule.class_names is None else sorted(rule.class_names)
    return {"classNames": names, "minValue": rule.min_value, "policy": rule.policy.value}


def _row(row: Row) -> Json:
    return {
        "id": row.id,
        "name": row.name,
        "aliases": list(row.aliases),
        "vramGb": row.vram_gb,
        "perNode": row.per_node,
        "cost": row.cost,
        "any": row.any,
        "reserved": row.reserved,
        "os": row.os,
        "arch": row.arch,
        "nodes": [one.to_json() for one in row.nodes],
        "tolerations": [one.to_json() for one in row.tolerations],
        "output": row.output.value,
        "resource": row.resource or None,
        "claim": None if row.claim is None else _claim(row, row.claim),
    }


def _claim(row: Row, claim: Claim) -> Json:
    """Return how a row is claimed; ``cel`` is all that its devices fulfil, the admin's own last."""
    return {
        "deviceClassName": claim.device_class,
        "driver": claim.driver,
        "products": list(claim.products),
        "selectors": list(claim.selectors),
        "cel": list(selectors(row)),
    }


def _span(span: Span) -> Json:
    return {"leastGb": span.least, "mostGb": span.most}
