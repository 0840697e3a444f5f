"""Answers remembered by what they were worked out from, within a bound of memory."""

from __future__ import annotations

# The replicas of one workload ask the same thing; a busy cluster runs some hundred workloads, each
# a few kilobytes here, a hundred on a table of a thousand rows. What is larger is rare and worth
# working out again.
_MAX_ENTRY_BYTES = 256 * 1024
_MAX_BYTES = 16 * 1024 * 1024

# What an entry costs beside its texts: the key, the dictionary's slot and a few small objects.
_OVERHEAD_BYTES = 1024


class Memo:
    """A bounded mapping from bytes to answers; emptied when it is full."""

    __slots__ = ("_answers", "_bytes")

    def __init__(self) -> None:
        self._answers: dict[bytes, object] = {}
        self._bytes = 0

    def get(self, key: bytes) -> object | None:
        """Return what was remembered under a key, None if nothing."""
        return self._answers.get(key)

    def put(self, key: bytes, answer: object, size: int) -> None:
        """Remember an answer of about ``size`` bytes, unless it is a large one."""
        cost = len(key) + size + _OVERHEAD_BYTES
        if cost > _MAX_ENTRY_BYTES:
            return
        if self._bytes + cost > _MAX_BYTES:
            self._answers.clear()
            self._bytes = 0
        self._answers[key] = answer
        self._bytes += cost
