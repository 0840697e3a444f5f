"""Options of verbs that look at a live cluster, and how its refusals read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from selection_spec.errors import GpuspecError
from selection_spec.table import Table, builtin_table
from webhook.cli.inputs import UnreadableError, unreadable
from webhook.inventory.table_object import load_table_text, table_text
from webhook.terms import DEFAULT_TABLE, TABLE_KIND, TABLES_PATH

if TYPE_CHECKING:
    from webhook.settings import ClusterPlace

# The client of the API server is imported by whoever asks a cluster something, and so are the
# settings: they take longer to load than all the rest of the command line.

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ClusterTable:
    """The table that a cluster is served by.

    Attributes:
        table: The table.
        status: Its status as the controller wrote it; empty for the built-in table.
        builtin: Whether the cluster has none of its own, so that the built-in one serves.
    """

    table: Table
    status: dict[str, Any]
    builtin: bool = False


def place_options(function: _Function) -> _Function:
    """Add ``--kubeconfig`` and ``--context``."""
    function = click.option(
        "--context", metavar="NAME", help="Context of the kubeconfig.  [default: its current one]"
    )(function)
    return click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Kubeconfig of the cluster.  [default: $KUBECONFIG or ~/.kube/config]",
    )(function)


def cluster_option(function: _Function) -> _Function:
    """Add ``--cluster``, and which one."""
    return click.option(
        "--cluster", "use_cluster", is_flag=True, help="Ask the cluster of the kubeconfig."
    )(place_options(function))


@contextmanager
def asked(place: ClusterPlace) -> Iterator[Any]:
    """Give the place's ``Cluster``; what it refuses ends the command with status 2.

    Raises:
        UnreadableError: There is no cluster, it does not answer, or a permission is missing.
    """
    from webhook.kube.cluster import connect  # noqa: PLC0415 -- see above
    from webhook.kube.errors import ApiError, ClusterError  # noqa: PLC0415

    try:
        yield connect(place.kubeconfig, place.context)
    except ApiError as error:
        hint = "; ask an admin for this permission" if error.is_forbidden else ""
        raise UnreadableError(f"the cluster refuses: {error}{hint}") from None
    except ClusterError as error:
        raise UnreadableError(str(error)) from None


def cluster_table(place: ClusterPlace, name: str = DEFAULT_TABLE) -> ClusterTable:
    """Return the table that serves in a cluster: its SelectionTable, else the built-in one.

    Raises:
        UnreadableError: It cannot be seen, or is no table.
    """
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see above

    with asked(place) as cluster:
        try:
            found = cluster.get(f"{TABLES_PATH}/{name}")
        except ApiError as error:
            if error.is_not_found:
                return ClusterTable(builtin_table(), {}, builtin=True)
            raise
    try:
        table = load_table_text(table_text(found))
    except GpuspecError as error:
        raise unreadable(f"{TABLE_KIND} {name}", error) from None
    return ClusterTable(table, found.get("status") or {})
