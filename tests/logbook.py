"""A log that a test can read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from webhook.logs import Log

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


class Logbook:
    """Keeps what is written to ``log``, with the clock standing still."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.log = Log(self.written.append, clock=lambda: NOW)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines so far, without their time."""
        self.log.flush()
        lines = [json.loads(line) for line in b"".join(self.written).splitlines()]
        return [{key: value for key, value in line.items() if key != "time"} for line in lines]
