"""What a SelectionTable's status says of its rows, for as long as it holds (semantics D7, C3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from selection_spec.availability import Availability, RowStatus
from selection_spec.resolve import NOTHING_KNOWN

# The controller renews a status every 60 s; one that was not renewed three times says nothing (D7).
_FRESH = timedelta(seconds=180)


@dataclass(frozen=True, slots=True)
class LiveStatus:
    """A status as it was written.

    Attributes:
        digest: Which table it speaks of; "" where there is none.
        renewed: When it was last known to be right; None where there is none.
        rows: Its counts by row id, and the DeviceClasses that do not exist.
    """

    digest: str
    renewed: datetime | None
    rows: Availability

    def of_table(self, digest: str, now: datetime) -> Availability:
        """Return the counts if they are fresh and of the table with this digest, else nothing."""
        is_fresh = self.renewed is not None and abs(now - self.renewed) < _FRESH
        return self.rows if is_fresh and self.digest == digest else NOTHING_KNOWN


def live_status(status: object) -> LiveStatus:
    """Read the raw status of a SelectionTable; one of a wrong shape counts as none."""
    fields = status if isinstance(status, dict) else {}
    return LiveStatus(
        digest=str(fields.get("digest") or ""),
        renewed=_time(fields.get("renewTime")),
        rows=Availability(_rows(fields.get("rows")), _classes(fields.get("missingDeviceClasses"))),
    )


def _rows(rows: object) -> dict[str, RowStatus]:
    return {
        row["id"]: RowStatus(row["devices"], row["mostUsableOnANode"])
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict)
        and isinstance(row.get("id"), str)
        and type(row.get("devices")) is int
        and type(row.get("mostUsableOnANode")) is int
    }


def _classes(names: object) -> frozenset[str]:
    return frozenset(
        name for name in (names if isinstance(names, list) else ()) if isinstance(name, str)
    )


def _time(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else None
