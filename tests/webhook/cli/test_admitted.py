"""``gpuspec explain`` on a Pod that was translated: what its annotation says became of it."""

from __future__ import annotations

import json
import re

import pytest

from tests.answers import admitted
from tests.builders import Json, asking, make_pod, pfn
from tests.webhook.cli.running import answer, on_table, run

ANNOTATION = "gpuspec.preferred.jp/request"
DIGEST = pfn().digest


def _mark(**changed: object) -> str:
    """Return an annotation that can be read, unless what is changed prevents it."""
    mark = {
        "containers": [{"name": "a", "spec": "gpu-any", "count": 1}],
        "policy": "EveryFit",
        "candidates": ["a30-24gb"],
        "table": "0123456789abcdef",
    }
    return json.dumps(mark | changed)


def _explained(pod: Json) -> str:
    result = on_table("explain", "-f", "-", stdin=json.dumps(pod))
    assert max(map(len, result.stdout.splitlines())) <= 80
    return result.stdout


@pytest.mark.rule("R5")
def test_what_was_asked_and_what_came_of_it() -> None:
    pod = admitted(asking(2, any_24gb=2).spec(priority=0), pfn())
    assert _explained(pod) == (
        f"""\
Pod/train
allowed, unchanged: No container has a key <domain>/gpu-... of this table.
admitted: main with gpu-any-24gb: 2 got v100-32gb, a30-24gb, a100-80gb
  (EveryFit, by table {DIGEST}; so says its annotation
  gpuspec.preferred.jp/request)
"""
    )
    (found,) = answer(on_table("explain", "-f", "-", "-o", "json", stdin=json.dumps(pod)))
    assert (found["allowed"], found["candidates"], found["placement"]) == (True, [], None)
    assert found["admitted"] == {
        "containers": [{"name": "main", "spec": "gpu-any-24gb", "count": 2}],
        "policy": "EveryFit",
        "candidates": ["v100-32gb", "a30-24gb", "a100-80gb"],
        "table": DIGEST,
        "byThisTable": True,
    }


@pytest.mark.rule("R5")
def test_another_table_is_pointed_out() -> None:
    pod = json.dumps(admitted(asking(any_24gb=2).spec(priority=0), pfn()))
    text = " ".join(run("explain", "-f", "-", stdin=pod).stdout.split())
    digest = answer(run("explain", "any", "-o", "json"))["table"]["digest"]
    assert f"by table {DIGEST}, not by default {digest} as here; so says" in text
    (found,) = answer(run("explain", "-f", "-", "-o", "json", stdin=pod))
    assert (found["admitted"]["table"], found["admitted"]["byThisTable"]) == (DIGEST, False)


@pytest.mark.rule("R5", "R2")
def test_it_is_no_permission() -> None:
    """A container that asks anew is judged, whatever an annotation says of it."""
    marks = admitted(asking(any_24gb=1), pfn())["metadata"]["annotations"]
    pod = asking(h100=1).metadata(annotations=marks).build()
    result = on_table("explain", "-f", "-", stdin=json.dumps(pod))
    assert result.exit_code == 1
    assert "denied\n" in result.stdout
    assert "admitted: main with gpu-any-24gb: 1 got " in result.stdout


@pytest.mark.rule("R5")
@pytest.mark.parametrize(
    "annotation",
    [
        None,
        5,
        "",
        "{",
        "[" * 100_000,
        "[]",
        "{}",
        _mark(containers=[]),
        _mark(containers=[{"name": "a", "spec": "b"}]),
        _mark(candidates=[1]),
        _mark(candidates="x"),
        _mark(policy=5),
        _mark(table=None),
    ],
)
def test_what_cannot_be_read_says_nothing(annotation: object) -> None:
    pod = make_pod().container("main").metadata(annotations={ANNOTATION: annotation}).build()
    assert "admitted" not in _explained(pod)
    (found,) = answer(on_table("explain", "-f", "-", "-o", "json", stdin=json.dumps(pod)))
    assert "admitted" not in found


def test_pods_that_cannot_be_read_have_no_history() -> None:
    marks = admitted(asking(any_24gb=1), pfn())["metadata"]["annotations"]
    pod = make_pod().metadata(annotations=marks).build()
    assert "admitted" not in _explained({**pod, "spec": None})


def test_many_containers_and_hostile_texts_stay_readable() -> None:
    containers = [{"name": f"c{n}\x1b[31m", "spec": "gpu-any", "count": 1} for n in range(9)]
    mark = _mark(containers=containers)
    pod = make_pod().container("m").metadata(annotations={ANNOTATION: mark}).build()
    text = _explained(pod)
    assert re.search(r"c3\?\[31m with gpu-any: 1 and 5\s+more got\s+a30-24gb\s+\(EveryFit", text)
