"""``gpuspec offers``: whole texts for 80 columns, the documented JSON, exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders import GPU, Json, make_pod
from tests.webhook.advice.pods import make_node
from tests.webhook.cli.running import TABLE, answer, run
from webhook.cli import offers as verb
from webhook.cli.cluster import ClusterTable
from webhook.cli.inputs import read_table
from webhook.health.cases import Case, Verdict
from webhook.health.records import Record
from webhook.health.stored import record_text
from webhook.health.subjects import node_subject
from webhook.kube.errors import ApiError
from webhook.terms import VERDICTS_ANNOTATION

_DIGEST = read_table(TABLE).digest
_MODELS = {"v100-16gb": 8, "v100-32gb": 8, "a30-24gb": 6, "a100-80gb": 4}


def _nodes() -> list[Json]:
    nodes = []
    for model, devices in _MODELS.items():
        taint = {"key": "gpu-model", "value": model, "effect": "NoSchedule"}
        nodes += [
            make_node(f"{model}-{n}", {"gpu-model": model}, taints=[taint], devices={GPU: devices})
            for n in (1, 2)
        ]
    nodes[0]["spec"]["unschedulable"] = True
    return nodes


def _pods() -> list[Json]:
    holding = {"v100-16gb-2": 5, "v100-32gb-1": 8, "v100-32gb-2": 6, "a30-24gb-1": 4}
    return [
        make_pod(f"on-{node}").container("main", {GPU: count}).spec(nodeName=node).build()
        for node, count in holding.items()
    ]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Saved nodes and Pods, and the table, as options."""
    nodes, pods = tmp_path / "nodes.json", tmp_path / "pods.json"
    nodes.write_text(json.dumps({"kind": "List", "items": _nodes()}))
    pods.write_text(json.dumps({"kind": "PodList", "items": _pods()}))
    return ["--nodes", str(nodes), "--pods", str(pods), "--table", TABLE]


def _text(*arguments: str, code: int = 0) -> str:
    result = run("offers", *arguments)
    assert result.exit_code == code, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    return result.stdout.replace(_DIGEST, "DIGEST")


def test_what_there_is(files: list[str]) -> None:
    assert (
        _text(*files)
        == """\
table pfn DIGEST; EveryFit (from default)

SPEC             TOTAL     FREE  LARGEST  ROWS
gpu-any             52       21        6  v100-16gb, v100-32gb and 2 more
gpu-any-24gb        36       18        6  v100-32gb, a30-24gb, a100-80gb
gpu-any-32gb        24       10        4  v100-32gb, a100-80gb
gpu-any-80gb         8        8        4  a100-80gb
gpu-a100             8        8        4  a100-80gb
gpu-a30             12        8        6  a30-24gb
gpu-v100            32        5        3  v100-16gb, v100-32gb
gpu-v100-32gb       16        2        2  v100-32gb

Free devices are on nodes that are ready and open to the row's Pods. Room for
CPU and memory, quotas and Pods that wait already are not looked at.
"""
    )


def test_would_it_start(files: list[str]) -> None:
    assert (
        _text("any-24gb:4", "preferred.jp/gpu-v100:4", "gpu-any-80gb:8", *files, code=1)
        == """\
table pfn DIGEST; EveryFit (from default)

gpu-any-24gb:4: yes, it would start now
  v100-32gb, a30-24gb, a100-80gb: 18 of 36 free, at most 6 on one node
  (a30-24gb-2)
  a quota counts requests.nvidia.com/gpu: 4

gpu-v100:4: no: no node has 4 free
  v100-16gb, v100-32gb: 5 of 32 free, at most 3 on one node (v100-16gb-2), 8 on
  nodes that are cordoned
  a quota counts requests.nvidia.com/gpu: 4
  would start now:
    gpu-v100:3 (fewer): 5 of 32 free, at most 3 on one node (v100-16gb-2), 8 on
      nodes that are cordoned
    gpu-any:4 (any device): 21 of 52 free, at most 6 on one node (a30-24gb-2), 8
      on nodes that are cordoned

gpu-any-80gb:8: no, it would be denied
  preferred.jp/gpu-any-80gb: 8: no node has 8 such GPUs, the most is 4
  (a100-80gb); ask for 4 or less in one Pod
  would start now:
    gpu-any-80gb:4 (fewer): 8 of 8 free, at most 4 on one node (a100-80gb-1)
"""
    )


@pytest.mark.rule("D3", "D5")
def test_priority_decides(files: list[str]) -> None:
    text = _text("any-32gb:4", *files, "--priority-class", "high", code=1)
    assert (
        text
        == """\
table pfn DIGEST; SmallestFit (from classNames)

gpu-any-32gb:4: no: no node has 4 free
  v100-32gb: 2 of 16 free, at most 2 on one node (v100-32gb-2)
  a quota counts requests.nvidia.com/gpu: 4
  would start now:
    gpu-any-32gb:2 (fewer): 2 of 16 free, at most 2 on one node (v100-32gb-2)
    gpu-any-24gb:4 (less memory): 8 of 12 free, at most 6 on one node
      (a30-24gb-2)
    gpu-any-80gb:4 (more memory): 8 of 8 free, at most 4 on one node
      (a100-80gb-1)
    gpu-any-32gb:4 (under EveryFit): 10 of 24 free, at most 4 on one node
      (a100-80gb-1)
"""
    )
    assert _text("any-32gb:2", *files, "--priority", "1000000").count("yes") == 1


@pytest.mark.rule("D3")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(
            ["any-24gb:4", "a100", "any-24gb:6", "--priority-class", "vip"],
            [
                (
                    "gpu-any-24gb:4: the number of priority class vip is not known; under "
                    "SmallestFit it would be a30-24gb (say --priority)"
                ),
                (
                    "gpu-any-24gb:6: the number of priority class vip is not known; under "
                    "SmallestFit it would be a30-24gb (say --priority)"
                ),
            ],
            id="class",
        ),
        pytest.param(
            ["any:8"],
            [
                (
                    "gpu-any:8: its priority is not known; under SmallestFit it would be v100-16gb "
                    "(say --priority-class or --priority)"
                )
            ],
            id="nothing",
        ),
        pytest.param(
            ["--priority-class", "vip"],
            [
                (
                    "the number of priority class vip is not known; under SmallestFit it would be "
                    "other rows (say --priority)"
                )
            ],
            id="listing",
        ),
        pytest.param(["any", "--priority", "7"], [], id="number"),
        pytest.param(["any", "--priority-class", "high"], [], id="by-class"),
    ],
)
def test_what_is_not_known_of_the_priority(
    arguments: list[str], said: list[str], files: list[str]
) -> None:
    result = run("offers", *arguments, *files)
    assert result.stderr == "".join(f"note: {one}\n" for one in said)


@pytest.mark.rule("D3")
def test_a_class_that_the_table_does_not_know(files: list[str]) -> None:
    result = run("offers", *files[:4], "--priority-class", "gpuspec-hihg")
    assert result.stderr == "note: table default has no rule for priority class gpuspec-hihg\n"


def test_nothing_near_it(files: list[str]) -> None:
    assert (
        _text("h100", *files, code=1)
        == """\
table pfn DIGEST; EveryFit (from default)

gpu-h100:1: no, it would be denied
  preferred.jp/gpu-h100: no device is called h100; nearest: a100, v100, a30; or
  write preferred.jp/gpu-any; all: any, a100, a30, v100
  and nothing near it would start now
"""
    )


def test_rows_without_nodes(files: list[str]) -> None:
    builtin = _text(*files[:4])
    assert "No devices right now: gpu-any, gpu-any-10gb," in builtin
    assert "SPEC" not in builtin


@pytest.mark.rule("H11")
def test_free_devices_that_health_calls_failed_are_named(tmp_path: Path, files: list[str]) -> None:
    """In Observe nothing keeps Pods away from them, so they are free, and no good."""
    nodes = _nodes()
    record = Record("uid", (Case(node_subject("a30-24gb-2"), held=Verdict.FAILED),))
    (dead,) = (one for one in nodes if one["metadata"]["name"] == "a30-24gb-2")
    dead["metadata"]["annotations"] = {VERDICTS_ANNOTATION: record_text(record, 0.0)}
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "List", "items": nodes}))
    assert "6 of the free are Failed, as health says, and open to Pods: gpuspec health\n" in _text(
        *files
    )
    assert "a30-24gb: 8 of 12 free, at most 6 on one node (a30-24gb-2), 6 of the free are" in _text(
        "a30", *files
    )
    found = answer(run("offers", "a30", "a100", *files, "-o", "json"))
    assert [one["failedFree"] for one in found["offers"]] == [6, 0]


def test_json(files: list[str]) -> None:
    found = answer(run("offers", "v100-32gb:3", *files, "-o", "json"), code=1)
    assert found == {
        "table": {"name": "pfn", "digest": _DIGEST},
        "policy": "EveryFit",
        "policyFrom": "default",
        "source": "nodes",
        "asOf": None,
        "offers": [
            {
                "spec": "gpu-v100-32gb",
                "count": 3,
                "policy": "EveryFit",
                "start": "no",
                "message": "",
                "candidates": ["v100-32gb"],
                "total": 16,
                "free": 2,
                "failedFree": 0,
                "largestFree": 2,
                "node": "v100-32gb-2",
                "quota": {"requests.nvidia.com/gpu": 3},
                "away": [],
                "instead": [
                    {
                        "how": how,
                        "spec": spec,
                        "count": count,
                        "policy": "EveryFit",
                        "start": "yes",
                        "message": "",
                        "candidates": candidates,
                        "total": total,
                        "free": free,
                        "failedFree": 0,
                        "largestFree": largest,
                        "node": node,
                        "quota": {"requests.nvidia.com/gpu": count},
                        "away": away,
                    }
                    for how, spec, count, candidates, total, free, largest, node, away in (
                        ("fewer", "gpu-v100-32gb", 2, ["v100-32gb"], 16, 2, 2, "v100-32gb-2", []),
                        (
                            "less memory",
                            "gpu-v100",
                            3,
                            ["v100-16gb", "v100-32gb"],
                            32,
                            5,
                            3,
                            "v100-16gb-2",
                            [{"reason": "cordoned", "devices": 8}],
                        ),
                        (
                            "any device",
                            "gpu-any-32gb",
                            3,
                            ["v100-32gb", "a100-80gb"],
                            24,
                            10,
                            4,
                            "a100-80gb-1",
                            [],
                        ),
                    )
                ],
            }
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--nodes", "n.json"],
            "give --nodes and --pods together: free is what Pods leave of nodes",
        ),
        (
            ["--nodes", "n.json", "--pods", "p.json", "--cluster"],
            "give either --cluster or saved files, not both",
        ),
        (["--nodes", "-", "--pods", "-"], "standard input can be read only once"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str) -> None:
    result = run("offers", *arguments)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"\nError: {said}\n")


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ("any:0", "any:0: the count has to be a whole number from 1 on"),
        ("any:x", "any:x: the count has to be a whole number from 1 on"),
        ("any:-1", "any:-1: the count has to be a whole number from 1 on"),
        ("any:٣", "any:٣: the count has to be a whole number from 1 on"),
        ("other.example/gpu-any", "the table's domain is preferred.jp, not other.example"),
        (
            "any-24gb-",
            ("any-24gb-: gpu-any-24gb- has an empty part between its dashes; write gpu-any-24gb"),
        ),
    ],
)
def test_requests_that_are_none(request_: str, said: str, files: list[str]) -> None:
    result = run("offers", request_, *files)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON (unexpected end of data: line 1 column 2 (char 1))"),
        ("3", "is no list of Nodes"),
        ('{"items": 3}', "is no list of Nodes"),
        ('[{"kind": "Pod"}]', "item 0 is of kind Pod, not Node"),
        ("[1]", "item 0 is of kind int, not Node"),
    ],
)
def test_saved_files_that_are_none(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "nodes.json"
    file.write_text(text)
    result = run("offers", "--nodes", str(file), "--pods", str(file))
    assert result.exit_code == 2
    assert result.stderr == f"{file}: {said}; save them with: kubectl get nodes -o json\n"


class _Refusing:
    """A cluster that shows its table's status and nothing else."""

    def items(self, path: str, **_: str) -> Iterator[Json]:
        kind = path.rpartition("/")[2]
        message = f'{kind} is forbidden: User "u" cannot list resource "{kind}"'
        raise ApiError(f"GET {path}", 403, "Forbidden", message)


@contextmanager
def _refusing(_: object) -> Iterator[_Refusing]:
    yield _Refusing()


def _served(monkeypatch: pytest.MonkeyPatch, status: Json) -> None:
    monkeypatch.setattr(verb, "asked", _refusing)
    monkeypatch.setattr(verb, "served_table", lambda _: ClusterTable(read_table(TABLE), status))


def test_who_may_not_see_nodes_gets_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"id": "a30-24gb", "devices": 12, "usable": 12, "mostUsableOnANode": 6, "free": 8},
        {"id": "a100-80gb", "devices": 8, "usable": 4, "mostUsableOnANode": 4, "free": 1},
    ]
    _served(monkeypatch, {"rows": rows, "renewTime": "2026-01-02T03:04:05Z"})
    result = run("offers", "a30:4", "a30:5", "a100:2")
    assert result.exit_code == 1
    assert result.stderr == (
        'note: nodes is forbidden: User "u" cannot list resource "nodes"; '
        "using the table's status\n"
        'note: priorityclasses is forbidden: User "u" cannot list resource "priorityclasses"; '
        "judged without them\n"
    )
    assert (
        result.stdout.replace(_DIGEST, "DIGEST")
        == """\
table pfn DIGEST; EveryFit (from default)
as of 2026-01-02T03:04:05Z, from the table's status, which does not tell how
  free devices are spread: figures for one node are the most that there can be

gpu-a30:4: perhaps: enough are free, though they may lie on several nodes
  a30-24gb: 8 of 12 free, at most 6 on one node
  a quota counts requests.nvidia.com/gpu: 4

gpu-a30:5: perhaps: enough are free, though they may lie on several nodes
  a30-24gb: 8 of 12 free, at most 6 on one node
  a quota counts requests.nvidia.com/gpu: 5

gpu-a100:2: no: no node has 2 free
  a100-80gb: 1 of 8 free, at most 1 on one node, 4 on nodes that are not usable
  a quota counts requests.nvidia.com/gpu: 2
  may start now:
    gpu-a100:1 (fewer): 1 of 8 free, at most 1 on one node, 4 on nodes that are
      not usable
"""
    )


def test_who_may_see_nothing_learns_what_to_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    _served(monkeypatch, {})
    result = run("offers")
    assert result.exit_code == 2
    assert result.stderr == (
        'nodes is forbidden: User "u" cannot list resource "nodes"\n'
        "ask an admin for permission to list nodes and pods in all namespaces, and resourceclaims "
        "where devices are claimed; or for gpuspec controller, whose table status is as good for "
        "this\n"
    )
