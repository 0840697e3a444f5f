"""``gpuspec explain --cluster``: the answer of the table that serves there, from where one sits."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from selection_spec.table import builtin_table
from tests.builders import PFN_TABLE, Json, asking
from tests.cluster.api import ApiError, path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.product.priorities import priority_class
from tests.cluster.product.tables import defined
from tests.cluster.versions import ON_NEWEST
from tests.webhook.cli.running import answer, run
from webhook.terms import TABLES_PATH

pytestmark = ON_NEWEST

AT = f"{TABLES_PATH}/default"


@pytest.fixture(autouse=True, scope="module")
def tables(cluster: ControlPlane) -> Iterator[None]:
    """Nobody validates here: deleting the definition deletes the tables."""
    with defined(cluster.api):
        yield


def asked(cluster: ControlPlane, *arguments: str, stdin: str | None = None, code: int = 0) -> Any:  # noqa: ANN401 - any JSON
    where = ("--cluster", "--kubeconfig", str(cluster.kubeconfig))
    return answer(run(*arguments, *where, "-o", "json", stdin=stdin), code)


def test_no_table_then_a_table_then_its_status(cluster: ControlPlane) -> None:
    high = ("explain", "any-24gb", "--priority-class", "system-node-critical")
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


BY_NUMBER = [{"minValue": 1_000_000, "policy": "SmallestFit"}]


@pytest.fixture
def by_number(cluster: ControlPlane) -> Iterator[None]:
    """A table that goes by the number of a Pod's priority."""
    table: Json = yaml.safe_load(PFN_TABLE.read_text())
    table["metadata"]["name"] = "default"
    table["spec"]["priorities"] = BY_NUMBER
    cluster.api.create(TABLES_PATH, table)
    yield
    cluster.api.delete(AT)


@pytest.mark.rule("D3")
@pytest.mark.usefixtures("by_number")
@pytest.mark.parametrize(
    ("value", "policy"), [(2_000_000, "SmallestFit"), (999_999, "EveryFit")], ids=["high", "low"]
)
@pytest.mark.parametrize("is_default", [False, True], ids=["named", "global-default"])
def test_the_number_of_a_class_counts(
    cluster: ControlPlane, value: int, policy: str, *, is_default: bool
) -> None:
    """The API server has given it to Pods by then (``priority_class`` waits for that)."""
    name = f"class-{uuid.uuid4().hex[:8]}"
    fields = {} if is_default else {"priorityClassName": name}
    option = () if is_default else ("--priority-class", name)
    with priority_class(cluster.api, name, value, is_default=is_default):
        assert asked(cluster, "explain", "any-24gb", *option)["policy"] == policy
        body = json.dumps(asking(any_24gb=1).spec(**fields).build())
        (found,) = asked(cluster, "explain", "-f", "-", stdin=body)
        assert (found["policy"], "otherPolicy" in found) == (policy, False)
        offered = run("offers", *option, "-o", "json", "--kubeconfig", str(cluster.kubeconfig))
        assert (answer(offered)["policy"], offered.stderr) == (policy, "")


@pytest.mark.rule("D3")
@pytest.mark.usefixtures("by_number")
@pytest.mark.parametrize(
    "fields",
    [{"priorityClassName": "nope"}, {"priority": 7}],
    ids=["no-such-class", "not-its-number"],
)
def test_what_the_api_server_refuses_is_denied_in_its_words(
    cluster: ControlPlane, namespace: str, fields: Json
) -> None:
    pod = asking(any_24gb=1).spec(**fields).build()
    with pytest.raises(ApiError) as refused:
        cluster.api.create(path("v1", "pods", namespace=namespace), pod, dryRun="All")
    (found,) = asked(cluster, "explain", "-f", "-", stdin=json.dumps(pod), code=1)
    assert refused.value.message == f'pods "train" is forbidden: {found["message"]}'
    mutated = run(
        "mutate",
        "-f",
        "-",
        "--cluster",
        f"--kubeconfig={cluster.kubeconfig}",
        stdin=json.dumps(pod),
    )
    assert (mutated.exit_code, mutated.stdout) == (1, "")
    assert mutated.stderr.endswith(f"{found['message']}\n")


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
