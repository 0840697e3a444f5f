"""How CEL reads what a device may lack (C3)."""

from __future__ import annotations

import json
from typing import Final

from selection_spec.guards.reads import Path

NOTHING: Final = {
    "bool": "false",
    "int": "0",
    "quantity": 'quantity("0")',
    "string": '""',
    "version": 'semver("0.0.0")',
}
"""A value of each kind that means nothing."""


def guarded(path: Path, kind: str) -> str:
    """Return what reads an attribute, or nothing of its kind where a device lacks it."""
    return f"{_owner(path)}.?{path[-1]}.orValue({NOTHING[kind]})"


def has(path: Path) -> str:
    """Return what tells whether a device has an attribute."""
    return f"has({_owner(path)}.{path[-1]})"


def _owner(path: Path) -> str:
    return f"device.{path[0]}[{json.dumps(path[1], ensure_ascii=False)}]"
