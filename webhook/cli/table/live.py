"""What the table verbs read of a cluster besides its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from webhook.inventory.claim_facts import claim_facts, served_resource
from webhook.inventory.claims import Offered, offered
from webhook.inventory.holders import BOUND
from webhook.inventory.pod_facts import PodFacts, pod_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.terms import CLAIMS_PATH, CLASSES_PATH, NODES_PATH, SLICES_PATH

if TYPE_CHECKING:
    from webhook.kube.cluster import Cluster

Json = dict[str, Any]

NODES: Final = NODES_PATH
PODS: Final = "/api/v1/pods"
DAEMON_SETS: Final = "/apis/apps/v1/daemonsets"


def if_allowed(cluster: Cluster, path: str, what: str, **query: str) -> list[Json] | None:
    """Return a list that a report can do without; None, and a note, where it may not be read.

    A kind that the cluster does not have has no objects.

    Args:
        cluster: Who is asked.
        path: The list's path.
        what: What cannot be told without it.
        query: Of the list, such as a selector.
    """
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- slow to import, see cli/cluster

    try:
        return list(cluster.items(path, **query))
    except ApiError as error:
        if error.is_not_found:
            return []
        if not error.is_forbidden:
            raise
        click.echo(f"note: {what} cannot be told: {error.message}", err=True)
        return None


def offers_of(cluster: Cluster) -> Offered | None:
    """Return what the DRA drivers of a cluster offer; None, and a note, where that is not told."""
    slices = if_allowed(cluster, SLICES_PATH, "which devices claims recognise")
    classes = if_allowed(cluster, CLASSES_PATH, "whether DeviceClasses exist")
    claims = if_allowed(cluster, CLAIMS_PATH, "which devices claims hold")
    if slices is None:
        return None
    served = None
    if classes is not None:
        served = {str(one["metadata"]["name"]): served_resource(one) for one in classes}
    held = filter(None, map(claim_facts, claims or ()))
    return offered(map(slice_facts, slices), served, held)


def holding_pods(cluster: Cluster) -> list[PodFacts]:
    """Return the Pods of a cluster that hold extended resources; none where that is not told."""
    pods = if_allowed(cluster, PODS, "which devices Pods hold", fieldSelector=BOUND)
    return [facts for facts in map(pod_facts, pods or ()) if facts.devices]


def names_of(objects: list[Json]) -> list[str]:
    """Return the names of raw objects."""
    return [str(one["metadata"]["name"]) for one in objects]
