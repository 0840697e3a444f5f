"""What ``gpuspec offers`` says of a live cluster is what its claims leave of its devices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import Json, make_pod
from tests.cluster.claims.fleet import fleets_table
from tests.cluster.control_plane import ControlPlane
from tests.cluster.pods import wait_running
from tests.cluster.product.places import nodes_of
from tests.cluster.versions import ON_NEWEST
from tests.webhook.cli.running import run

pytestmark = [ON_NEWEST, pytest.mark.usefixtures("driver"), pytest.mark.rule("C1", "C3")]


def offered(cluster: ControlPlane, table: Path, *requests: str) -> list[Json]:
    """What there is for each request; the exit status is that of what would not start."""
    place = ("--kubeconfig", str(cluster.kubeconfig), "--priority", "0")
    result = run("offers", *requests, "--table", str(table), *place, "-o", "json")
    found: list[Json] = json.loads(result.stdout)["offers"]
    assert result.exit_code == any(one["start"] == "no" for one in found), result.stderr
    return found


def test_claims_take_from_what_there_is(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    table = tmp_path / "table.json"
    table.write_text(json.dumps(fleets_table()))
    (before,) = offered(cluster, table, "a30:6")
    assert before["start"] == "yes"
    assert before["total"] == 6 * len(nodes_of("a30-24gb"))
    assert before["quota"] == {
        "gpu.nvidia.com.deviceclass.resource.k8s.io/devices": 6,
        "requests.deviceclass.resource.kubernetes.io/gpu.nvidia.com": 6,
        "count/resourceclaims.resource.k8s.io": 1,
    }
    pod = make_pod("train").container("main", a30="6")
    arguments = ("--table", str(table), "--priority", "0")
    text = run("mutate", "-f", "-", *arguments, stdin=json.dumps(pod.build())).stdout
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=text)
    wait_running(cluster.api, namespace, "train")

    (after,) = offered(cluster, table, "a30:6")

    assert after["free"] == before["free"] - 6
    assert after["total"] == before["total"]


def test_a_class_that_does_not_exist_is_told(cluster: ControlPlane, tmp_path: Path) -> None:
    document = fleets_table()
    for row in document["spec"]["devices"]:
        row["claim"]["deviceClassName"] = "gone.example.com"
    table = tmp_path / "table.json"
    table.write_text(json.dumps(document))

    (found,) = offered(cluster, table, "a30")

    assert found["start"] == "no"
    assert found["message"] == (
        "preferred.jp/gpu-a30: DeviceClass gone.example.com does not exist, which a30-24gb need; "
        "ask for another device, or tell your admin to install the driver of that class"
    )
