"""Which cluster and which of its tables a verb asks, and how refusals read."""

from __future__ import annotations

import pytest
import yaml

from tests.builders import PFN_TABLE, Json
from tests.webhook.cli.clusters import use_cluster
from tests.webhook.cli.running import run
from webhook.kube.errors import ApiError, UnreachableError

ASKING = [
    ["table", "show", "--cluster"],
    ["table", "lint", "--cluster"],
    ["offers", "any"],
    ["explain", "any", "--cluster"],
]


def pfn() -> Json:
    table: Json = yaml.safe_load(PFN_TABLE.read_text())
    return table | {"metadata": {"name": "other"}}


@pytest.mark.parametrize("verb", ASKING, ids=" ".join)
def test_the_table_in_use_may_have_another_name(
    verb: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_cluster(monkeypatch, other=pfn())
    named = run(*verb, "--table-name", "other")
    default = run(*verb)
    told = named.stdout + named.stderr
    assert "2f44c584161d33c8" not in told  # the built-in table
    assert told != default.stdout + default.stderr


@pytest.mark.parametrize("name", ["Other", "../../../../api/v1/nodes", ""])
@pytest.mark.parametrize(
    "verb",
    [
        ["table", "show", "--cluster", "--table-name", "NAME"],
        ["table", "diff", "cluster:NAME", str(PFN_TABLE)],
    ],
    ids=["option", "diff"],
)
def test_a_name_that_no_table_can_have_is_wrong_usage(
    verb: list[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = use_cluster(monkeypatch)
    found = run(*(word.replace("NAME", name) for word in verb))
    assert found.exit_code == 2
    assert "write the name of a SelectionTable" in found.stderr
    assert asked == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            ApiError("GET /x", 403, "Forbidden", "user eve cannot get tables"),
            (
                "the cluster refuses: GET /x: 403 Forbidden: user eve cannot get tables; "
                "ask an admin for this permission\n"
            ),
        ),
        (
            ApiError("GET /x", 401, "Unauthorized", "Unauthorized"),
            (
                "the cluster refuses: GET /x: 401 Unauthorized: Unauthorized; "
                "log in again: it does not know you\n"
            ),
        ),
        (ApiError("GET /x", 500, "", "oops"), "the cluster refuses: GET /x: 500 oops\n"),
        (UnreachableError("https://x: GET /x: refused"), "https://x: GET /x: refused\n"),
    ],
    ids=["forbidden", "unknown", "broken", "away"],
)
def test_refusals(error: Exception, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def get(self, _: str) -> Json:
            raise error

    monkeypatch.setattr("webhook.kube.cluster.connect", lambda *_: Refusing())
    found = run("table", "show", "--cluster")
    assert (found.exit_code, found.stdout, found.stderr) == (2, "", told)


@pytest.mark.parametrize("text", ["not: [yaml", "[]", "{}", "clusters: 5"])
def test_a_kubeconfig_that_is_none_is_a_sentence_and_no_traceback(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("kube") / "config"
    file.write_text(text)
    found = run("table", "show", "--cluster", "--kubeconfig", str(file))
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith("no cluster to talk to: ")
    assert found.stderr.endswith("; name one with --kubeconfig, or set KUBECONFIG\n")
