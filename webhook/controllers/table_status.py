"""The loop that writes what each table matches into its status."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from webhook.controllers.board import Board
from webhook.controllers.tables import Loaded, TableHeld, loaded
from webhook.controllers.world import World
from webhook.inventory.claims import Offered, offered
from webhook.inventory.conditions import (
    Condition,
    accepted,
    following,
    merged,
    ready,
    uncounted,
)
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

    state: tuple[object, ...]
    content: Content
    conditions: tuple[Condition, ...]


class TableStatusLoop:
    """Keeps the status of every SelectionTable right.

    A status is written when its content changed, and every 60 s so that admission knows it for
    fresh. What cannot be seen any more is not renewed: it grows stale, and admission forgets it.
    Where DRA drivers and claims were never seen, all else is counted.
    Tables that are not in use have a status, too: an admin can apply a candidate under another
    name and look at what it matches before it serves.

    Args:
        cluster: Where it is written.
        world: What is looked at.
        in_use: The name of the table that serves: the other loops' parts belong to it.
        board: What the other loops say.
        monotonic: Seconds that nobody can set, by which slow selectors are told.
    """

    name = "table-status"

    def __init__(
        self,
        cluster: Cluster,
        world: World,
        *,
        in_use: str,
        board: Board,
        monotonic: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._world = world
        self._in_use = in_use
        self._board = board
        self._monotonic = monotonic
        self._surveys: dict[bytes, Survey] = {}
        self._counted: dict[bytes, _Counted] = {}
        self._written: dict[str, _Written] = {}

    def run(self, now: datetime) -> float:
        """Write every status that differs from what it should be.

        Raises:
            Exception: One of them was refused, or cannot be counted; the others are written all
                the same.
        """
        world = self._world
        may_come = [one for one in self._counted_in if not one.synced and not one.trouble]
        if not world.ready(world.tables) or may_come:
            return 1.0
        tables = world.tables.held().values()
        self._forget_all_but(tables)
        failed: Exception | None = None
        for table in tables:
            try:
                content, holds = self._content(table)
            except Exception as bug:  # noqa: BLE001 -- one table must not end the others' work
                failed = bug
                content, holds = self._uncounted(table, f"{type(bug).__name__}: {bug}"), False
            try:
                self._write(table, content, now, holds=holds)
            except Exception as error:  # noqa: BLE001 -- see above
                is_gone = isinstance(error, ApiError) and error.is_not_found  # deleted meanwhile
                failed = failed if is_gone else error
        if failed is not None:
            raise failed
        return _LOOK_S

    @property
    def _counted_in(self) -> tuple[Reflector[Any], ...]:
        return self._world.nodes, self._world.pods, *self._drivers

    @property
    def _drivers(self) -> tuple[Reflector[Any], ...]:
        return self._world.slices, self._world.classes, self._world.claims

    def _content(self, table: TableHeld) -> tuple[Content, bool]:
        """Return a status without its times, and whether all of it holds now.

        ``conditions`` are values, to be merged.
        """
        world = self._world
        if trouble := world.never_seen(world.nodes, world.pods):
            return self._uncounted(table, trouble), False
        found = loaded(table.text)
        content: Content = {
            "observedGeneration": table.generation,
            "digest": "",
            "rowCount": 0,
            "rows": [],
            "unmatchedNodes": None,
            "missingDeviceClasses": [],
        }
        has_claims = found.table is not None and any(row.claim for row in found.table.rows)
        unseen = world.never_seen(*self._drivers)
        drivers = self._drivers if has_claims and not unseen else ()
        blind = world.blind(world.tables, world.nodes, world.pods, *drivers)
        followed = following(
            blind,
            uncounted=unseen if has_claims else "",
            beside=world.blind(*self._drivers, world.rules, world.templates, world.daemons),
        )
        conditions = [accepted(found.problems), followed]
        if found.table is not None:
            counted = self._count(table, found, None if unseen else self._offers)
            conditions += counted.conditions
            content |= counted.content
        return self._with_parts(table, content, conditions), not blind

    def _uncounted(self, table: TableHeld, why: str) -> Content:
        """Return of a status what there is to say without counting; what was counted stays."""
        conditions = [accepted(loaded(table.text).problems), uncounted(why)]
        return self._with_parts(table, {}, conditions)

    def _with_parts(
        self, table: TableHeld, content: Content, conditions: list[Condition]
    ) -> Content:
        """Add what the other loops say, which belongs to the table in use."""
        if table.name == self._in_use:
            conditions += self._board.conditions()
            content |= self._board.fields()
        return content | {"conditions": conditions}

    def _offers(self) -> Offered:
        world = self._world
        return offered(
            world.slices.held().values(),
            world.classes.held(),
            world.claims.held().values(),
            world.rules.held() or (),
        )

    def _count(
        self, table: TableHeld, found: Loaded, offers: Callable[[], Offered] | None
    ) -> _Counted:
        """Count what a table matches, unless nothing has changed since that was done."""
        world = self._world
        state = (
            *(one.changes for one in self._counted_in),
            self._world.rules.changes,
            offers is None,
        )
        counted = self._counted.get(table.text)
        if counted is None or counted.state != state:
            status = self._survey(table, found).status(
                world.nodes.held().values(),
                world.pods.held().values(),
                None if offers is None else offers(),
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
            survey = self._surveys[table.text] = Survey(found.table, self._monotonic)
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
