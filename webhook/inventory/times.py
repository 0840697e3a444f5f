"""Times of the API server as numbers."""

from __future__ import annotations

from datetime import UTC, datetime


def seconds(text: object) -> float:
    """Return a time of RFC 3339 in seconds since 1970, 0 where it is none."""
    if not isinstance(text, str):
        return 0.0
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return time.timestamp() if time.tzinfo is not None else 0.0


def written(time: float) -> str:
    """Return a number of seconds since 1970 as Kubernetes writes a time: to the second, UTC."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
