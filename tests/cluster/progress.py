"""Long commands and waits that show on standard error that they are alive."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_TICK_SECONDS = 10.0
_LOCK_POLL_SECONDS = 0.2
_OUTPUT_SHOWN = 4000


class CommandError(Exception):
    """A command failed; the message has the end of what it printed."""


def say(text: str) -> None:
    """Print one line for the person who waits; standard output stays free for results."""
    print(f"[gpuspec] {text}", file=sys.stderr, flush=True)


def run(what: str, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
    """Run a command to its end with a line when it starts, a tick every 10 s and a line after."""
    say(f"{what} …")
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        ) as process:
            try:
                while _is_running(process):
                    say(f"{what} … {time.monotonic() - started:.0f} s")
            except BaseException:
                process.terminate()
                raise
        if process.returncode != 0:
            output.seek(0)
            said = output.read().decode(errors="replace")[-_OUTPUT_SHOWN:]
            raise CommandError(f"{what} failed: {' '.join(command)}\n{said}")
    say(f"{what}: done in {time.monotonic() - started:.0f} s")


def _is_running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=_TICK_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


@contextmanager
def exclusive(lock: Path, what: str) -> Iterator[None]:
    """Hold a lock file, so that two processes never do the same long work; say why we wait."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    started = told = time.monotonic()
    with lock.open("a") as file:
        while not _try_lock(file.fileno()):
            if time.monotonic() - told >= _TICK_SECONDS or told == started:
                told = time.monotonic()
                say(f"{what}: another process is at it, waiting … {told - started:.0f} s")
            time.sleep(_LOCK_POLL_SECONDS)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
