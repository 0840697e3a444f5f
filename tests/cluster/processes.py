"""One program of the control plane as a child process: start, crash, freeze, stop, and its log."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.cluster import guard

_GRACE_SECONDS = 10.0
_LOG_LINES_SHOWN = 30


class ProcessError(Exception):
    """A program could not be started or ended by itself; the message has the end of its log."""


class Process:
    """A program under a guard (see :mod:`tests.cluster.guard`), so that it dies when we die.

    It can be started again after it was stopped or crashed; its log file then grows.
    """

    def __init__(self, name: str, command: list[str], log: Path) -> None:
        self.name = name
        self.command = command
        self.log = log
        self._guard: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start the program; does not wait until it is ready to serve."""
        if self.running:
            raise ProcessError(f"{self.name} runs already")
        self._release()
        with self.log.open("ab") as log:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", guard.__file__, str(self.log), *self.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                cwd=self.log.parent,
                start_new_session=True,  # Ctrl-C in a terminal is ours to handle, in order
            )
        return self

    @property
    def running(self) -> bool:
        """Whether the program runs now (a frozen one does)."""
        return self._guard is not None and self._guard.poll() is None

    def require_running(self) -> None:
        """Raise, with what the program said last, if it is not running any more."""
        if self.running:
            return
        code = None if self._guard is None else self._guard.returncode
        ended = "was not started" if code is None else f"ended with exit code {code}"
        raise ProcessError(f"{self.name} {ended}; {self.log_end()}")

    def log_end(self) -> str:
        """The last lines of the log, under a line that names the file."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        end = "\n".join(f"  {line}" for line in lines[-_LOG_LINES_SHOWN:]) or "  (nothing)"
        return f"the end of {self.log}:\n{end}"

    def stop(self) -> None:
        """Ask the program to end, kill it if it takes too long, and wait until it is gone."""
        if self._guard is not None and self.running:
            self._tell(guard.TERMINATE)
            self._tell(guard.THAW)  # a frozen program would not notice
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._guard.wait(timeout=_GRACE_SECONDS)
        self._release()

    def crash(self) -> None:
        """Kill the program, as a lost machine would: nothing is closed or handed over."""
        self._release()

    def freeze(self) -> None:
        """Stop the program's clock: connections stay open and nothing answers."""
        self.require_running()
        self._tell(guard.FREEZE)

    def thaw(self) -> None:
        """Let a frozen program go on."""
        self.require_running()
        self._tell(guard.THAW)

    def _tell(self, command: bytes) -> None:
        """Have the guard send a signal, and wait until it did; the program may be gone by then."""
        assert self._guard is not None
        assert self._guard.stdin is not None
        assert self._guard.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._guard.stdin.write(command)
        self._guard.stdout.read(1)

    def _release(self) -> None:
        """Let go of the guard, which then kills the program if that still runs."""
        if self._guard is None:
            return
        with self._guard:  # closes the pipes and waits
            pass
