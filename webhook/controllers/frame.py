"""The frame that every loop runs in: woken by changes, paced, repeated, not ended by any error.

A loop is level-triggered: each run looks at what is there now, however it came about. So a wake-up
may be lost or doubled, a run may be cut off anywhere, and the next one makes it good.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Protocol

from webhook.controllers.loop_metrics import LoopMetrics, Result
from webhook.kube.errors import ClusterError
from webhook.logs import Log

# After an error, doubling up to the longest: a loop that cannot write must not ask ever again.
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_SOONEST_S = 5.0


class Loop(Protocol):
    """One thing that the controller keeps right."""

    @property
    def name(self) -> str:
        """What logs and metrics call it."""

    def run(self, now: datetime) -> float:
        """Look at what is there and put right what differs.

        Returns:
            In how many seconds to look again at the latest, whether or not anything changes.

        Raises:
            ClusterError: The API server refuses or does not answer; it is tried again, later.
        """


@dataclass(frozen=True, slots=True)
class Paced:
    """A loop and its rhythm.

    Attributes:
        loop: What to run.
        gather_s: How long to wait after a wake-up for what comes with it; so the loop runs at most
            once in this time, whatever happens.
        wake: Set by whatever the loop depends on.
    """

    loop: Loop
    gather_s: float
    wake: threading.Event = field(default_factory=threading.Event)


class Frame:
    """Runs loops side by side until it is told to stop."""

    def __init__(
        self,
        loops: Sequence[Paced],
        *,
        log: Log,
        metrics: LoopMetrics,
        clock: Callable[[], datetime],
    ) -> None:
        self._loops = loops
        self._log = log
        self._metrics = metrics
        self._clock = clock

    def run(self, stopping: threading.Event) -> None:
        """Run every loop in a thread of its own; return when all have ended."""
        threads = [
            threading.Thread(target=self._repeat, args=(paced, stopping), name=paced.loop.name)
            for paced in self._loops
        ]
        for thread in threads:
            thread.start()
        stopping.wait()
        for paced in self._loops:
            paced.wake.set()
        for thread in threads:
            thread.join()

    def _repeat(self, paced: Paced, stopping: threading.Event) -> None:
        failures = 0
        trouble = ""
        paced.wake.set()
        wait_s = 0.0
        while not stopping.is_set():
            paced.wake.wait(wait_s)
            if stopping.wait(paced.gather_s):
                return
            paced.wake.clear()
            found = self._once(paced.loop)
            if isinstance(found, float):
                failures, trouble, wait_s = 0, "", found
                continue
            if stopping.is_set():
                return  # it was cut off, which is no failure
            if found != trouble:
                trouble = found
                self._log.error("a loop failed", loop=paced.loop.name, why=found)
            failures += 1
            pause_s = min(_FIRST_PAUSE_S * 2 ** (failures - 1), _LONGEST_PAUSE_S)
            # A change may be the remedy, and is looked at soon, but not at once: in a busy cluster
            # something changes all the time, and what fails would only fail more often.
            stopping.wait(min(pause_s, _SOONEST_S))
            wait_s = max(0.0, pause_s - _SOONEST_S)

    def _once(self, loop: Loop) -> float | str:
        """Run a loop once; return when to look again, or what went wrong."""
        started = monotonic()
        try:
            again = loop.run(self._clock())
        except ClusterError as error:
            self._metrics.ran(loop.name, Result.FAILURE, monotonic() - started)
            return str(error)
        except Exception as bug:  # noqa: BLE001 -- a bug in one loop must not end the others
            self._metrics.ran(loop.name, Result.FAILURE, monotonic() - started)
            self._log.bug("a loop failed", bug, loop=loop.name)
            return f"{type(bug).__name__}: {bug}"
        self._metrics.ran(loop.name, Result.SUCCESS, monotonic() - started)
        return float(again)
