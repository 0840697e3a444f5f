"""What ``explain`` and ``mutate`` judge by: the built-in table, a file's, or a cluster's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from selection_spec.table import builtin_table
from tests.builders import Json, asking, pfn_table
from tests.webhook.cli.clusters import use_cluster
from tests.webhook.cli.running import TABLE, answer, on_table, run

_BUILTIN = "(judged by the built-in table; --cluster asks your cluster for its own)\n"
_POD = json.dumps(asking(any_24gb=1).build())


def _served(**status: object) -> Json:
    """Return the worked candidates' table as a cluster has it."""
    raw: Json = yaml.safe_load(Path(TABLE).read_text(encoding="utf-8"))
    raw["metadata"] = {"name": "default", "uid": "u", "resourceVersion": "7"}
    return {**raw, "status": status}


def test_the_table_in_force_in_the_cluster_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = use_cluster(monkeypatch, default=_served())
    result = run("explain", "any-24gb", "--priority", "0", "--cluster")
    assert result.exit_code == 0
    assert result.stdout.startswith("allowed: v100-32gb, a30-24gb, a100-80gb\n")
    assert "built-in" not in result.stdout
    assert asked == [(None, None)]
    run("explain", "any", "--cluster", "--kubeconfig", "k.yaml", "--context", "prod")
    assert asked[1:] == [(Path("k.yaml"), "prod")]


def test_mutate_writes_by_the_table_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cluster(monkeypatch, default=_served())
    by_cluster = run("mutate", "-f", "-", "--priority", "0", "--cluster", stdin=_POD)
    by_file = on_table("mutate", "-f", "-", "--priority", "0", stdin=_POD)
    assert (by_cluster.exit_code, by_cluster.stderr) == (0, "")
    assert by_cluster.stdout.replace(_digest_of_cluster(), "") == by_file.stdout.replace(
        pfn_table().digest, ""
    )


def _digest_of_cluster() -> str:
    return str(answer(run("explain", "any", "--cluster", "-o", "json"))["table"]["digest"])


@pytest.mark.rule("D7")
@pytest.mark.parametrize(
    ("age", "digest", "used"),
    [
        (timedelta(), None, "v100-32gb"),
        (timedelta(seconds=170), None, "v100-32gb"),
        # Stale, or of a table that is no longer in force.
        (timedelta(seconds=190), None, "a30-24gb"),
        (timedelta(), "0123456789abcdef", "a30-24gb"),
    ],
)
def test_live_status_counts_as_it_does_for_admission(
    age: timedelta, digest: str | None, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_cluster(monkeypatch, default=_served())
    status = {
        "digest": digest or _digest_of_cluster(),
        "renewTime": (datetime.now(UTC) - age).isoformat(),
        "rows": [{"id": "a30-24gb", "devices": 80, "mostUsableOnANode": 0}],
    }
    use_cluster(monkeypatch, default=_served(**status))
    found = answer(
        run("explain", "any-24gb", "--priority-class", "high", "--cluster", "-o", "json")
    )
    assert found["candidates"] == [used]
    warned = [f"using {used}: no node has enough usable a30-24gb"] if used != "a30-24gb" else []
    assert found["warnings"] == warned


def test_a_cluster_without_a_table_is_served_by_the_builtin_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_cluster(monkeypatch)
    result = run("explain", "t4", "--cluster")
    assert result.exit_code == 0
    assert result.stdout.endswith(
        "(judged by the built-in table, for the cluster has no SelectionTable default)\n"
    )
    found = answer(run("explain", "t4", "--cluster", "-o", "json"))
    assert found["table"] == {"name": "default", "digest": builtin_table().digest}


def test_a_table_in_the_cluster_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = _served()
    del raw["spec"]["devices"][1]["perNode"]
    use_cluster(monkeypatch, default=raw)
    for arguments in (["explain", "any"], ["mutate", "-f", "-"]):
        result = run(*arguments, "--cluster", stdin=_POD)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            "SelectionTable default: spec.devices[1].perNode: perNode is missing\n"
        )


def test_who_chose_no_table_is_told_which_one_it_was() -> None:
    assert run("explain", "t4").stdout.endswith(f"\n\n{_BUILTIN}")
    assert run("explain", "anny").stdout.endswith(f"\n\n{_BUILTIN}")
    two = run("explain", "-f", "-", stdin=f"{_POD}\n---\n{_POD}").stdout
    assert two.count(_BUILTIN) == 1
    for result in (
        on_table("explain", "a30"),
        run("explain", "t4", "-o", "json"),
        run("explain", "t4", "-o", "yaml"),
        run("explain", "-f", "-", stdin="kind: ConfigMap\napiVersion: v1\n"),
        run("mutate", "-f", "-", "--priority", "0", stdin=_POD),
    ):
        assert "built-in" not in result.output


def _on_a_terminal(*arguments: str) -> str:
    """Return what a person reads on a terminal while the report goes somewhere else."""
    mine, theirs = os.openpty()
    try:
        subprocess.run(
            [sys.executable, "-m", "webhook", *arguments],
            input=_POD.encode(),
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            check=True,
        )
        # So that there is something to read where the command says nothing.
        os.write(theirs, b"END")
        return os.read(mine, 4096).decode().replace("\r\n", "\n").removesuffix("END")
    finally:
        os.close(mine)
        os.close(theirs)


def test_mutate_tells_a_person_and_no_program() -> None:
    arguments = ("mutate", "-f", "-", "--priority", "0")
    assert _on_a_terminal(*arguments) == (
        "note: judged by the built-in table; --cluster asks your cluster for its own\n"
    )
    assert _on_a_terminal(*arguments, "--table", TABLE) == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cluster", "--table", TABLE], "give either --table or --cluster"),
        (["--context", "prod"], "--kubeconfig and --context are for --cluster"),
        (["--kubeconfig", "k", "--table", TABLE], "--kubeconfig and --context are for --cluster"),
    ],
)
@pytest.mark.parametrize("verb", [["explain", "any"], ["mutate", "-f", "-"]], ids=" ".join)
def test_options_that_contradict_each_other(
    verb: list[str], arguments: list[str], said: str
) -> None:
    result = run(*verb, *arguments, stdin=_POD)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
