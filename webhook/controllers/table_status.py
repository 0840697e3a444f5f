"""The loop that writes what each table matches into its status."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from webhook.controllers.board import Board
from webhook.controllers.tables import Loaded, TableHeld, loaded
from webhook.controllers.world import Mirror, World
from webhook.inventory.claims import offered
from webhook.inventory.conditions import Condition, accepted, following, merged, ready
from webhook.inventory.status import Survey
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError
from webhook.kube.reflector import Reflector
from webhook.terms import TABLES_PATH

# How old a status may become before it is said again that it still holds (semantics D7).
_RENEW = timedelta(seconds=60)
# Sooner than that a renewal would only be lost among the changes.
_LOOK_S = 5.0
# In which a write of ours is seen again, so that one which somebody else took away is noticed.
_SEEN_AGAIN = timedelta(seconds=10)

Content = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Written:
    """What was written last of a table, but for its times, and when; ``held`` is when it held."""

    content: Content
    at: datetime
    held: datetime


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a table matches, and the state of the cluster that it was counted in."""

    state: tuple[int, ...]
    content: Content
    conditions: tuple[Condition, ...]


class TableStatusLoop:
    """Keeps the status of every SelectionTable right.

    A status is written when its content changed, and every 60 s so that admission knows it for
    fresh. What cannot be seen any more is not renewed: it grows stale, and admission forgets it.
    Tables that are not in use have a status, too: an admin can apply a candidate under another
    name and look at what it matches before it serves.

    Args:
        cluster: Where it is written.
        world: What is looked at.
        in_use: The name of the table that serves: the other loops' parts belong to it.
        board: What the other loops say.
    """

    name = "table-status"

    def __init__(self, cluster: Cluster, world: World, *, in_use: str, board: Board) -> None:
        self._cluster = cluster
        self._world = world
        self._in_use = in_use
        self._board = board
        self._surveys: dict[bytes, Survey] = {}
        self._counted: dict[bytes, _Counted] = {}
        self._written: dict[str, _Written] = {}

    def run(self, now: datetime) -> float:
        """Write every status that differs from what it should be.

        Raises:
            ClusterError: One of them was refused; the others are written all the same.
        """
        world = self._world
        if not world.ready(*self._looked_at):
            return 1.0
        tables = world.tables.held().values()
        self._forget_all_but(tables)
        blind = world.blind(*self._looked_at)
        refused: ApiError | None = None
        for table in tables:
            try:
                self._write(table, self._content(table, blind), now, holds=not blind)
            except ApiError as error:
                if not error.is_not_found:  # deleted meanwhile
                    refused = error
        if refused is not None:
            raise refused
        return _LOOK_S

    @property
    def _looked_at(self) -> tuple[Mirror, ...]:
        return self._world.tables, *self._counted_in

    @property
    def _counted_in(self) -> tuple[Reflector[Any], ...]:
        world = self._world
        return world.nodes, world.pods, world.slices, world.classes, world.claims

    def _content(self, table: TableHeld, blind: str) -> Content:
        """Return a status without its times; ``conditions`` as values, to be merged."""
        found = loaded(table.text)
        content: Content = {
            "observedGeneration": table.generation,
            "digest": "",
            "rowCount": 0,
            "rows": [],
            "unmatchedNodes": None,
            "missingDeviceClasses": [],
        }
        conditions = [accepted(found.problems), following(blind)]
        if found.table is not None:
            counted = self._count(table, found)
            conditions += counted.conditions
            content |= counted.content
        if table.name == self._in_use:
            conditions += self._board.conditions()
            content |= self._board.fields()
        content["conditions"] = conditions
        return content

    def _count(self, table: TableHeld, found: Loaded) -> _Counted:
        """Count what a table matches, unless nothing has changed since that was done."""
        world = self._world
        state = tuple(one.changes for one in self._counted_in)
        counted = self._counted.get(table.text)
        if counted is None or counted.state != state:
            offers = offered(
                world.slices.held().values(), world.classes.held(), world.claims.held().values()
            )
            status = self._survey(table, found).status(
                world.nodes.held().values(), world.pods.held().values(), offers
            )
            content = status.to_json()
            content["rowCount"] = len(status.rows)
            counted = self._counted[table.text] = _Counted(state, content, (ready(status),))
        return counted

    def _survey(self, table: TableHeld, found: Loaded) -> Survey:
        survey = self._surveys.get(table.text)
        if survey is None:
            if found.table is None:
                raise AssertionError(table.name)  # asked only of tables that were read
            survey = self._surveys[table.text] = Survey(found.table)
        return survey

    def _write(self, table: TableHeld, content: Content, now: datetime, *, holds: bool) -> None:
        written = self._written.get(table.uid)
        if written is not None:
            is_same = written.content == content
            # Somebody has taken away what was written: the resource was restored, or cleared.
            is_gone = not table.status and now - written.at > _SEEN_AGAIN
            is_due = holds and now - written.at >= _RENEW
            if is_same and not is_gone and not is_due:
                return
        held = now if holds or written is None else written.held
        status = {
            **content,
            "renewTime": _text(held) if holds or written is not None else None,
            "conditions": merged(
                content["conditions"],
                table.status.get("conditions"),
                table.generation,
                _text(now),
            ),
        }
        self._cluster.patch(f"{TABLES_PATH}/{table.name}/status", {"status": status})
        self._written[table.uid] = _Written(content, now, held)

    def _forget_all_but(self, tables: Collection[TableHeld]) -> None:
        texts = {table.text for table in tables}
        self._surveys = {text: one for text, one in self._surveys.items() if text in texts}
        self._counted = {text: one for text, one in self._counted.items() if text in texts}
        uids = {table.uid for table in tables}
        self._written = {uid: one for uid, one in self._written.items() if uid in uids}


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
