"""The README's commands for a cluster, on a real one, with the processes that it would run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.api import path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import small_fleet
from tests.cluster.product.shipped import Shipped
from tests.contract.readme import IN_A_CLUSTER, commands, run, write_files

NODES = 26


@pytest.fixture
def shipped(kubernetes: str, tmp_path: Path) -> Iterator[Shipped]:
    """A cluster without anything of ours, and the README's files."""
    workdir = tmp_path / "kubernetes"
    workdir.mkdir()
    folder = tmp_path / "reader"
    folder.mkdir()
    with ControlPlane.start(kubernetes, nodes=small_fleet(NODES), workdir=workdir) as plane:
        found = Shipped(plane, folder)
        ours = yaml.safe_load((found.overlay / "kustomization.yaml").read_text())
        ports = {part: ours[part] for part in ("patches", "replacements")}
        write_files(folder)
        # Only the port is another than the reader's: that of the manifests is root's.
        overlay = yaml.safe_load((found.overlay / "kustomization.yaml").read_text())
        (found.overlay / "kustomization.yaml").write_text(yaml.safe_dump(overlay | ports))
        yield found


def test_every_command_for_a_cluster_works_in_the_readmes_order(shipped: Shipped) -> None:
    """What users may ask is asked when an admin has gone as far as to describe the hardware."""
    wanted = [command for command in commands() if IN_A_CLUSTER.match(command)]
    install = next(n for n, command in enumerate(wanted) if " -k " in command)
    described = 1 + next(n for n, command in enumerate(wanted) if "-f table.yaml" in command)
    assert typed(shipped, wanted[install]).returncode == 0
    with shipped.running():
        wait_for_replicas(shipped)
        pre_sync = typed(shipped, "kubectl create --dry-run=server -f presync.yaml")
        assert pre_sync.stdout == "job.batch/gpuspec-validate created (server dry run)\n"
        for command in (*wanted[install + 1 : described], *wanted[:install], *wanted[described:]):
            done = typed(shipped, command)
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
            if command.startswith("gpuspec offers "):
                assert "yes, it would start now" in done.stdout
    assert shipped.what_becomes_of("preferred.jp/gpu-any") == "created"  # all of it is gone


def typed(shipped: Shipped, command: str) -> subprocess.CompletedProcess[str]:
    return run(command, shipped.folder, KUBECONFIG=str(shipped.plane.kubeconfig))


def wait_for_replicas(shipped: Shipped) -> None:
    """As a reader would, who looks whether the Pods are running before asking the doctor."""
    for name in ("gpuspec-webhook", "gpuspec-controller"):
        at = path("apps/v1", "deployments", name, namespace="gpuspec-system")
        shipped.plane.api.wait_for(at, lambda found: found["status"].get("readyReplicas") == 2)
