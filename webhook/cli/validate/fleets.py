"""Which nodes there are: those of a file, or of a cluster."""

from __future__ import annotations

import click

from webhook.cli.cluster import asked
from webhook.cli.saved import saved_items
from webhook.inventory.facts import NodeFacts, node_facts
from webhook.settings import ClusterPlace
from webhook.terms import NODES_PATH


def nodes_of(file: str | None, place: ClusterPlace | None) -> list[NodeFacts]:
    """Return the nodes of a file, else those of a cluster; none where neither is given.

    Raises:
        click.UsageError: Both are given.
        UnreadableError: The file cannot be read, or the cluster does not answer.
    """
    if file is not None and place is not None:
        raise click.UsageError("give either --fleet or --cluster")
    if place is None:
        return [] if file is None else [node_facts(one) for one in saved_items(file, "Node")]
    with asked(place) as cluster:
        return [node_facts(one) for one in cluster.items(NODES_PATH)]
