"""The composition root: from settings to a running process, and out again without losing anything.

Nothing else makes these objects, and nothing here decides anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable


class CannotStartError(Exception):
    """A process cannot start; carries every problem that was found, not only the first."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def writer(descriptor: int) -> Callable[[bytes], None]:
    """Return what writes all of some bytes, past the buffers of Python's own streams."""

    def write(content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    return write
