"""The SelectionTables of a cluster as the loops hold them: read once per change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from selection_spec.errors import GpuspecError, Problem
from selection_spec.table import Table
from webhook.inventory.facts import mapping
from webhook.inventory.matching import Matcher
from webhook.inventory.table_object import load_table_text, table_text
from webhook.kube.cluster import Json

# Tables of a cluster that are being read at the same time; one is usual.
_REMEMBERED = 16


@dataclass(frozen=True, slots=True)
class TableHeld:
    """A SelectionTable.

    Attributes:
        uid: Tells a table from another one of the same name, before or after it.
        text: The table as a document, without what the API server adds.
        generation: Counts the changes of its spec.
        status: What was last written about it; empty where nothing was.
    """

    name: str
    uid: str
    text: bytes
    generation: int
    status: Json


@dataclass(frozen=True, slots=True)
class Loaded:
    """What became of reading a table: the table and its matcher, or every problem."""

    table: Table | None
    matcher: Matcher | None
    problems: tuple[Problem, ...] = ()


def table_held(raw: Json) -> TableHeld:
    """Read a raw SelectionTable."""
    return TableHeld(
        name=raw["metadata"]["name"],
        uid=str(raw["metadata"].get("uid") or ""),
        text=table_text(raw),
        generation=int(raw["metadata"].get("generation") or 0),
        status=mapping(raw.get("status")),
    )


@lru_cache(_REMEMBERED)
def loaded(text: bytes) -> Loaded:
    """Return what a table's document says; reading a large one takes a second."""
    try:
        table = load_table_text(text)
    except GpuspecError as error:
        return Loaded(None, None, error.problems)
    except Exception as bug:  # noqa: BLE001 -- a bug about one table must not end the others' work
        return Loaded(None, None, (Problem(f"it cannot be read: {type(bug).__name__}: {bug}"),))
    return Loaded(table, Matcher(table))
