"""What a translated Pod carries to tell people what was asked (R5)."""

from __future__ import annotations

import json

import pytest

from tests.answers import admitted, outcome
from tests.builders import Json, PodBuilder, asking, make_pod, make_row, make_table, pfn, pfn_table
from webhook.snapshot import Snapshot

LABEL = "gpuspec.preferred.jp/spec"
ANNOTATION = "gpuspec.preferred.jp/request"


def annotation(pod: Json) -> Json:
    read: Json = json.loads(pod["metadata"]["annotations"][ANNOTATION])
    return read


@pytest.mark.rule("R5")
@pytest.mark.parametrize(
    ("pod", "label"),
    [
        pytest.param(asking(), "gpu-any", id="any"),
        pytest.param(asking(any_24gb=2), "gpu-any-24gb", id="memory"),
        pytest.param(
            make_pod().init("a", a30=1).container("b", a30=2), "gpu-a30", id="the same spec twice"
        ),
        pytest.param(
            make_pod().container("a", any=1).container("b", a30=1), "mixed", id="specs that differ"
        ),
        pytest.param(
            make_pod().container("a", a30=1).container("b", any=0),
            "gpu-a30",
            id="a zero is no spec",
        ),
    ],
)
def test_label(pod: PodBuilder, label: str) -> None:
    assert admitted(pod, pfn())["metadata"]["labels"] == {LABEL: label}


@pytest.mark.rule("R5")
def test_annotation() -> None:
    pod = make_pod().init("fetch", any=2).container("main", any_24gb=1).container("side")

    assert admitted(pod, pfn())["metadata"]["annotations"] == {
        ANNOTATION: '{"containers":[{"name":"fetch","spec":"gpu-any","count":2},'
        '{"name":"main","spec":"gpu-any-24gb","count":1}],"policy":"EveryFit",'
        '"candidates":["v100-32gb","a30-24gb","a100-80gb"],'
        f'"table":"{pfn_table().digest}"}}'
    }


@pytest.mark.rule("R5")
@pytest.mark.parametrize("there", [None, {}, {"app": "train", "team.example/x~y": ""}])
def test_other_marks_stay(there: dict[str, str] | None) -> None:
    metadata = admitted(asking().metadata(labels=there, annotations=there), pfn())["metadata"]

    assert metadata["labels"] == {**(there or {}), LABEL: "gpu-any"}
    assert {k: v for k, v in metadata["annotations"].items() if k != ANNOTATION} == (there or {})


@pytest.mark.rule("R5")
def test_a_pod_without_metadata() -> None:
    pod = asking().build()
    pod["metadata"] = None

    assert admitted(pod, pfn())["metadata"]["labels"] == {LABEL: "gpu-any"}


@pytest.mark.rule("R5", "R2")
def test_a_second_pass_extends_them() -> None:
    first = admitted(asking(any_24gb=1), pfn())
    first["spec"]["containers"].append(
        make_pod().container("new", any=2).build()["spec"]["containers"][0]
    )

    second = admitted(first, pfn())

    assert second["metadata"]["labels"] == {LABEL: "mixed"}
    assert annotation(second)["containers"] == [
        {"name": "main", "spec": "gpu-any-24gb", "count": 1},
        {"name": "new", "spec": "gpu-any", "count": 2},
    ]


@pytest.mark.rule("R5", "R2")
def test_a_second_pass_of_the_same_spec_keeps_the_label() -> None:
    first = admitted(asking(a30=1), pfn())
    first["spec"]["containers"].append(
        make_pod().container("new", a30=1).build()["spec"]["containers"][0]
    )

    assert admitted(first, pfn())["metadata"]["labels"] == {LABEL: "gpu-a30"}
    assert not [edit for edit in outcome(first, pfn()).edits if "labels" in edit.path]


@pytest.mark.rule("R5")
def test_a_container_that_asks_anew_is_not_told_twice() -> None:
    """Someone exports a stored Pod, writes the spec back and creates it again."""
    stored = admitted(asking(any_24gb=1), pfn())
    pod = asking(a30=2).metadata(**stored["metadata"])

    after = admitted(pod, pfn())

    assert annotation(after)["containers"] == [{"name": "main", "spec": "gpu-a30", "count": 2}]
    assert after["metadata"]["labels"] == {LABEL: "gpu-a30"}


@pytest.mark.rule("R5")
@pytest.mark.parametrize(
    "there",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        '{"containers": null}',
        '{"containers": {}}',
        '{"containers": [null]}',
        '{"containers": [{"name": "a", "spec": "gpu-any"}]}',
        '{"containers": [{"name": "a", "spec": "gpu-any", "count": 1, "more": 1}]}',
        '{"containers": [{"name": 1, "spec": "gpu-any", "count": 1}]}',
        '{"containers": [{"name": "a", "spec": null, "count": 1}]}',
        '{"containers": [{"name": "a", "spec": "gpu-any", "count": true}]}',
        '{"containers": [{"name": "a", "spec": "gpu-any", "count": 1.0}]}',
        '{"containers": [{"name": "a", "spec": "gpu-any", "count": NaN}]}',
        '{"containers": [{"name": "a", "spec": "gpu-any", "count": ' + "9" * 5000 + "}]}",
        "[" * 100_000,
        5,
        None,
        ["x"],
    ],
    ids=lambda there: repr(there)[:60],
)
def test_content_that_cannot_be_read_is_replaced(there: object) -> None:
    after = admitted(asking().metadata(annotations={ANNOTATION: there}), pfn())

    assert annotation(after)["containers"] == [{"name": "main", "spec": "gpu-any", "count": 1}]
    assert after["metadata"]["labels"] == {LABEL: "gpu-any"}


@pytest.mark.rule("R5")
def test_names_of_another_alphabet_are_read_back() -> None:
    """The annotation is ASCII, whatever the API server makes of the name."""
    after = admitted(make_pod().container("訓練\ud800", any=1), pfn())

    assert after["metadata"]["annotations"][ANNOTATION].isascii()
    assert annotation(after)["containers"][0]["name"] == "訓練\ud800"


@pytest.mark.rule("R5")
def test_the_label_of_the_longest_name_is_a_label() -> None:
    table = make_table(make_row(f"{'x' * 48}-999999gb"))

    label = admitted(asking(**{f"{'x' * 48}-999999gb": 1}), Snapshot(table))["metadata"]["labels"][
        LABEL
    ]

    assert len(label) <= 63


@pytest.mark.rule("R5")
def test_nothing_is_decided_from_them() -> None:
    """Information, never permission."""
    lies = {
        ANNOTATION: '{"containers":[{"name":"other","spec":"gpu-a100","count":4}],'
        '"policy":"SmallestFit","candidates":["a100-80gb"],"table":"x"}'
    }
    plain, lying = asking(), asking().metadata(annotations=lies, labels={LABEL: "gpu-a100"})

    assert admitted(lying, pfn())["spec"] == admitted(plain, pfn())["spec"]
