"""Times in which something happens to a cluster, and what each costs the controller."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.bench.figures import table
from tests.bench.followed import LOOPS, Asked, Controller, Runs, writes


@dataclass(frozen=True)
class Phase:
    """What happened during a time, and what it cost."""

    name: str
    seconds: float
    cpu_seconds: float | None
    mib: float | None
    peak_mib: float | None
    reads: int
    writes: int
    runs: dict[str, Runs]

    def row(self) -> tuple[str, ...]:
        """Return its line of the table."""
        cpu = None if self.cpu_seconds is None else 100 * self.cpu_seconds / self.seconds
        return (
            self.name,
            f"{self.seconds:.1f}",
            rounded(cpu, "%"),
            rounded(self.mib),
            rounded(self.peak_mib),
            f"{self.reads:,}",
            f"{self.writes:,}",
        )

    def loops_row(self) -> tuple[str, ...]:
        """Return its line of the table of loops."""
        return (self.name, *(cell for loop in LOOPS for cell in _runs_cells(self.runs[loop])))


class Phases:
    """Measures one phase after the other; as text it is two tables, costs and loops."""

    def __init__(self, asked: Asked, controller: Controller) -> None:
        self._asked = asked
        self._controller = controller
        self._done: list[Phase] = []

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Measure what happens in this block."""
        one = self._controller
        asked, cpu, runs = self._asked.counts(), one.cpu_seconds, one.runs()
        started = time.monotonic()
        yield
        seconds = time.monotonic() - started
        spent, later, new = one.cpu_seconds, one.runs(), self._asked.counts() - asked
        self._done.append(
            Phase(
                name=name,
                seconds=seconds,
                cpu_seconds=None if cpu is None or spent is None else spent - cpu,
                mib=one.memory_mib("VmRSS"),
                peak_mib=one.memory_mib("VmHWM"),
                reads=new.total() - writes(new),
                writes=writes(new),
                runs={loop: later[loop] - runs[loop] for loop in LOOPS},
            )
        )

    def __str__(self) -> str:
        of_costs = ("", "s", "CPU", "MiB", "peak", "reads", "writes")
        of_loops = ("", *(cell for loop in LOOPS for cell in (f"{loop} runs", "ms")))
        return "\n\n".join(
            (
                table(of_costs, [phase.row() for phase in self._done]),
                table(of_loops, [phase.loops_row() for phase in self._done]),
            )
        )


def _runs_cells(runs: Runs) -> tuple[str, str]:
    each = f"{1000 * runs.seconds / runs.count:.1f}" if runs.count else "-"
    return f"{runs.count:.0f}", each


def rounded(value: float | None, unit: str = "") -> str:
    """Return a figure without a fraction, a question mark where nobody tells it."""
    return "?" if value is None else f"{value:.0f}{unit}"
