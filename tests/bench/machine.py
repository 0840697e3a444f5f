"""What a figure has to be read with: command, commit, machine, versions; and who runs where."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from textwrap import fill

from tests.bench.figures import WIDTH

_LIBRARIES = ("fastapi", "starlette", "uvicorn", "uvloop", "httptools", "orjson", "pydantic")
_ROOT = Path(__file__).parent.parent.parent
_BUSY = 0.5


def header(arguments: Sequence[str]) -> str:
    """Say which command measures what on which machine."""
    lines = (
        shlex.join(["python", "-m", "tests.bench", *arguments]),
        f"commit {_commit()}",
        f"{len(_cores())} cores of {_processor()}, {platform.system()} {platform.release()}",
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in _LIBRARIES),
        *_others(),
    )
    return "\n".join(fill(line, WIDTH, subsequent_indent="  ") for line in lines)


def _commit() -> str:
    git = ("git", "-C", str(_ROOT))
    try:
        name = _output(*git, "rev-parse", "--short", "HEAD")
        changed = _output(*git, "status", "--porcelain", "--untracked-files=normal")
    except (OSError, subprocess.CalledProcessError):
        return "unknown (this is no git checkout)"
    return f"{name} and changes that are not committed" if changed else name


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    """Return the name that Linux shows, else what Python knows of it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _others() -> Iterator[str]:
    """Warn when other programs take part of the machine: figures are lower than they could be."""
    load = os.getloadavg()[0]
    if load > _BUSY:
        yield f"load average {load:.1f} before the start: others run here too"


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


class Cores:
    """One core for the servers, another one for whoever drives them, where there are two.

    Attributes:
        apart: Whether they could be kept apart.
    """

    def __init__(self) -> None:
        self._all = set(_cores())
        self.apart = hasattr(os, "sched_setaffinity") and len(self._all) > 1

    @contextmanager
    def of_servers(self) -> Iterator[None]:
        """What is started in this block runs on the servers' core, threads and all."""
        with self._only(min(self._all)):
            yield

    @contextmanager
    def of_load(self) -> Iterator[None]:
        """What this process does in this block it does on the other core."""
        with self._only(max(self._all)):
            yield

    @contextmanager
    def _only(self, core: int) -> Iterator[None]:
        if not self.apart:
            yield
            return
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {core})
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)


def cpu_seconds(pid: int) -> float | None:
    """Return the CPU time of a process with all its threads, None where nobody tells (no Linux)."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    user, system = line.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def python(*arguments: str) -> list[str]:
    """Return the command that runs this interpreter."""
    return [sys.executable, *arguments]
