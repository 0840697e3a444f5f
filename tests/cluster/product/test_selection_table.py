"""SelectionTables as an admin meets them: kubectl, the API server, and what ``/validate`` says."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml

from selection_spec.data import __file__ as data
from selection_spec.table import load_table, table_of
from tests.builders import PFN_TABLE, Json, make_row
from tests.cluster.api import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.product.installation import Installation
from tests.cluster.product.tables import defined, delete_table, unvalidated, validated
from webhook.terms import TABLES_PATH

DENIED = 'admission webhook "table.gpuspec.preferred.jp" denied the request: '
NAME = "default"
AT = f"{TABLES_PATH}/{NAME}"


@pytest.fixture(autouse=True, scope="module")
def tables(cluster: ControlPlane, webhook: Installation) -> Iterator[None]:
    with defined(cluster.api), validated(cluster.api, webhook.service):
        yield


@pytest.fixture(autouse=True)
def no_table_is_left(cluster: ControlPlane) -> Iterator[None]:
    yield
    for table in cluster.api.list(TABLES_PATH):
        delete_table(cluster.api, table["metadata"]["name"])


def pfn(**fields: object) -> Json:
    """The table of the fleet, under the name that is in use; fields are those of its A30 row."""
    document: Json = yaml.safe_load(PFN_TABLE.read_text())
    document["metadata"]["name"] = NAME
    document["spec"]["devices"][2] |= fields
    return document


def applied(cluster: ControlPlane, table: Json, *options: str) -> list[str]:
    """Apply a table and return what kubectl printed, errors and warnings first."""
    done = cluster.kubectl.run("apply", "-f", "-", *options, stdin=json.dumps(table))
    return [*done.stderr.splitlines(), *done.stdout.splitlines()]


def test_kubectl_explains_the_table(cluster: ControlPlane) -> None:
    text = cluster.kubectl("explain", "selectiontable.spec.devices")
    assert "The rows, in any order: one for each kind of device on each kind of node." in text
    assert (
        "  vram\t<string>\n"
        "    Nominal memory of one device as on the box, such as 24gb; a lower bound in\n"
        "    what users write is compared with it, and name and vram together are unique.\n"
        "    Required.\n"
    ) in text
    assert "Default: EveryFit." in cluster.kubectl("explain", "seltab.spec.defaultPolicy")


def test_a_good_table_is_accepted_as_it_is(cluster: ControlPlane) -> None:
    assert applied(cluster, pfn()) == [f"selectiontable.gpuspec.preferred.jp/{NAME} created"]
    stored = cluster.api.get(AT)
    assert stored["spec"] == pfn()["spec"]
    assert table_of(stored) == load_table(json.dumps(pfn()))


def test_the_built_in_table_is_accepted_too(cluster: ControlPlane) -> None:
    built_in = cluster.kubectl.run("apply", "-f", data.replace("__init__.py", "default-table.yaml"))
    assert (built_in.stdout, built_in.stderr) == (
        f"selectiontable.gpuspec.preferred.jp/{NAME} created\n",
        "",
    )


@pytest.mark.rule("G3", "G6", "N5")
def test_a_bad_table_is_refused_with_every_problem(cluster: ControlPlane) -> None:
    bad = pfn(name="any", vram="24", pernode=6, tolerations=[{"key": "", "operator": "Exists"}])
    bad["specc"] = 1
    bad["spec"]["defaultPolicy"] = "Smallest"
    del bad["spec"]["devices"][0]["resource"]
    first, *lines = applied(cluster, bad)
    assert first.endswith(f'{DENIED}SelectionTable "default" is refused:')
    assert lines == [
        (
            'spec.defaultPolicy: defaultPolicy is the text "Smallest" and should be '
            "'EveryFit' or 'SmallestFit'"
        ),
        (
            "spec.devices[0].resource (v100): resource is missing, output is ExtendedResource; "
            "write the resource of the device plugin, such as nvidia.com/gpu"
        ),
        (
            'spec.devices[2].name (any): name "any" means every device and cannot name one; '
            "use lower-case parts such as a100 or rtx-4090, without the memory"
        ),
        "spec.devices[2].pernode (any): unknown key pernode; did you mean perNode?",
        (
            'spec.devices[2].tolerations[0].key (any): toleration key "" is no label key (letters, '
            "digits, '-', '_' and '.', after an optional domain/); name the taint; tolerating "
            "every taint is not possible here"
        ),
        'spec.devices[2].vram (any): vram "24" is no nominal memory; write 24gb',
        "specc: unknown key specc; did you mean spec?",
    ]
    assert cluster.api.find(AT) is None


def test_wrong_types_are_the_api_servers_own_to_refuse_all_of_them(cluster: ControlPlane) -> None:
    _, *lines = applied(cluster, pfn(vram=24, perNode="6"))
    assert sorted(lines) == [
        (
            '* spec.devices[2].perNode: Invalid value: "string": spec.devices[2].perNode in body '
            'must be of type integer: "string"'
        ),
        (
            '* spec.devices[2].vram: Invalid value: "integer": spec.devices[2].vram in body must '
            'be of type string: "integer"'
        ),
    ]


def test_an_update_is_held_against_what_is_there(cluster: ControlPlane) -> None:
    applied(cluster, pfn())
    moved = pfn()
    moved["spec"]["resourceDomain"] = "example.org"
    *_, last = applied(cluster, moved)
    assert last == (
        'spec.resourceDomain: resourceDomain cannot change from "preferred.jp" to "example.org", '
        "which would leave every preferred.jp/gpu-… untranslated; keep it, or delete the table "
        "and create it anew"
    )
    assert applied(cluster, pfn(cost=9)) == [
        f"selectiontable.gpuspec.preferred.jp/{NAME} configured"
    ]


@pytest.mark.rule("R8")
def test_kubectl_shows_what_smells(cluster: ControlPlane) -> None:
    assert applied(cluster, pfn(aliases=["h100"])) == [
        (
            "Warning: alias h100 has no part in common with a30-24gb; remove it if gpu-h100 should "
            "not mean that card"
        ),
        f"selectiontable.gpuspec.preferred.jp/{NAME} created",
    ]


def test_the_status_is_shown_and_is_nobodys_business_here(cluster: ControlPlane) -> None:
    applied(cluster, pfn())
    status = {
        "digest": "0123456789abcdef",
        "rowCount": 4,
        "conditions": [
            {"type": "Ready", "status": "False", "message": "no"},
            {"type": "Accepted", "status": "True"},
        ],
        "rows": [{"id": "a30-24gb", "nodes": 1, "later": {"field": True}}],
    }
    stored = cluster.api.patch(f"{AT}/status", {"status": status})
    assert stored["status"] == status
    head, line = cluster.kubectl("get", "seltab").splitlines()
    assert head.split() == ["NAME", "ROWS", "ACCEPTED", "READY", "DIGEST", "AGE"]
    assert line.split()[:-1] == [NAME, "4", "True", "False", "0123456789abcdef"]


def test_the_table_in_use_is_deleted_on_purpose_only(cluster: ControlPlane) -> None:
    applied(cluster, pfn())
    for arguments in (("delete", "selectiontable", NAME), ("delete", "seltab", "--all")):
        done = cluster.kubectl.run(*arguments)
        assert done.returncode == 1
        assert (
            f'{DENIED}SelectionTable "default" is in use, and without it the built-in table '
            "would decide; to delete it all the same, first run: kubectl annotate selectiontable "
            "default gpuspec.preferred.jp/allow-delete=true"
        ) in done.stderr
    cluster.kubectl("annotate", "selectiontable", NAME, "gpuspec.preferred.jp/allow-delete=true")
    cluster.kubectl("delete", "selectiontable", NAME)
    assert cluster.api.find(AT) is None


def test_a_bad_table_that_got_in_can_be_marked_and_deleted(cluster: ControlPlane) -> None:
    """Stored while nobody validated: before the configuration was there, or past it."""
    bad = pfn(vram="24")
    bad["metadata"]["finalizers"] = ["example.org/wait"]
    with unvalidated(cluster.api):
        cluster.api.create(TABLES_PATH, bad)
    marked = cluster.api.patch(AT, {"metadata": {"labels": {"a": "b"}}})
    assert marked["metadata"]["labels"] == {"a": "b"}
    with pytest.raises(ApiError, match='vram "24" is no nominal memory'):
        cluster.api.patch(AT, {"spec": {"preferCheaper": False}})
    delete_table(cluster.api, NAME)
    cluster.api.patch(AT, {"metadata": {"finalizers": []}})
    assert cluster.api.find(AT) is None


def test_a_thousand_rows_by_server_side_apply(cluster: ControlPlane) -> None:
    """Within the webhook's time, and with the one wrong row found among them."""
    rows = [
        make_row(
            f"m{number}-{number + 1}gb",
            tolerations=[{"key": "gpu-model", "value": f"m{number}", "effect": "NoSchedule"}],
            aliases=[f"m{number % 10}-family"],
        )
        for number in range(1000)
    ]
    table = pfn()
    table["spec"]["devices"] = rows
    assert applied(cluster, table, "--server-side") == [
        f"selectiontable.gpuspec.preferred.jp/{NAME} serverside-applied"
    ]
    rows[777]["vram"] = "777"
    *_, last = applied(cluster, table, "--server-side")
    assert last == ('spec.devices[777].vram (m777): vram "777" is no nominal memory; write 777gb')
    assert len(cluster.api.get(AT)["spec"]["devices"]) == 1000
