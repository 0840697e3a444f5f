"""``gpuspec explain --cluster``: the answer of the table that serves there, from where one sits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from selection_spec.table import builtin_table
from tests.builders import PFN_TABLE, Json, asking
from tests.cluster.control_plane import ControlPlane
from tests.cluster.product.tables import defined
from tests.webhook.cli.running import answer, run
from webhook.terms import TABLES_PATH

AT = f"{TABLES_PATH}/default"


@pytest.fixture(autouse=True, scope="module")
def tables(cluster: ControlPlane) -> Iterator[None]:
    """Nobody validates here: deleting the definition deletes the tables."""
    with defined(cluster.api):
        yield


def asked(cluster: ControlPlane, *arguments: str) -> Json:
    result = run(*arguments, "--cluster", "--kubeconfig", str(cluster.kubeconfig), "-o", "json")
    found: Json = answer(result)
    return found


def test_no_table_then_a_table_then_its_status(cluster: ControlPlane) -> None:
    high = ("explain", "any-24gb", "--priority-class", "high")
    builtin = asked(cluster, *high)["table"]
    assert builtin == {"name": "default", "digest": builtin_table().digest}

    table: Json = yaml.safe_load(PFN_TABLE.read_text())
    table["metadata"]["name"] = "default"
    cluster.api.create(TABLES_PATH, table)
    served = asked(cluster, *high)
    assert served["candidates"] == ["a30-24gb"]
    assert served["table"]["digest"] != builtin["digest"]

    status = {
        "digest": served["table"]["digest"],
        "renewTime": datetime.now(UTC).isoformat(),
        "rows": [{"id": "a30-24gb", "devices": 252, "mostUsableOnANode": 0}],
    }
    cluster.api.patch(f"{AT}/status", {"status": status})
    known = asked(cluster, *high)
    assert known["candidates"] == ["v100-32gb"]
    assert known["warnings"] == ["using v100-32gb: no node has enough usable a30-24gb"]
    cluster.api.delete(AT)


def test_who_may_not_look_is_told_what_is_missing(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    token = cluster.service_account_token(namespace, "default")
    kubeconfig = cluster.write_kubeconfig(tmp_path / "kubeconfig", token)
    for arguments in (["explain", "any"], ["mutate", "-f", "-"]):
        result = run(
            *arguments,
            "--cluster",
            "--kubeconfig",
            str(kubeconfig),
            stdin=json.dumps(asking().build()),
        )
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            f"the cluster refuses: GET {AT}: 403 Forbidden: "
            'selectiontables.gpuspec.preferred.jp "default" is forbidden: '
            f'User "system:serviceaccount:{namespace}:default" cannot get resource '
            '"selectiontables" in API group "gpuspec.preferred.jp" at the cluster scope; '
            "ask an admin for this permission\n"
        )


def test_a_cluster_that_does_not_answer(tmp_path: Path, cluster: ControlPlane) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    gone = cluster.kubeconfig.read_text().replace(cluster.server, "https://127.0.0.1:1")
    kubeconfig.write_text(gone)
    result = run("explain", "any", "--cluster", "--kubeconfig", str(kubeconfig))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"https://127.0.0.1:1: GET {AT}: ")
    assert result.stderr.endswith("Connection refused\n")
