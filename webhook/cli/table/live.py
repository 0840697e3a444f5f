"""What the table verbs read of a cluster besides its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from webhook.kube.cluster import Cluster

Json = dict[str, Any]

NODES: Final = "/api/v1/nodes"
DAEMON_SETS: Final = "/apis/apps/v1/daemonsets"


def if_allowed(cluster: Cluster, path: str, what: str) -> list[Json] | None:
    """Return a list that a report can do without; None, and a note, where it may not be read.

    A kind that the cluster does not have has no objects.

    Args:
        cluster: Who is asked.
        path: The list's path.
        what: What cannot be told without it.
    """
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- slow to import, see cli/cluster

    try:
        return list(cluster.items(path))
    except ApiError as error:
        if error.is_not_found:
            return []
        if not error.is_forbidden:
            raise
        click.echo(f"note: {what} cannot be told: {error.message}", err=True)
        return None


def names_of(objects: list[Json]) -> list[str]:
    """Return the names of raw objects."""
    return [str(one["metadata"]["name"]) for one in objects]
