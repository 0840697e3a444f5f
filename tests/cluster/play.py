"""A Kubernetes to play with: ``python -m tests.cluster.play``, until Ctrl-C.

The control plane and gpuspec are real, the 260 nodes are not: Pods are translated and scheduled as
they would be, and then only said to run.
"""

from __future__ import annotations

import argparse
import signal
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.api import Json, WaitError
from tests.cluster.binaries import FOLDER_VARIABLE, MINORS, BinariesError
from tests.cluster.claims.fleet import CLASSES, device_class, publish, slices_of
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import MODEL_LABEL, fleet, small_fleet
from tests.cluster.processes import Process, ProcessError
from tests.cluster.product.installation import EXAMPLE_TABLE
from tests.cluster.product.priorities import HIGH, HIGH_VALUE, create_priority_class
from tests.cluster.product.shipped import Shipped
from tests.cluster.progress import CommandError, say

_LOOK_SECONDS = 1.0
_BIN = sysconfig.get_path("scripts")
_INTERRUPTED = 130

_POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  restartPolicy: Never
  containers:
    - name: main
      image: registry.example/train:1
      resources: {{limits: {{{key}: 1}}}}
"""
_WITH_PRIORITY = _POD + "  priorityClassName: {priority}\n"
_EXAMPLES = {
    "any-24gb.yaml": _POD.format(name="any-24gb", key="preferred.jp/gpu-any-24gb"),
    "high.yaml": _WITH_PRIORITY.format(name="high", key="preferred.jp/gpu-any-24gb", priority=HIGH),
    "wrong.yaml": _POD.format(name="wrong", key="preferred.jp/gpu-a10"),
}

# A condition that a monitor would set; where it has no time of its own, nobody knows since when.
_LOST = (
    '{"status": {"conditions": [{"type": "GPUIsLost", "status": "True", '
    """"lastTransitionTime": "'$(date -u +%FT%TZ)'"}]}}"""
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Start, tell how to use it, wait for Ctrl-C, clean up."""
    chosen = _parser().parse_args(arguments)
    # Both end it as Ctrl-C does, also where a shell that started it in the background has SIGINT
    # ignored.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.cluster.play",
        description="Run a real Kubernetes control plane with fake nodes and gpuspec until Ctrl-C.",
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
    for_gpuspec = folder / "gpuspec"
    for_gpuspec.mkdir()
    with ControlPlane.start(version, nodes=nodes, workdir=folder) as control_plane:
        shipped = Shipped(control_plane, for_gpuspec)
        shipped.apply("--server-side")
        with shipped.running() as programs:
            create_priority_class(control_plane.api, HIGH, HIGH_VALUE)
            control_plane.api.create(CLASSES, device_class())
            publish(control_plane.api, slices_of(nodes))
            table = EXAMPLE_TABLE.read_text().replace("name: pfn", "name: default")
            (folder / "table.yaml").write_text(table)
            control_plane.kubectl("apply", "--server-side", "-f", str(folder / "table.yaml"))
            seconds = time.monotonic() - started
            say(f"Kubernetes {version}, {len(nodes)} nodes and gpuspec: up in {seconds:.0f} s")
            print(_how_to_use(control_plane, _one_with_gpus(nodes)), flush=True)
            _wait_for_interrupt([*control_plane.processes.values(), *programs])
            say("ending it …")


def _one_with_gpus(nodes: Sequence[Json]) -> str:
    """Return the name of a node that may be broken."""
    metadata = (node["metadata"] for node in nodes)
    return next(str(one["name"]) for one in metadata if MODEL_LABEL in one["labels"])


def _how_to_use(control_plane: ControlPlane, sick: str) -> str:
    folder = control_plane.workdir
    path = ":".join(dict.fromkeys((str(control_plane.kubectl.program.parent), _BIN)))
    for name, manifest in _EXAMPLES.items():
        (folder / name).write_text(manifest)
    return f"""
In another terminal:

  cd {folder}
  export KUBECONFIG={control_plane.kubeconfig} PATH="{path}:$PATH"
  kubectl get nodes -L {MODEL_LABEL}
  kubectl apply -f any-24gb.yaml    # preferred.jp/gpu-any-24gb: 1
  kubectl apply -f high.yaml        # the same with high priority
  kubectl get pods -o wide -L gpuspec.preferred.jp/spec
  kubectl get pod any-24gb -o yaml  # what the webhook has made of it
  kubectl apply -f wrong.yaml       # is refused, and told what to write
  gpuspec offers                    # what is free
  gpuspec table show --cluster      # the table, and what its rows match
  gpuspec table generate --cluster  # one made from the nodes
  kubectl get deviceclasses,resourceslices  # the same devices, as a DRA driver has them
  gpuspec health                    # what has failed: nothing yet
  kubectl patch node {sick} --subresource=status -p '{_LOST}'  # break a node
  gpuspec health explain {sick}     # and what would be done about it

gpuspec is installed from manifests/ already (its overlay: gpuspec/manifests/overlays/mine);
the webhook and the controller run beside the cluster, for its kubelets are fake.
The selection table: table.yaml (edit it; kubectl apply --server-side -f table.yaml).
Logs: *.log and gpuspec/*.log
Ctrl-C ends it and removes everything.
"""


def _wait_for_interrupt(processes: Sequence[Process]) -> None:
    try:
        while True:
            for process in processes:
                process.require_running()
            time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    sys.exit(main())
