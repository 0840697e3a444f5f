"""A SelectionTable as the API server has it: the same document as a file, and no lines in it."""

from __future__ import annotations

from typing import Any

import orjson

from selection_spec.errors import Problem, TableError
from selection_spec.table import Table, table_of
from webhook.terms import TABLE_API, TABLE_KIND


def table_text(raw: dict[str, Any]) -> bytes:
    """Return a raw object as a table's document, without what the API server adds to it.

    Empty where it is nested more deeply than any table is: that breaks a law, too, and must not be
    taken for no table at all.
    """
    document = {
        "apiVersion": TABLE_API,
        "kind": TABLE_KIND,
        "metadata": {"name": raw["metadata"]["name"]},
        "spec": raw.get("spec"),
    }
    try:
        return orjson.dumps(document)
    except TypeError:
        return b""


def load_table_text(text: bytes) -> Table:
    """Load what ``table_text`` has made.

    Raises:
        TableError: It breaks the schema or a law; problems have paths, and no lines: nobody has
            seen the text that they would be of.
    """
    if not text:
        raise TableError(Problem("the table is nested too deeply", hint="remove what nests so"))
    return table_of(orjson.loads(text))
