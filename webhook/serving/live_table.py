"""The selection table in use: the last one that was good, behind one reference."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from selection_spec.availability import Availability
from selection_spec.errors import GpuspecError
from selection_spec.table import Table
from webhook.logs import Log
from webhook.metrics import Metrics, Reload
from webhook.snapshot import Snapshot


class LiveTable:
    """Holds the snapshot that admission uses and replaces it as a whole.

    A table that cannot be read or breaks a law never replaces a good one: it is reported in the
    log, in ``gpuspec_table_reloads_total`` and, through ``problems``, by ``/readyz``.

    Attributes:
        snapshot: What admission decides by, None until the first good table. Read it once per
            review: it may be another one a moment later.
        problems: What is wrong with the newest table that was offered, a line each; empty when
            that is the one in use.
        loaded_at: When the table in use was taken up.
        source: Where the table in use comes from.
        unreached: Why the place that tables come from cannot be looked at; "" while it can.
    """

    def __init__(
        self,
        *,
        load: Callable[[bytes], Table],
        metrics: Metrics,
        log: Log,
        clock: Callable[[], datetime],
    ) -> None:
        self._load = load
        self._metrics = metrics
        self._log = log
        self._clock = clock
        self.snapshot: Snapshot | None = None
        self.problems: tuple[str, ...] = ()
        self.loaded_at: datetime | None = None
        self.source = ""
        self.unreached = ""

    def offer(self, text: bytes, source: str) -> bool:
        """Take up a table if it is good; say why where it is not.

        Args:
            text: The document, YAML or JSON.
            source: Where it comes from, for messages: usually the path of its file.

        Returns:
            Whether it is the one in use now.
        """
        try:
            self.load(text, source)
        except GpuspecError as error:
            self.refuse(located(error, source))
            return False
        return True

    def load(self, text: bytes, source: str) -> None:
        """Take up a table.

        Raises:
            TableError: It breaks a law; what is in use stays.
            DocumentError: It cannot be read; what is in use stays.
        """
        self.use(self._load(text), source)

    def use(self, table: Table, source: str) -> None:
        """Decide by this table from now on."""
        # Building the snapshot comes first: the assignment that follows is the swap, and whoever
        # reads the attribute sees the old one or the new one, never something between.
        self.snapshot = Snapshot(table)
        self.problems = ()
        self.loaded_at = self._clock()
        self.source = source
        self._metrics.table_in_use(table.name, table.digest)
        self._metrics.table_reloaded(Reload.SUCCESS)
        self._log.info(
            "table in use",
            table=table.name,
            digest=table.digest,
            rows=len(table.rows),
            source=source,
        )

    def know(self, availability: Availability) -> None:
        """Decide by this live status of the table's rows from now on (semantics D7).

        Only a status that differs makes a new snapshot: one that does loses what it remembers.
        """
        snapshot = self.snapshot
        if snapshot is not None and snapshot.availability != availability:
            self.snapshot = Snapshot(snapshot.table, availability)

    def unreachable(self, why: str) -> None:
        """Say why nothing newer can be looked for, or with "" that it can; what is in use stays."""
        if why != self.unreached:
            self.unreached = why
            self._metrics.table_reached(reached=not why)
            if why:
                self._log.error("cannot follow the table, the one in use stays", why=why)
            else:
                self._log.info("following the table again")

    def refuse(self, problems: tuple[str, ...]) -> None:
        """Keep what is in use and remember why the newest is not."""
        self.problems = problems
        self._metrics.table_reloaded(Reload.FAILURE)
        snapshot = self.snapshot
        self._log.error(
            "table refused, the one in use stays"
            if snapshot
            else "table refused, and none is in use",
            digest=None if snapshot is None else snapshot.digest,
            problems=problems,
        )


def located(error: GpuspecError, source: str) -> tuple[str, ...]:
    """Return an error's problems as lines that begin with the file and the place in it."""
    return tuple(problem.located(source) for problem in error.problems)
