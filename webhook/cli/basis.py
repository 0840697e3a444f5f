"""What ``explain`` and ``mutate`` judge by: the built-in table, a file's, or a cluster's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from selection_spec.documents import Document
from webhook.cli.cluster import asked, cluster_option, served_table
from webhook.cli.inputs import read_table, table_option
from webhook.cli.priorities import Priorities, priorities_of
from webhook.cli.queues import Queues, queues_of
from webhook.inventory.facts import Json, mapping, mappings
from webhook.serving.live_status import live_status
from webhook.snapshot import Snapshot
from webhook.terms import DEFAULT_TABLE, TABLE_KIND

_Function = TypeVar("_Function", bound=Callable[..., Any])

_BUILTIN = "judged by the built-in table; --cluster asks your cluster for its own"
_NO_QUEUES = Queues()
_SERVES = f"judged by the built-in table, for the cluster has no {TABLE_KIND} {DEFAULT_TABLE}"


@dataclass(frozen=True, slots=True)
class Basis:
    """A table and what is known of its rows, of priorities, and of namespaces of Kueue's.

    ``note`` is what a person should know of where the table is from, "" where that was chosen.
    """

    snapshot: Snapshot
    priorities: Priorities
    note: str = ""
    queues: Queues = _NO_QUEUES

    def beside(self, documents: Iterable[Document]) -> Basis:
        """Return it for the Pods of a manifest, which may bring what they need of their own."""
        objects = [item for one in documents for item in _items(one.value)]
        return replace(
            self, priorities=self.priorities.beside(objects), queues=self.queues.beside(objects)
        )


def _items(value: object) -> Iterable[Json]:
    """Return a document's object, or those of a List."""
    found = mapping(value)
    return mappings(found.get("items")) if found.get("kind") == "List" else (found,)


def basis_options(function: _Function) -> _Function:
    """Add ``--table``, and ``--cluster`` with which one."""
    return table_option(cluster_option(function))


def basis_of(
    table_file: str | None, *, use_cluster: bool, kubeconfig: Path | None, context: str | None
) -> Basis:
    """Return what the options choose; of a cluster also its live status, while fresh (D7).

    Raises:
        click.UsageError: The options contradict each other.
        UnreadableError: The table cannot be read.
    """
    if not use_cluster:
        if kubeconfig is not None or context is not None:
            raise click.UsageError("--kubeconfig and --context are for --cluster")
        table = read_table(table_file)
        return Basis(Snapshot(table), Priorities(table), "" if table_file else _BUILTIN)
    if table_file is not None:
        raise click.UsageError("give either --table or --cluster")
    # Whoever asks no cluster does not wait for what this imports.
    from webhook.kube.contexts import namespace_of  # noqa: PLC0415
    from webhook.settings import ClusterPlace  # noqa: PLC0415

    with asked(ClusterPlace(kubeconfig, context)) as cluster:
        found = served_table(cluster)
    rows = live_status(found.status).of_table(found.table.digest, datetime.now(UTC))
    return Basis(
        snapshot=Snapshot(found.table, rows),
        priorities=priorities_of(cluster, found.table),
        note=_SERVES if found.builtin else "",
        queues=queues_of(cluster, namespace_of(kubeconfig, context)),
    )
