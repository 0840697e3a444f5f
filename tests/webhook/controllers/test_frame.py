"""A loop is woken, paced and repeated, and an error ends neither it nor the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

import pytest

from tests.cluster.api import wait_until
from tests.logbook import NOW, Logbook
from webhook.controllers.frame import Frame, Paced
from webhook.controllers.loop_metrics import LoopMetrics
from webhook.kube.errors import UnreachableError

FAR = 3600.0


class Counting:
    """A loop that counts its runs and does what it is told in each."""

    name = "counting"

    def __init__(self, act: Callable[[int], float] = lambda _: FAR) -> None:
        self.runs = 0
        self._act = act

    def run(self, now: datetime) -> float:
        assert now == NOW
        self.runs += 1
        return self._act(self.runs)

    def wait(self, runs: int) -> None:
        wait_until(lambda: self.runs >= runs, timeout=10, what=f"{runs} runs", poll=0.002)


class Running:
    """A frame in a thread."""

    def __init__(self, *loops: Paced) -> None:
        self.book = Logbook()
        self.metrics = LoopMetrics()
        self._frame = Frame(loops, log=self.book.log, metrics=self.metrics, clock=lambda: NOW)

    @contextmanager
    def started(self) -> Iterator[None]:
        stopping = threading.Event()
        thread = threading.Thread(target=self._frame.run, args=(stopping,))
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join(10)
            assert not thread.is_alive()

    def ran(self, result: str) -> float | None:
        value: float | None = self.metrics.registry.get_sample_value(
            "gpuspec_loop_runs_total", {"loop": "counting", "result": result}
        )
        return value


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.controllers.frame._FIRST_PAUSE_S", 0.001)


def test_a_loop_runs_at_once_and_whenever_it_is_woken() -> None:
    loop = Counting()
    paced = Paced(loop, 0.0)
    with Running(paced).started():
        loop.wait(1)
        paced.wake.set()
        loop.wait(2)
    assert loop.runs == 2


def test_a_loop_runs_again_when_it_said_so() -> None:
    loop = Counting(lambda run: 0.001 if run < 3 else FAR)
    with Running(Paced(loop, 0.0)).started():
        loop.wait(3)
    assert loop.runs == 3


def test_wake_ups_that_come_together_are_one_run() -> None:
    loop = Counting()
    paced = Paced(loop, 0.2)
    running = Running(paced)
    with running.started():
        for _ in range(100):
            paced.wake.set()
        loop.wait(1)
        assert not paced.wake.is_set()


def test_an_error_is_told_once_and_tried_again() -> None:
    def act(run: int) -> float:
        if run < 4:
            raise UnreachableError("nobody listens")
        return FAR

    loop = Counting(act)
    running = Running(Paced(loop, 0.0))
    with running.started():
        loop.wait(4)
        wait_until(lambda: running.ran("success") == 1, timeout=10, what="the metric")
    failed = {"level": "error", "message": "a loop failed", "loop": "counting"}
    assert running.book.lines == [failed | {"why": "nobody listens"}]
    assert running.ran("failure") == 3


def test_a_bug_in_one_loop_leaves_the_others_running() -> None:
    def broken(_: int) -> float:
        raise KeyError("oops")

    other = Counting()
    paced = Paced(other, 0.0)
    bad = Counting(broken)
    running = Running(Paced(bad, 0.0), paced)
    with running.started():
        bad.wait(3)
        paced.wake.set()
        other.wait(2)
    first = running.book.lines[0]
    assert first["message"] == "a loop failed"
    assert "KeyError: 'oops'" in first["traceback"]


def test_stopping_ends_every_loop_whatever_it_waits_for() -> None:
    with Running(Paced(Counting(), FAR), Paced(Counting(lambda _: FAR), 0.0)).started():
        pass
