"""``make play``: what it prints works in a terminal, and Ctrl-C ends it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.versions import ON_NEWEST

pytestmark = ON_NEWEST

ROOT = Path(__file__).parents[3]

NODES = "26"


def test_what_it_prints_works_and_ctrl_c_leaves_nothing(kubernetes: str) -> None:
    with playing(kubernetes) as (play, printed):
        change_folder, export, *commands = re.findall(r"^  ([^#\n]*[^#\s])", printed, re.MULTILINE)
        typed = [terminal(change_folder, export, command) for command in commands]
        play.send_signal(signal.SIGINT)
        assert play.wait(60) == 0
    assert not Path(change_folder.removeprefix("cd ")).exists()

    *first, devices, well, broken, explained = typed
    nodes, created, high, pods, translated, wrong, offers, shown, generated = first
    assert [one.returncode for one in typed] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], typed
    assert len(nodes.stdout.splitlines()) == 1 + int(NODES)
    assert created.stdout == "pod/any-24gb created\n"
    assert high.stdout == "pod/high created\n"
    assert re.search("^any-24gb .*gpu-any-24gb$", pods.stdout, re.MULTILINE)
    assert re.search("^high .*gpu-any-24gb$", pods.stdout, re.MULTILINE)
    assert "nvidia.com/gpu" in translated.stdout
    assert "no device is called a10; nearest: a100, " in wrong.stderr
    assert re.search("^gpu-any-24gb +70 ", offers.stdout, re.MULTILINE)
    assert "a100-80gb" in shown.stdout
    assert generated.stdout.startswith("# A selection table for the 22 of 26 nodes")
    assert "deviceclass.resource.k8s.io/gpu.nvidia.com" in devices.stdout
    assert "Nothing is wrong with any node or device" in well.stdout
    assert broken.stdout.endswith(" patched\n")
    assert "Failed    node " in explained.stdout


_QUEUED = """
echo 'components: [../../components/kueue]' >> gpuspec/manifests/overlays/mine/kustomization.yaml
kubectl apply --server-side -k gpuspec/manifests/overlays/mine
kubectl create namespace team
kubectl label namespace team gpuspec.preferred.jp/kueue=true
for second in $(seq 60); do
  kubectl apply -n team -f any-24gb.yaml && break
  sleep 1
done
kubectl get pod any-24gb -n team -o jsonpath='{.metadata.labels}'
"""


@pytest.mark.rule("C5")
def test_a_component_that_is_added_to_its_overlay_works_too(kubernetes: str) -> None:
    """Its entry asks the port where the webhook listens here."""
    with playing(kubernetes) as (_, printed):
        change_folder, export, *_ = re.findall(r"^  ([^#\n]*[^#\s])", printed, re.MULTILINE)
        done = terminal(change_folder, export, _QUEUED)
    assert done.stdout.endswith('{"gpuspec.preferred.jp/spec":"gpu-any-24gb"}'), done.stderr
    assert "no service port" not in done.stderr


@contextmanager
def playing(version: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The running command, and what it printed when it was ready."""
    command = [sys.executable, "-m", "tests.cluster.play", "--version", version, "--nodes", NODES]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as play:
        assert play.stdout is not None
        printed = ""
        for line in play.stdout:
            printed += line
            if line.startswith("Ctrl-C ends it"):
                break
        try:
            yield play, printed
        finally:
            play.kill()  # its programs end with it


def terminal(*lines: str) -> subprocess.CompletedProcess[str]:
    """What a shell makes of these lines."""
    return subprocess.run(
        ["/bin/sh", "-euc", "\n".join(lines)], capture_output=True, text=True, check=False
    )
