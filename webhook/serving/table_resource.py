"""Bring a SelectionTable of the cluster to what serves, and its live status with it (design §3)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from selection_spec.resolve import NOTHING_KNOWN
from selection_spec.table import Table
from webhook.inventory.table_object import table_text
from webhook.kube.cluster import Cluster, Json
from webhook.kube.reflector import Collection, Reflector
from webhook.serving.live_status import LiveStatus, live_status
from webhook.serving.live_table import LiveTable
from webhook.terms import TABLE_KIND, TABLES_PATH


@dataclass(frozen=True, slots=True)
class TableObject:
    """A SelectionTable of the cluster, as far as the service needs it.

    Attributes:
        text: The table as a document: what a file would hold, without what the API server adds.
        status: What the controller says of its rows.
    """

    text: bytes
    status: LiveStatus


def table_object(raw: Json) -> TableObject:
    """Read a raw SelectionTable; a status of a wrong shape counts as none."""
    return TableObject(table_text(raw), live_status(raw.get("status")))


class TableResource:
    """Feeds a live table from the SelectionTable of one name.

    Where the cluster is seen to have none, the built-in table serves, so that installing needs
    nothing else. Where the cluster cannot be seen, what is in use stays.
    """

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        live: LiveTable,
        *,
        builtin: Callable[[], Table],
        clock: Callable[[], datetime],
    ) -> None:
        self._name = name
        self._live = live
        self._builtin = builtin
        self._clock = clock
        # Changes come from the thread that watches, and the passing of time from another.
        self._lock = threading.Lock()
        self._offered: bytes | None = None
        self._stopping = threading.Event()
        self._reflector = Reflector(
            cluster,
            Collection(TABLES_PATH, {"fieldSelector": f"metadata.name={name}"}),
            table_object,
            changed=self._changed,
        )

    def begin(self) -> tuple[str, ...]:
        """Start to follow; nothing of it can fail for good, so there are no problems."""
        threading.Thread(
            target=self._reflector.run, args=(self._stopping,), name="table", daemon=True
        ).start()
        return ()

    def look(self) -> None:
        """Do what only the passing of time brings: forget a status that is no longer fresh."""
        self._live.unreachable(self._reflector.trouble)
        with self._lock:
            self._know(self._reflector.held().get(self._name))

    def end(self) -> None:
        """Follow no more."""
        self._stopping.set()

    def _changed(self) -> None:
        with self._lock:
            found = self._reflector.held().get(self._name)
            if found is None:
                self._use_builtin()
            elif found.text != self._offered:
                self._offered = found.text
                self._live.offer(found.text, f"{TABLE_KIND} {self._name}")
            self._know(found)

    def _use_builtin(self) -> None:
        if self._offered != b"":
            self._offered = b""
            why = f"built-in, for the cluster has no {TABLE_KIND} {self._name}"
            self._live.use(self._builtin(), why)

    def _know(self, found: TableObject | None) -> None:
        """Hand on the live status, if it is fresh and speaks of the table in use."""
        snapshot = self._live.snapshot
        if snapshot is None:
            return
        self._live.know(
            NOTHING_KNOWN
            if found is None
            else found.status.of_table(snapshot.digest, self._clock())
        )
