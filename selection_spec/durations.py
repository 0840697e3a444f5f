"""Lengths of time as Kubernetes' manifests write them: ``90s``, ``10m``, ``1h30m``, ``1d``.

Whole days, hours, minutes and seconds, the longest first, each at most once. What Go reads besides
(fractions, ``ms``, a sign) is refused: nothing that a table sets needs it.
"""

from __future__ import annotations

import re
from typing import Final

from selection_spec.errors import DurationError, Problem

_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION = re.compile("".join(f"(?:([0-9]+){unit})?" for unit in _UNITS), re.ASCII)
_BARE_NUMBER = re.compile(r"[0-9]+", re.ASCII)
_ANY_HINT: Final = "write whole days, hours, minutes and seconds such as 30s, 10m or 1h30m"

_MAX_DAYS: Final = 365
LONGEST_S: Final = float(_MAX_DAYS * _UNITS["d"])
"""Seconds of the longest duration that is read; what is set to more was a typing error."""

# More digits than this are longer than the longest even in seconds, and are never made a number.
_MAX_DIGITS: Final = 8


def parse_duration(text: str) -> float:
    """Return the seconds that a text such as ``1h30m`` stands for; always a whole number.

    Raises:
        DurationError: It is no duration, or longer than 365 days. The message follows the name and
            the value of the field.
    """
    match = _DURATION.fullmatch(text) if text else None
    if match is None:
        raise DurationError(_no_duration(text))
    numbers = [(number or "0").lstrip("0") or "0" for number in match.groups()]
    if max(map(len, numbers)) > _MAX_DIGITS:
        raise _too_long()
    seconds = sum(int(n) * unit for n, unit in zip(numbers, _UNITS.values(), strict=True))
    if seconds > LONGEST_S:
        raise _too_long()
    return float(seconds)


def duration_text(seconds: float) -> str:
    """Return the shortest text of whole seconds that ``parse_duration`` reads back: ``1h30m``."""
    rest, parts = int(seconds), []
    for name, unit in _UNITS.items():
        count, rest = divmod(rest, unit)
        parts += [f"{count}{name}"] if count else []
    return "".join(parts) or "0s"


def _no_duration(text: str) -> Problem:
    if not text.strip():
        return Problem("is empty", hint="write a duration such as 30s")
    if _BARE_NUMBER.fullmatch(text):
        return Problem("has no unit", hint=f"write {text}s")
    if text.startswith("-"):
        return Problem("is negative", hint="write a duration such as 30s")
    return Problem("is no duration", hint=_ANY_HINT)


def _too_long() -> DurationError:
    return DurationError(
        Problem(f"is longer than {_MAX_DAYS} days", hint=f"write at most {_MAX_DAYS}d")
    )
