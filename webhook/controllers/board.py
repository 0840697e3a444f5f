"""What the loops hand to the one that writes a table's status (design §2)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from webhook.inventory.conditions import Condition


@dataclass(frozen=True, slots=True)
class Part:
    """What one loop has to say: conditions, and fields of its own."""

    conditions: tuple[Condition, ...] = ()
    fields: Mapping[str, object] = field(default_factory=dict)


class Board:
    """The parts by the loop that handed them in; a new one wakes whoever writes.

    Args:
        changed: Called when a part differs from what its loop said before.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._parts: dict[str, Part] = {}

    def post(self, loop: str, part: Part) -> None:
        """Replace what a loop has said."""
        with self._lock:
            if self._parts.get(loop) == part:
                return
            self._parts[loop] = part
        self._changed()

    def conditions(self) -> tuple[Condition, ...]:
        """Return every loop's conditions."""
        with self._lock:
            return tuple(one for part in self._parts.values() for one in part.conditions)

    def fields(self) -> dict[str, object]:
        """Return every loop's fields."""
        with self._lock:
            return {
                name: value for part in self._parts.values() for name, value in part.fields.items()
            }
