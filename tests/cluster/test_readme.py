"""The README's commands for a cluster, on a real one."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.control_plane import ControlPlane
from tests.contract.readme import IN_A_CLUSTER, commands, run, write_files


def test_a_cluster_is_set_up_and_cleared_as_the_readme_says(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """In the README's order; behind fake kubelets nothing serves, so its check is refused."""
    write_files(tmp_path)
    try:
        for command in commands():
            if not IN_A_CLUSTER.match(command):
                continue
            done = run(command, tmp_path, KUBECONFIG=str(cluster.kubeconfig))
            if "--dry-run=server" in command:
                assert 'failed calling webhook "gpu.gpuspec.preferred.jp"' in done.stderr
            else:
                assert done.returncode == 0, f"{command}: {done.stderr}"
    finally:
        cluster.kubectl.run("delete", "mutatingwebhookconfiguration", "zz-gpuspec")
        cluster.kubectl.run("delete", "-k", str(tmp_path / "manifests/overlays/mine"))
        cluster.kubectl.run("delete", "priorityclass", "gpuspec-high")
