"""Run one program so that it never outlives the process that asked for it.

``python guard.py LOG PROGRAM [ARGUMENT …]``, with a pipe as standard input that only the asking
process holds the other end of. When that process closes it or dies, by SIGKILL too, the guard kills
the program. Should the guard itself be killed, Linux kills the program.

Each byte of standard input is a signal for the program (:data:`COMMANDS`), and is sent back on
standard output when that signal was given.

A guard has one program and knows nothing of Kubernetes, and it imports nothing of the project: it
runs as a script, isolated from the environment.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

TERMINATE, FREEZE, THAW = b"T", b"F", b"C"

COMMANDS = {TERMINATE: signal.SIGTERM, FREEZE: signal.SIGSTOP, THAW: signal.SIGCONT}

_PR_SET_PDEATHSIG = 1


def main(log: str, command: list[str]) -> int:
    """Run the command until it ends or nobody wants it any more; the exit code is the program's."""
    with Path(log).open("ab") as output:
        program = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # safe: there is one thread so far
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
        )
    threading.Thread(target=_obey, args=(program,), daemon=True).start()
    code = program.wait()
    return code if code >= 0 else 128 - code


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _obey(program: subprocess.Popen[bytes]) -> None:
    while command := os.read(sys.stdin.fileno(), 1):
        program.send_signal(COMMANDS[command])
        os.write(sys.stdout.fileno(), command)
    program.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
