"""What a breaker has stopped, told before anything else: until a person looks, nothing is done."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.advice.health.judged import Judged
from webhook.advice.health.phrases import lasting
from webhook.health.breaker import WINDOW_S
from webhook.inventory.times import written


def stopped(judged: Judged) -> Iterator[str]:
    """Yield which rows stand still, since when, why, and what to look at first (H5)."""
    breakers = judged.step.breakers
    rows = sorted(breakers.rows)
    if not rows:
        return
    if breakers.stops_all:
        yield f"STOPPED: nothing is done about any row, because {len(rows)} rows have stopped."
    for row in rows:
        at = breakers.rows[row]
        head = "  " if breakers.stops_all else "STOPPED: "
        yield (
            f"{head}{row}, since {written(at)}, for {lasting(judged.now - at)}: half of it or more "
            f"failed within {lasting(WINDOW_S)}, so the sensor is suspected."
        )
    yield (
        "Look first: is what the sensor says true, and what do they have in common? If it is true, "
        f"or once it is mended: gpuspec health resume {' '.join(rows)}"
    )
