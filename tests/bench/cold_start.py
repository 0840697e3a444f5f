"""``gpuspec explain`` from a cold start, beside what an interpreter and one library take."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from itertools import count
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import perf_counter
from typing import NamedTuple

from tests.bench.figures import milliseconds, percentile, table
from tests.bench.machine import python

TARGET_MS = 250

_EXPLAIN = ("-m", "webhook", "explain", "any-24gb")
_COMMANDS = {
    "python -c pass": ("-c", "pass"),
    'python -c "import pydantic"': ("-c", "import pydantic"),
    "gpuspec explain any-24gb": _EXPLAIN,
}
_FEWEST = 3
_SHOWN_IMPORTS = 25


def bench(seconds: float, *, profile: bool) -> None:
    """Measure and print whole processes, for so many seconds a command.

    Args:
        seconds: How long to start each command again and again.
        profile: Also print what the imports of ``explain`` take.
    """
    runs: dict[str, list[_Run]] = {name: [] for name in _COMMANDS}
    rounds, end = count(1), perf_counter() + seconds * len(_COMMANDS)
    while next(rounds) <= _FEWEST or perf_counter() < end:
        for name, arguments in _COMMANDS.items():
            runs[name].append(_run(arguments))
    print("Whole processes, one after the other, milliseconds (median).\n")
    print(table(("", "runs", "p50", "p90", "CPU"), [_row(*one) for one in runs.items()]))
    print(f"  target of explain: at most {TARGET_MS}")
    if profile:
        print(f"\nThe {_SHOWN_IMPORTS} imports that take longest, microseconds.\n")
        print(_imports())


class _Run(NamedTuple):
    """One process: seconds by the clock, and of CPU, which are the same on a busy machine."""

    seconds: float
    cpu_seconds: float


def _run(arguments: Sequence[str]) -> _Run:
    before, started = _cpu_of_children(), perf_counter()
    subprocess.run(python(*arguments), stdout=subprocess.DEVNULL, check=True)
    return _Run(perf_counter() - started, _cpu_of_children() - before)


def _cpu_of_children() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(name: str, runs: Sequence[_Run]) -> tuple[str, ...]:
    times = [one.seconds for one in runs]
    return (
        name,
        str(len(runs)),
        *(milliseconds(percentile(times, share)) for share in (0.5, 0.9)),
        milliseconds(median(one.cpu_seconds for one in runs)),
    )


def _imports() -> str:
    """Return the imports of ``explain`` that take longest by themselves."""
    done = subprocess.run(
        python("-X", "importtime", *_EXPLAIN), capture_output=True, text=True, check=True
    )
    rows = [
        [cell.strip() for cell in line.removeprefix("import time:").split("|")]
        for line in done.stderr.splitlines()
        if line.startswith("import time:") and "[us]" not in line
    ]
    longest = sorted(rows, key=lambda row: int(row[0]), reverse=True)[:_SHOWN_IMPORTS]
    total = sum(int(row[0]) for row in rows)
    return table(
        ("module", "itself", "with what it imports"),
        [*((name, itself, whole) for itself, whole, name in longest), ("all", str(total), "")],
    )
