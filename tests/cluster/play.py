"""A Kubernetes to play with: ``python -m tests.cluster.play``, until Ctrl-C.

The control plane is real, its 260 nodes are not: Pods are scheduled as they would be, and then
only said to run.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.api import WaitError
from tests.cluster.binaries import FOLDER_VARIABLE, MINORS, BinariesError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import GPU, MODEL_LABEL, fleet, model_taint, small_fleet
from tests.cluster.pods import pod
from tests.cluster.processes import ProcessError
from tests.cluster.progress import CommandError, say

_LOOK_SECONDS = 1.0
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Start, tell how to use it, wait for Ctrl-C, clean up."""
    chosen = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    try:
        with tempfile.TemporaryDirectory(prefix="gpuspec-play-") as folder:
            _play(chosen.version, chosen.nodes, Path(folder))
    except KeyboardInterrupt:
        say("interrupted before it was ready; nothing is left behind")
        return _INTERRUPTED
    except (BinariesError, CommandError, ProcessError, WaitError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def install_webhook(control_plane: ControlPlane) -> None:
    """Put our webhook in front of the API server; there is none yet."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.cluster.play",
        description="Run a real Kubernetes control plane with fake nodes until Ctrl-C.",
        epilog=f"{FOLDER_VARIABLE} names a folder of binaries, so that none are built.",
    )
    parser.add_argument(
        "--version",
        choices=MINORS,
        default=MINORS[-1],
        help="the minor version of Kubernetes (default: %(default)s)",
    )
    parser.add_argument(
        "--nodes",
        type=_positive,
        metavar="N",
        help="only so many nodes, in the same shares of models (default: all 260)",
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _play(version: str, count: int | None, folder: Path) -> None:
    started = time.monotonic()
    say(f"starting Kubernetes {version} (the first time, it is built: minutes) …")
    nodes = fleet() if count is None else small_fleet(count)
    with ControlPlane.start(version, nodes=nodes, workdir=folder) as control_plane:
        install_webhook(control_plane)
        say(f"Kubernetes {version}, {len(nodes)} nodes: up in {time.monotonic() - started:.0f} s")
        print(_how_to_use(control_plane), flush=True)
        _wait_for_interrupt(control_plane)
        say("ending it …")


def _how_to_use(control_plane: ControlPlane) -> str:
    kubectl = control_plane.kubectl.program
    example = control_plane.workdir / "pod.json"
    body = pod("example", limits={GPU: "1"}, tolerations=[model_taint("a30-24gb")])
    example.write_text(json.dumps(body, indent=2))
    return f"""
In another terminal:

  export KUBECONFIG={control_plane.kubeconfig}
  {kubectl} get nodes -L {MODEL_LABEL}
  {kubectl} apply -f {example}
  {kubectl} get pods -o wide

Logs: {control_plane.workdir}/*.log
Ctrl-C ends it and removes everything.
"""


def _wait_for_interrupt(control_plane: ControlPlane) -> None:
    try:
        while True:
            for process in control_plane.processes.values():
                process.require_running()
            time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    sys.exit(main())
