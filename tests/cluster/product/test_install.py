"""Installing with one command, again over what is there, and removing it at any point."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from tests.cluster.api import Json, path, wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import small_fleet
from tests.cluster.product.installation import EXAMPLE_TABLE, KEY, MANIFESTS
from tests.cluster.product.shipped import CONFIGURATIONS, NAMESPACE, Shipped
from tests.cluster.versions import ON_NEWEST
from webhook.terms import TABLES_PATH

pytestmark = ON_NEWEST

HOW = pytest.mark.parametrize("how", [("--server-side",), ()], ids=["server-side", "client-side"])
DEPLOYMENTS = ("gpuspec-webhook", "gpuspec-controller")
NODES = 13
TABLE = f"{TABLES_PATH}/default"


@pytest.fixture(scope="module")
def plane(kubernetes: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster without anything of ours."""
    workdir = tmp_path_factory.mktemp(f"install-{kubernetes}-")
    with ControlPlane.start(kubernetes, nodes=small_fleet(NODES), workdir=workdir) as started:
        yield started


@pytest.fixture(scope="module")
def shipped(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    return Shipped(plane, tmp_path_factory.mktemp("shipped-"))


@pytest.fixture
def empty(shipped: Shipped) -> Iterator[Shipped]:
    """The cluster as it was; afterwards it is so again."""
    yield shipped
    shipped.remove()


@pytest.fixture
def table(shipped: Shipped) -> Json:
    document: Json = yaml.safe_load(EXAMPLE_TABLE.read_text())
    document["metadata"]["name"] = "default"
    (shipped.overlay / "table.yaml").write_text(yaml.safe_dump(document))
    return document


@HOW
def test_one_apply_is_enough_on_an_empty_cluster(empty: Shipped, how: tuple[str, ...]) -> None:
    """Pod Security, the quota and the scheduler let all replicas run; nothing waits for a table."""
    empty.apply(*how)
    for name in DEPLOYMENTS:
        at = path("apps/v1", "deployments", name, namespace=NAMESPACE)
        empty.plane.api.wait_for(at, lambda found: found["status"].get("readyReplicas") == 2)
    with empty.running():
        assert empty.plane.api.list(TABLES_PATH) == []
        anybody = empty.plane.service_account_token("default", "default")
        with empty.plane.api.as_user(anybody) as user:
            assert user.list(TABLES_PATH) == []


@HOW
def test_what_the_controller_wrote_stays_when_everything_is_applied_again(
    empty: Shipped, how: tuple[str, ...], table: Json
) -> None:
    empty.apply(*how)
    with empty.running():
        empty.plane.kubectl("apply", "-f", str(empty.overlay / "table.yaml"))
        before = empty.trusted()
        assert all(before)
        # as a newer version would: the same fields, and some with another value
        changed = [{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 5}]
        target = {"kind": "MutatingWebhookConfiguration"}
        empty.write_overlay({"target": target, "patch": yaml.safe_dump(changed)})
        try:
            empty.apply(*how)
        finally:
            empty.write_overlay()
        assert empty.plane.api.get(CONFIGURATIONS[0])["webhooks"][0]["timeoutSeconds"] == 5
        assert empty.trusted() == before
        assert empty.what_becomes_of(KEY) == "translated"
        # Whoever changes over to the other way has to say so, once.
        empty.apply("--server-side", *(() if how else ("--force-conflicts",)))
        empty.apply("--server-side")
        assert empty.trusted() == before
        assert empty.plane.api.get(TABLE)["spec"] == table["spec"]


@pytest.mark.usefixtures("table")
def test_a_table_in_the_overlay_needs_a_second_apply(empty: Shipped) -> None:
    """The first one installs everything else, and says why it could not create the table."""
    empty.write_overlay(resources=("table.yaml",))
    try:
        first = empty.try_apply("--server-side")
        assert first.returncode == 1
        assert 'no matches for kind "SelectionTable" in version' in first.stderr
        assert "ensure CRDs are installed first" in first.stderr
        with empty.running():
            empty.apply("--server-side")
            assert empty.plane.api.get(TABLE)["metadata"]["name"] == "default"
    finally:
        empty.write_overlay()


@pytest.mark.parametrize("backwards", [False, True], ids=["in order", "backwards"])
def test_wherever_a_removal_is_cut_off_other_pods_are_created_and_in_the_end_all_are(
    empty: Shipped, table: Json, *, backwards: bool
) -> None:
    """Nothing serves meanwhile, and there is a table that the webhook would protect."""
    kubectl, api = empty.plane.kubectl, empty.plane.api
    kubectl("apply", "-f", str(MANIFESTS / "base/crd.yaml"))
    kubectl("wait", "--for=condition=Established", "crd", "selectiontables.gpuspec.preferred.jp")
    api.create(TABLES_PATH, table)
    empty.apply("--server-side", "--force-conflicts")
    wait_until(
        lambda: "failed calling webhook" in empty.what_becomes_of(KEY),
        timeout=30,
        what="the configuration to be seen",
    )
    documents = empty.documents()
    for document in reversed(documents) if backwards else documents:
        kubectl("delete", "--ignore-not-found", "-f", "-", stdin=yaml.safe_dump(document))
        assert empty.what_becomes_of() == "created", document["kind"]
    wait_until(
        lambda: empty.what_becomes_of(KEY) == "created",
        timeout=30,
        what="nothing to refuse Pods any more",
        state=lambda: empty.what_becomes_of(KEY),
    )
    assert all(api.find(one) is None for one in CONFIGURATIONS)
    assert api.find(TABLES_PATH) is None
