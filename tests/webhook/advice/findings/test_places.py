"""Exact lines and columns, whatever a text is written like."""

from __future__ import annotations

import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.documents import field_path
from tests.webhook.advice.findings.judged import found, judged, manifest_of, pod, told
from webhook.advice.findings.admission import path_of, value_at
from webhook.advice.findings.located import Text

BAD = "preferred.jp/gpu-A100"
SIMPLE = pod(f"limits:\n  {BAD}: 1")
KEY = 'spec.containers[0].resources.limits["preferred.jp/gpu-A100"]'


def _marked(text: str | bytes) -> list[str]:
    """What each finding marks on its line, as the columns say."""
    return [
        one.source[one.place.column - 1 : one.place.end_column - 1]
        for one in found(text)
        if one.rule.id == "GS101"
    ]


def test_block_style() -> None:
    (one,) = found(SIMPLE)
    place = one.place
    assert (place.line, place.column, place.end_column) == (9, 11, 32)
    assert (place.path, place.object, place.file) == (KEY, "Pod/p", "f.yaml")
    assert one.source == f"          {BAD}: 1"


@pytest.mark.parametrize("quote", ["", "'", '"'])
@pytest.mark.parametrize(
    "line",
    [
        "limits: {{{}: 1}}",
        "limits: {{cpu: 1, {}: 1}}",
        "limits: {{  {}  : 1}}",
        "limits:\n  {} : 1",
    ],
)
def test_keys_in_flow_style_and_in_quotes(line: str, quote: str) -> None:
    written = f"{quote}{BAD}{quote}"
    assert _marked(pod(line.format(written))) == [written]


def test_json() -> None:
    value = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a", "resources": {"limits": {BAD: 1}}}]},
    }
    for indent in (None, 2, "\t"):
        assert _marked(json.dumps(value, indent=indent)) == [f'"{BAD}"']
    # Escapes are what JSON says, and no key of this name stands there.
    (one,) = found(json.dumps(value).replace(BAD, "preferred.jp\\/gpu-A100"))
    assert one.source[one.place.column - 1 : one.place.end_column - 1] == (
        '"preferred.jp\\/gpu-A100"'
    )
    assert one.fix is None


@pytest.mark.parametrize(
    "raw",
    [
        SIMPLE.encode(),
        SIMPLE.replace("\n", "\r\n").encode(),
        codecs.BOM_UTF8 + SIMPLE.encode(),
        SIMPLE.encode("utf-16"),
        codecs.BOM_UTF16_BE + SIMPLE.encode("utf-16-be"),
        SIMPLE.rstrip("\n").encode(),
        SIMPLE.replace(": 1", ":\t1\t# tabs").encode(),
        SIMPLE.replace("kind", "# 日本語 é\nkind").replace("# 日本語 é\n", "").encode(),
    ],
    ids=["plain", "CRLF", "BOM", "UTF-16", "UTF-16 BE", "no end", "tabs", "wide"],
)
def test_every_encoding_counts_the_same(raw: bytes) -> None:
    assert told(raw) == [("GS101", 9, 11)]
    assert _marked(raw) == [BAD]
    assert [one.source.endswith("\r") for one in found(raw)] == [False]


def test_characters_are_counted_and_not_bytes() -> None:
    text = pod(f"limits: {{例え/例え: 1, {BAD}: 1}}")
    assert told(text) == [("GS101", 8, 28)]
    assert _marked(text) == [BAD]


def test_comments_and_empty_documents_count_as_lines() -> None:
    text = f"# one\n---\n---\n# two\n---\n\n{SIMPLE}---\n# three\n---\n{SIMPLE}"
    assert told(text) == [("GS101", 15, 11), ("GS101", 27, 11)]
    assert judged(text).documents == 2


def test_a_part_of_a_file_is_placed_in_the_file() -> None:
    (one,) = found(SIMPLE, before=100, characters=5000)
    assert (one.place.line, one.place.column) == (109, 11)
    assert one.fix is not None
    assert one.fix.start == 5000 + SIMPLE.index(BAD)


def test_what_an_anchor_shares_is_told_once_where_it_stands() -> None:
    text = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  containers:
    - name: one
      resources: &gpu
        limits: {{{BAD}: 1}}
    - name: two
      resources: *gpu
    - name: three
      resources: {{limits: {{{BAD}: 1}}}}
"""
    assert told(text) == [("GS101", 8, 18), ("GS101", 12, 28)]


def test_what_a_merge_key_brings_is_told_where_it_stands() -> None:
    text = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: p, annotations: &gpu {{{BAD}: "1"}}}}
spec:
  containers:
    - name: one
      resources: {{limits: {{<<: *gpu}}}}
"""
    assert told(text) == [("GS101", 3, 40), ("GS003", 7, 28)]


def test_a_shared_anchor_hides_nothing_else() -> None:
    """Two things that are wrong at one place are two findings."""
    text = pod("limits: {preferred.jp/gpu-a100: 1, preferred.jp/gpu-any: 1, nvidia.com/gpu: 1}")
    assert told(text) == [("GS103", 8, 18), ("GS103", 8, 18)]


def test_a_problem_of_the_whole_pod_is_placed_at_a_key() -> None:
    together = manifest_of(
        "spec:\n  containers:\n"
        "    - {name: a, resources: {limits: {preferred.jp/gpu-a100: 1}}}\n"
        "    - {name: b, resources: {limits: {preferred.jp/gpu-v100: 1}}}"
    )
    assert told(together) == [("GS105", 6, 38)]


@pytest.mark.rule("N8")
def test_a_daemon_set_is_told_at_its_key() -> None:
    text = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers:
        - {name: a, resources: {limits: {preferred.jp/gpu-any: 1}}}
"""
    assert told(text) == [("GS111", 9, 42)]


@pytest.mark.rule("R6")
def test_a_wrong_shape_is_told_at_its_field() -> None:
    text = pod("limits: [preferred.jp/gpu-any]")
    (one,) = found(text)
    assert (one.rule.id, one.place.line, one.place.path) == ("GS121", 6, "spec.containers[0]")


@pytest.mark.rule("G4")
@pytest.mark.parametrize(
    "key", ['gpu-a"b', "gpu-a\\b", "gpu-a[0]", "gpu-a.b", 'gpu-a"]', "gpu-a b"]
)
def test_keys_of_any_characters_are_found(key: str) -> None:
    text = pod(f"limits: {{{json.dumps(f'preferred.jp/{key}')}: 1}}")
    assert told(text) == [("GS101", 8, 18)]


@pytest.mark.rule("A4")
def test_keys_under_requests_alone_are_told_there() -> None:
    assert told(pod(f"limits: {{cpu: 1}}\nrequests:\n  cpu: 1\n  {BAD}: 1")) == [("GS101", 11, 11)]
    assert told(pod("requests: {preferred.jp/gpu-a100: 1}")) == [("GS102", 8, 20)]


@pytest.mark.rule("G4")
def test_a_misspelt_key_is_told_at_both_its_places() -> None:
    text = pod(f"limits: {{{BAD}: 1}}\nrequests: {{{BAD}: 1}}")
    assert told(text) == [("GS101", 8, 18), ("GS101", 9, 20)]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ()),
        ("spec", ("spec",)),
        ("spec.containers[1]", ("spec", "containers", 1)),
        ("spec.containers[7]", ("spec", "containers")),
        ('spec.containers[0].a["x/y"]', ("spec", "containers", 0, "a", "x/y")),
        ('spec.containers[0].a["x/z"]', ("spec", "containers", 0, "a")),
        ('spec.containers[0]["q\\"\\\\"]', ("spec", "containers", 0, 'q"\\')),
        ("specific", ()),
        ("metadata.name", ()),
    ],
)
def test_a_path_is_read_as_far_as_the_pod_has_it(text: str, path: tuple[str | int, ...]) -> None:
    pod_ = {"spec": {"containers": [{"a": {"x/y": 1}, 'q"\\': 2}, {}]}}
    assert path_of(pod_, text) == path


_VALUES = st.recursive(
    st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(_VALUES, st.data())
def test_every_path_of_a_value_is_found_by_its_text(value: object, data: st.DataObject) -> None:
    path: tuple[str | int, ...] = ()
    inner = value
    while inner and data.draw(st.booleans()):
        steps = list(inner) if isinstance(inner, dict) else list(range(len(inner)))  # type: ignore[arg-type]
        step = data.draw(st.sampled_from(steps))
        path, inner = (*path, step), inner[step]  # type: ignore[index]
    text = field_path(path)
    read = path_of(value, text)
    # Keys that differ in nothing but how they would be quoted are one text.
    assert field_path(read) == text
    assert value_at({"a": [value]}, ("a", 0, *read)) == value_at(value, read)


@pytest.mark.parametrize(
    ("line", "column", "end"),
    [
        ("a: b", 1, 2),
        ("a: b", 4, 5),
        ('"a b": c', 1, 6),
        ("'it''s': c", 1, 8),
        ("{a: b}", 2, 3),
        ("{a: b}", 5, 6),
        ("[a, b]", 5, 6),
        ("a:b: c", 1, 4),
        ("", 1, 0),
        ("a", 9, 0),
        ("a", 0, 0),
        ('"open', 1, 6),
    ],
)
def test_what_stands_at_a_column_has_an_end(line: str, column: int, end: int) -> None:
    assert Text("f", f"{line}\n").end(1, column) == end


def test_lines_beside_the_text_are_empty() -> None:
    text = Text("f", "a\r\nb")
    assert [text.line(number) for number in range(5)] == ["", "a", "b", "", ""]
    assert [text.position(offset) for offset in (0, 2, 3)] == [(1, 1), (1, 3), (2, 1)]
    assert text.offset(2, 1) == 3
