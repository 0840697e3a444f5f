"""After failures in a row ever longer pauses, for each of many things of its own."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_FIRST_S = 1.0
_LONGEST_S = 60.0
_FORGOTTEN_S = 600.0


class Pauses(Generic[K]):
    """Which things failed, how often in a row, and when to try them again.

    Times are seconds of a steady clock.
    """

    def __init__(self) -> None:
        self._failed: dict[K, tuple[int, float]] = {}

    def failed(self, key: K, now: float) -> None:
        """Note a failure: the pause doubles, up to a minute."""
        failures = self.failures(key) + 1
        self._failed[key] = failures, now + min(_FIRST_S * 2 ** (failures - 1), _LONGEST_S)

    def succeeded(self, key: K) -> None:
        """Forget the failures of one thing."""
        self._failed.pop(key, None)

    def failures(self, key: K) -> int:
        """Return how often in a row a thing has failed."""
        return self._failed.get(key, (0, 0.0))[0]

    def is_over(self, key: K, now: float) -> bool:
        """Tell whether a thing may be tried."""
        return self._failed.get(key, (0, now))[1] <= now

    def waiting(self, now: float) -> frozenset[K]:
        """Return the things whose pause is not over; those that were tried long ago are forgotten.

        For things that nobody counts: a Pod that is gone needs no further attempt.
        """
        self._failed = {
            key: one for key, one in self._failed.items() if now - one[1] < _FORGOTTEN_S
        }
        return frozenset(key for key, (_, until) in self._failed.items() if now < until)

    def keep(self, wanted: Collection[K]) -> None:
        """Forget what nobody wants to be tried any more."""
        self._failed = {key: one for key, one in self._failed.items() if key in wanted}
