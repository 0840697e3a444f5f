"""The documents that the project ships: the built-in table and an example beside it."""

from __future__ import annotations

from importlib.resources import files


def default_table_text() -> bytes:
    """Return the built-in selection table: rows by the labels of GPU Feature Discovery."""
    return files("selection_spec.data").joinpath("default-table.yaml").read_bytes()
