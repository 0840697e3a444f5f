"""The README's commands for a cluster, on a real one."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cluster.control_plane import ControlPlane
from tests.contract.readme import IN_A_CLUSTER, commands, run, write_files

_CERT_MANAGER_KINDS = (("Issuer", "issuers"), ("Certificate", "certificates"))


def test_a_cluster_is_set_up_and_cleared_as_the_readme_says(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """In the README's order, with stand-ins for cert-manager's kinds where it is not installed."""
    write_files(tmp_path)
    for kind, plural in _CERT_MANAGER_KINDS:
        cluster.kubectl("apply", "-f", "-", stdin=json.dumps(_kind(kind, plural)))
        cluster.kubectl("wait", "--for=condition=Established", f"crd/{plural}.cert-manager.io")
    try:
        for command in commands():
            if IN_A_CLUSTER.match(command):
                done = run(command, tmp_path, KUBECONFIG=str(cluster.kubeconfig))
                assert done.returncode == 0, f"{command}: {done.stderr}"
    finally:
        cluster.kubectl.run("delete", "mutatingwebhookconfiguration", "zz-gpuspec")
        cluster.kubectl.run("delete", "-k", str(tmp_path / "manifests/overlays/own-ca"))
        for _, plural in _CERT_MANAGER_KINDS:
            cluster.kubectl.run("delete", "crd", f"{plural}.cert-manager.io")


def _kind(kind: str, plural: str) -> dict[str, object]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io",
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": anything},
                }
            ],
        },
    }
