"""Structured logs: one JSON object a line, on a stream that the caller names.

A service that answers thousands of reviews a second cannot afford a system call for each line, and
must not lose a line either. So lines gather in a buffer that is written when it is large enough,
when somebody calls ``flush`` (the server does so ten times a second and on its way out), and at
once for everything that is not a review.
"""

from __future__ import annotations

import json
import logging
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

import orjson

# What one write hands over at most: half of a Linux pipe's 64 KiB, so that a reader that is a
# little behind never makes a writer wait.
_FLUSH_BYTES = 32 * 1024

_LEVELS = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warning",
    logging.ERROR: "error",
    logging.CRITICAL: "error",
}


def utc_now() -> datetime:
    """Return the present in UTC; the clock that the service runs by."""
    return datetime.now(UTC)


class Log:
    """Writes JSON lines; every method may be called from any thread.

    Args:
        write: Takes whole lines as bytes, for example ``sys.stderr.buffer.write``. When it raises
            ``OSError`` (the reader is gone, the disk is full) the lines are dropped, and their
            number is told when writing works again: losing logs is bad, refusing Pods because of
            it would be worse.
        clock: The present.
    """

    def __init__(
        self, write: Callable[[bytes], object], *, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self._write = write
        self._clock = clock
        self._lines: list[bytes] = []
        self._size = 0
        # Reentrant, since a signal handler may log while the main thread is in here.
        self._lock = threading.RLock()
        self._dropped = 0

    def event(self, level: str, message: str, /, **fields: object) -> None:
        """Add one line, which is written with the next ones."""
        line = self._line(level, message, fields)
        with self._lock:
            self._lines.append(line)
            self._size += len(line)
            if self._size >= _FLUSH_BYTES:
                self.flush()

    def info(self, message: str, /, **fields: object) -> None:
        """Say what happened, at once."""
        self._now("info", message, fields)

    def warning(self, message: str, /, **fields: object) -> None:
        """Say what may become a problem, at once."""
        self._now("warning", message, fields)

    def error(self, message: str, /, **fields: object) -> None:
        """Say what somebody has to repair, at once."""
        self._now("error", message, fields)

    def bug(self, message: str, error: BaseException, /, **fields: object) -> None:
        """Say what is a bug of ours, with its traceback, at once."""
        trace = "".join(traceback.format_exception(error))
        self._now("error", message, {**fields, "traceback": trace})

    def flush(self) -> None:
        """Write everything that was added so far."""
        with self._lock:
            if not self._lines:
                return
            lines, self._lines, self._size = self._lines, [], 0
            dropped, self._dropped = self._dropped, 0
            if dropped:
                lines.append(self._line("warning", "log lines were dropped", {"lines": dropped}))
            try:
                self._write(b"".join(lines))
            except OSError:
                self._dropped = dropped + len(lines) - bool(dropped)

    def _line(self, level: str, message: str, fields: dict[str, object]) -> bytes:
        record = {"time": self._clock(), "level": level, "message": message, **fields}
        try:
            return orjson.dumps(record, default=str, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError:
            # A file name that is not UTF-8, or an integer beyond 64 bits: slower, but never lost.
            return json.dumps(record, default=str).encode() + b"\n"

    def _now(self, level: str, message: str, fields: dict[str, object]) -> None:
        self.event(level, message, **fields)
        self.flush()


class LibraryLines(logging.Handler):
    """Brings what libraries say through ``logging`` into the same stream and form."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; its traceback becomes a field."""
        fields: dict[str, object] = {"logger": record.name}
        if record.exc_info is not None and record.exc_info[1] is not None:
            fields["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))
        level = _LEVELS.get(record.levelno, record.levelname.lower())
        self._log.event(level, record.getMessage().rstrip(), **fields)
        self._log.flush()
