"""The loop that writes what each table matches into its status."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from webhook.controllers.board import Board
from webhook.controllers.tables import Loaded, TableHeld, loaded
from webhook.controllers.world import World
from webhook.inventory.conditions import accepted, merged, ready
from webhook.inventory.facts import NodeFacts
from webhook.inventory.pod_facts import PodFacts
from webhook.inventory.status import Survey
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError
from webhook.terms import TABLES_PATH

# How old a status may become before it is said again that it still holds (semantics D7).
_RENEW = timedelta(seconds=60)
# Sooner than that a renewal would only be lost among the changes.
_LOOK_S = 5.0


@dataclass(frozen=True, slots=True)
class _Written:
    """What was written last of a table, but for its times, and when."""

    content: dict[str, Any]
    at: datetime


class TableStatusLoop:
    """Keeps the status of every SelectionTable right.

    A status is written when its content changed, and every 60 s so that admission knows it for
    fresh. Tables that are not in use have one, too: an admin can apply a candidate under another
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
        self._written: dict[str, _Written] = {}

    def run(self, now: datetime) -> float:
        """Write every status that differs from what it should be."""
        if not self._world.synced:
            return _LOOK_S
        tables = self._world.tables.held()
        nodes = self._world.nodes.held().values()
        pods = self._world.pods.held().values()
        self._forget_all_but(tables.values())
        for table in tables.values():
            self._write(table, self._content(table, nodes, pods), now)
        return _LOOK_S

    def _content(
        self, table: TableHeld, nodes: Collection[NodeFacts], pods: Collection[PodFacts]
    ) -> dict[str, Any]:
        """Return a status without its times; ``conditions`` as values, to be merged."""
        found = loaded(table.text)
        content: dict[str, Any] = {
            "observedGeneration": table.generation,
            "digest": "",
            "rowCount": 0,
            "rows": [],
            "unmatchedNodes": None,
        }
        conditions = [accepted(found.problems)]
        if found.table is not None:
            status = self._survey(table, found).status(nodes, pods)
            conditions.append(ready(status))
            content |= status.to_json()
            content["rowCount"] = len(status.rows)
        if table.name == self._in_use:
            conditions += self._board.conditions()
            content |= self._board.fields()
        content["conditions"] = conditions
        return content

    def _survey(self, table: TableHeld, found: Loaded) -> Survey:
        survey = self._surveys.get(table.text)
        if survey is None:
            if found.table is None:
                raise AssertionError(table.name)  # asked only of tables that were read
            survey = self._surveys[table.text] = Survey(found.table)
        return survey

    def _write(self, table: TableHeld, content: dict[str, Any], now: datetime) -> None:
        written = self._written.get(table.name)
        if written is not None and written.content == content and now - written.at < _RENEW:
            return
        time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        former = table.status.get("conditions")
        status = {
            **content,
            "renewTime": time,
            "conditions": merged(content["conditions"], former, table.generation, time),
        }
        try:
            self._cluster.patch(f"{TABLES_PATH}/{table.name}/status", {"status": status})
        except ApiError as error:
            if not error.is_not_found:  # deleted meanwhile
                raise
        self._written[table.name] = _Written(content, now)

    def _forget_all_but(self, tables: Collection[TableHeld]) -> None:
        texts = {table.text for table in tables}
        self._surveys = {text: one for text, one in self._surveys.items() if text in texts}
        names = {table.name for table in tables}
        self._written = {name: one for name, one in self._written.items() if name in names}
