"""Options of verbs that look at a live cluster, and how its refusals read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from selection_spec.errors import GpuspecError
from selection_spec.names import dns_subdomain_problem
from selection_spec.table import Table, builtin_table
from webhook.cli.inputs import UnreadableError, read_table, unreadable
from webhook.inventory.table_object import load_table_text, table_text
from webhook.terms import DEFAULT_TABLE, TABLE_KIND, TABLES_PATH

if TYPE_CHECKING:
    from webhook.kube.cluster import Cluster
    from webhook.settings import ClusterPlace

# The client of the API server is imported by whoever asks a cluster something, and so are the
# settings: they take longer to load than all the rest of the command line.

_TABLE_NAME = "gpuspec.table-name"
_OF_CLUSTER = "cluster:"

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
    """Add ``--cluster``, which one, and which of its tables."""
    function = click.option(
        "--table-name",
        metavar="NAME",
        expose_value=False,
        callback=_remember_name,
        help=f"The SelectionTable that the cluster is served by.  [default: {DEFAULT_TABLE}]",
    )(place_options(function))
    return click.option(
        "--cluster", "use_cluster", is_flag=True, help="Ask the cluster of the kubeconfig."
    )(function)


def _remember_name(ctx: click.Context, _: click.Parameter, name: str | None) -> None:
    """Keep the name for whoever reads the cluster's table, deep down in a verb."""
    ctx.meta[_TABLE_NAME] = DEFAULT_TABLE if name is None else _checked(name)


def _checked(name: str) -> str:
    if what := dns_subdomain_problem(name):
        raise click.BadParameter(f"{name!r} {what}; write the name of a {TABLE_KIND}")
    return name


def table_in_use() -> str:
    """Return the name of the table that serves, as the command line has it."""
    context = click.get_current_context(silent=True)
    name: str = context.meta.get(_TABLE_NAME, DEFAULT_TABLE) if context else DEFAULT_TABLE
    return name


@contextmanager
def asked(place: ClusterPlace) -> Iterator[Any]:
    """Give the place's ``Cluster``; what it refuses ends the command with status 2.

    Raises:
        UnreadableError: There is no cluster, it does not answer, or a permission is missing.
    """
    from webhook.kube.cluster import connect  # noqa: PLC0415 -- see above

    with refusals():
        yield connect(place.kubeconfig, place.context)


@contextmanager
def refusals() -> Iterator[None]:
    """End the command with status 2 where a cluster refuses or does not answer.

    Raises:
        UnreadableError: With what it said, or why it said nothing.
    """
    from webhook.kube.errors import ApiError, ClusterError  # noqa: PLC0415 -- see above

    try:
        yield
    except ApiError as error:
        hint = "; ask an admin for this permission" if error.is_forbidden else ""
        hint = "; log in again: it does not know you" if error.is_unauthorized else hint
        raise UnreadableError(f"the cluster refuses: {error}{hint}") from None
    except ClusterError as error:
        raise UnreadableError(str(error)) from None


def named_table(name: str | None, place: ClusterPlace) -> Table:
    """Return the table of a file, or for ``cluster:NAME`` a cluster's own.

    Raises:
        UnreadableError: It cannot be seen, or is no table.
    """
    of_cluster = (name or "").removeprefix(_OF_CLUSTER)
    if name is None or of_cluster == name:
        return read_table(name)
    found = cluster_table(place, of_cluster)
    if found.builtin:
        note = f"the cluster has no {TABLE_KIND} {of_cluster}, so this is the built-in one"
        click.echo(f"note: {name}: {note}", err=True)
    return found.table


def cluster_table(place: ClusterPlace, name: str | None = None) -> ClusterTable:
    """Return the table that serves in a cluster: its SelectionTable, else the built-in one.

    Args:
        place: Which cluster.
        name: The table's name; what ``--table-name`` says where it is None.

    Raises:
        UnreadableError: It cannot be seen, or is no table.
    """
    name = table_in_use() if name is None else _checked(name)
    with asked(place) as cluster:
        return served_table(cluster, name)


def served_table(cluster: Cluster, name: str | None = None) -> ClusterTable:
    """Return the same of a cluster that is connected already.

    Raises:
        ApiError: It cannot be seen.
        UnreadableError: It is no table.
    """
    name = name or table_in_use()
    found = raw_table(cluster, name)
    if found is None:
        return ClusterTable(builtin_table(), {}, builtin=True)
    try:
        table = load_table_text(table_text(found))
    except GpuspecError as error:
        raise unreadable(f"{TABLE_KIND} {name}", error) from None
    return ClusterTable(table, found.get("status") or {})


def raw_table(cluster: Cluster, name: str) -> dict[str, Any] | None:
    """Return a SelectionTable as the API server has it, None where there is none.

    Raises:
        ApiError: It cannot be seen.
    """
    from webhook.kube.errors import ApiError  # noqa: PLC0415 -- see above

    try:
        return cluster.get(f"{TABLES_PATH}/{name}")
    except ApiError as error:
        if error.is_not_found:
            return None
        raise
