"""The main job: one line, from somebody who knows nothing, becomes the right GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.api import path, wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import GPU
from tests.cluster.kubectl import Kubectl
from tests.cluster.nodes import NODES
from tests.cluster.pods import wait_running
from tests.matcher import admitting_nodes

pytestmark = pytest.mark.usefixtures("webhook")

MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  restartPolicy: Never
  containers:
    - name: main
      image: registry.example/train:1
      resources: {limits: {preferred.jp/gpu-any-24gb: 1}}
"""
BIG_ENOUGH = {"v100-32gb", "a30-24gb", "a100-80gb"}


@pytest.mark.rule("D4", "N1", "N2", "N5")
def test_one_line_from_somebody_who_may_create_pods_and_nothing_else(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    kubectl = as_newcomer(cluster, namespace, tmp_path)
    assert kubectl("create", "-n", namespace, "-f", "-", stdin=MANIFEST) == "pod/train created\n"

    running = wait_running(cluster.api, namespace, "train")
    nodes = {node["metadata"]["name"]: node for node in cluster.api.list(NODES)}
    node = nodes[running["spec"]["nodeName"]]
    assert node["metadata"]["labels"]["gpu-model"] in BIG_ENOUGH
    assert int(node["status"]["allocatable"][GPU]) >= 1
    (main,) = running["spec"]["containers"]
    assert main["resources"]["limits"] == {GPU: "1"}
    # and it might have gone to every such node, but to no other
    assert set(admitting_nodes(nodes.values(), running)) == {
        name
        for name, one in nodes.items()
        if one["metadata"]["labels"].get("gpu-model") in BIG_ENOUGH
    }


def as_newcomer(cluster: ControlPlane, namespace: str, folder: Path) -> Kubectl:
    """kubectl of somebody who may create Pods in a namespace, and not even look at nodes."""
    rbac, name = "rbac.authorization.k8s.io", "newcomer"
    account = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get"]}
    for version, plural, body in (
        ("v1", "serviceaccounts", {}),
        (f"{rbac}/v1", "roles", {"rules": [rule]}),
        (
            f"{rbac}/v1",
            "rolebindings",
            {"roleRef": {"apiGroup": rbac, "kind": "Role", "name": name}, "subjects": [account]},
        ),
    ):
        at = path(version, plural, namespace=namespace)
        cluster.api.create(at, {"metadata": {"name": name}, **body})
    token = cluster.service_account_token(namespace, name)
    kubeconfig = cluster.write_kubeconfig(folder / "kubeconfig", token)
    kubectl = Kubectl(cluster.kubectl.program, kubeconfig)
    wait_until(
        lambda: kubectl.run("auth", "can-i", "create", "pods", "-n", namespace).returncode == 0,
        timeout=60,
        what="the role to be in force",
    )
    assert kubectl.run("auth", "can-i", "get", "nodes").returncode == 1
    return kubectl
