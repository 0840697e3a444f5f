"""Programs under a guard end with whoever started them, and can be crashed and frozen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.api import wait_until
from tests.cluster.processes import Process, ProcessError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

ROOT = Path(__file__).parents[2]

TELL_PID_AND_SLEEP = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"

IGNORE_SIGTERM = (
    f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {TELL_PID_AND_SLEEP}"
)

START_AND_SLEEP = """
import sys, time
from pathlib import Path
from tests.cluster.processes import Process
Process("sleeper", [sys.executable, "-c", sys.argv[1]], Path(sys.argv[2])).start()
time.sleep(600)
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "sleeper.log"


@pytest.fixture
def sleeper(log: Path) -> Iterator[Process]:
    process = python(TELL_PID_AND_SLEEP, log).start()
    yield process
    process.crash()


def python(code: str, log: Path) -> Process:
    return Process("sleeper", [sys.executable, "-c", code], log)


def told_pid(log: Path) -> int:
    return wait_until(
        lambda: int(log.read_text().split()[-1]) if log.exists() and log.read_text() else None,
        timeout=10,
        what="the program to tell its pid",
    )


def state(pid: int) -> str:
    """The process state letter of Linux; empty for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def wait_gone(pid: int) -> None:
    wait_until(lambda: state(pid) in ("", "Z"), timeout=5, what=f"process {pid} to be gone")


def test_stop_lets_the_program_end(sleeper: Process, log: Path) -> None:
    pid = told_pid(log)
    sleeper.stop()
    assert not sleeper.running
    assert state(pid) == ""
    with pytest.raises(ProcessError, match="ended with exit code 143"):
        sleeper.require_running()


def test_stop_kills_a_program_that_does_not_listen(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.cluster.processes._GRACE_SECONDS", 0.2)
    process = python(IGNORE_SIGTERM, log).start()
    pid = told_pid(log)
    process.stop()
    assert state(pid) == ""


def test_crash_and_start_again_append_to_one_log(sleeper: Process, log: Path) -> None:
    first = told_pid(log)
    sleeper.crash()
    assert state(first) == ""
    sleeper.start()
    wait_until(lambda: len(log.read_text().split()) == 2, timeout=10, what="a second pid")


def test_freeze_and_thaw(sleeper: Process, log: Path) -> None:
    pid = told_pid(log)
    sleeper.freeze()
    wait_until(lambda: state(pid) == "T", timeout=5, what="the program to be frozen")
    assert sleeper.running
    sleeper.thaw()
    wait_until(lambda: state(pid) == "S", timeout=5, what="the program to go on")


def test_a_frozen_program_can_be_stopped(sleeper: Process, log: Path) -> None:
    pid = told_pid(log)
    sleeper.freeze()
    wait_until(lambda: state(pid) == "T", timeout=5, what="the program to be frozen")
    sleeper.stop()
    with pytest.raises(ProcessError, match="ended with exit code 143"):  # by SIGTERM
        sleeper.require_running()


def test_a_program_that_ends_by_itself_is_told_with_the_end_of_its_log(log: Path) -> None:
    process = python("print('line\\n' * 50 + 'the reason'); raise SystemExit(3)", log).start()
    wait_until(lambda: not process.running, timeout=10, what="the program to end")
    with pytest.raises(ProcessError) as told:
        process.require_running()
    process.crash()
    lines = str(told.value).splitlines()
    assert lines[0] == f"sleeper ended with exit code 3; the end of {log}:"
    assert lines[-1] == "  the reason"
    assert len(lines) == 1 + 30


def test_a_program_that_runs_is_not_started_twice(sleeper: Process) -> None:
    with pytest.raises(ProcessError, match="runs already"):
        sleeper.start()


def test_the_program_dies_when_its_starter_is_killed(log: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", START_AND_SLEEP, TELL_PID_AND_SLEEP, str(log)], cwd=ROOT
    ) as starter:
        pid = told_pid(log)
        starter.kill()
    wait_gone(pid)


def test_the_program_dies_when_its_guard_is_killed(sleeper: Process, log: Path) -> None:
    pid = told_pid(log)
    guard = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    assert guard != os.getpid()
    os.kill(guard, signal.SIGKILL)
    wait_gone(pid)
    # The kernel tells the child of its parent's death before the parent can be waited for.
    wait_until(lambda: not sleeper.running, timeout=5, what="the guard to be gone")
