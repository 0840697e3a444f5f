"""The client of the API server, against a real one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.cluster.api import path, wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.ports import free_ports
from tests.cluster.versions import ON_NEWEST
from webhook.kube.cluster import Cluster, connect
from webhook.kube.errors import ApiError, UnreachableError
from webhook.kube.reflector import Collection, Reflector

pytestmark = ON_NEWEST

MANY = 1203


def name(number: int) -> str:
    return f"thing-{number:04d}"


@pytest.fixture
def api(cluster: ControlPlane) -> Cluster:
    return connect(cluster.kubeconfig)


def config_maps(namespace: str) -> str:
    return path("v1", "configmaps", namespace=namespace)


def test_objects_are_created_read_replaced_patched_and_deleted(
    api: Cluster, namespace: str
) -> None:
    at = f"{config_maps(namespace)}/one"
    created = api.create(config_maps(namespace), {"metadata": {"name": "one"}, "data": {"a": "1"}})
    assert api.get(at)["data"] == {"a": "1"}
    created["data"] = {"a": "2", "b": "ü"}
    api.replace(at, created)
    api.patch(at, {"data": {"a": None}})
    api.patch(at, [{"op": "add", "path": "/data/c", "value": "3"}], kind="json")
    assert api.get(at)["data"] == {"b": "ü", "c": "3"}
    api.delete(at)
    with pytest.raises(ApiError) as gone:
        api.get(at)
    assert gone.value.is_not_found
    assert str(gone.value) == f'GET {at}: 404 NotFound: configmaps "one" not found'


def test_a_replace_with_an_old_version_is_a_conflict(api: Cluster, namespace: str) -> None:
    at = f"{config_maps(namespace)}/one"
    old = api.create(config_maps(namespace), {"metadata": {"name": "one"}})
    api.patch(at, {"data": {"a": "1"}})
    with pytest.raises(ApiError) as conflict:
        api.replace(at, old)
    assert conflict.value.is_conflict


def test_lists_of_more_than_two_pages_and_their_watch_are_mirrored_whole(
    api: Cluster, namespace: str
) -> None:
    at = config_maps(namespace)
    for number in range(MANY):
        api.create(at, {"metadata": {"name": name(number), "labels": {"mine": "yes"}}})
    mirror: Reflector[str] = Reflector(
        api,
        Collection(at, {"labelSelector": "mine=yes"}),
        lambda item: item.get("data", {}).get("a", "none"),
        changed=lambda: None,
    )
    stopping = threading.Event()
    threading.Thread(target=mirror.run, args=(stopping,), daemon=True).start()
    wait_until(lambda: len(mirror.held()) == MANY, timeout=30, what="all of them")
    api.patch(f"{at}/{name(0)}", {"data": {"a": "changed"}})
    api.delete(f"{at}/{name(1)}")
    wait_until(
        lambda: (
            mirror.held().get(f"{namespace}/{name(0)}") == "changed"
            and f"{namespace}/{name(1)}" not in mirror.held()
        ),
        timeout=10,
        what="the changes",
    )
    stopping.set()
    assert len(mirror.held()) == MANY - 1


@pytest.mark.parametrize(
    "at",
    [
        "/apis/example.com/v1/things",
        "/apis/example.com/v1/namespaces/default/things/one",
        "/apis/apps/v2/deployments",
        "/apis/apps/v1/things",
    ],
    ids=["no group", "no group, an object", "no version", "no resource"],
)
def test_a_kind_that_there_is_not_is_told_from_a_path_that_somebody_else_answers(
    api: Cluster, at: str
) -> None:
    with pytest.raises(ApiError) as missing:
        api.get(at)
    assert missing.value.is_not_found
    assert str(missing.value).startswith(f"GET {at}: 404 NotFound: the ")


def test_a_missing_permission_is_named(cluster: ControlPlane, tmp_path: Path) -> None:
    token = cluster.service_account_token("default", "default")
    nobody = connect(cluster.write_kubeconfig(tmp_path / "kubeconfig", token))
    with pytest.raises(ApiError) as refused:
        nobody.get("/api/v1/nodes")
    assert refused.value.is_forbidden
    user = '"system:serviceaccount:default:default"'
    assert refused.value.message.startswith(f"nodes is forbidden: User {user} cannot list resource")


def test_an_api_server_that_nobody_runs_is_unreachable_in_a_sentence(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    port = free_ports(["nobody"], "127.0.0.1")["nobody"]
    text = cluster.kubeconfig.read_text().replace(cluster.server, f"https://127.0.0.1:{port}")
    (tmp_path / "kubeconfig").write_text(text)
    nobody = connect(tmp_path / "kubeconfig")
    with pytest.raises(UnreachableError) as away:
        nobody.get("/api/v1/nodes")
    assert str(away.value) == (
        f"https://127.0.0.1:{port}: GET /api/v1/nodes: "
        "Failed to establish a new connection: [Errno 111] Connection refused"
    )


def test_a_kubeconfig_that_is_not_there_says_what_to_do(kubernetes: str, tmp_path: Path) -> None:
    assert kubernetes
    with pytest.raises(UnreachableError) as missing:
        connect(tmp_path / "none")
    assert "name one with --kubeconfig, or set KUBECONFIG" in str(missing.value)
