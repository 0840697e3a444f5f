"""Users' manifests: the values that kubectl would send, and what it does not tell.

``kubectl/cases.jsonl`` holds texts with what kubectl's own reader (apimachinery 0.37.2 with
sigs.k8s.io/yaml 1.6.0 on go-yaml v2) makes of them, written by ``kubectl/main.go`` beside it. Known
and left alone, since nobody writes them: the escape ``\\/`` in YAML (kubectl refuses it), a stray
carriage return before the end of a line, and what stands behind a whole flow value on its line.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import yaml

from selection_spec.documents import Document, load_manifests, yaml_nodes
from selection_spec.documents.text import MAX_MANIFEST_BYTES
from selection_spec.errors import DocumentError, Level

Case = dict[str, object]

_LINES = (Path(__file__).parent / "kubectl" / "cases.jsonl").read_bytes().splitlines()
CASES: list[Case] = [json.loads(line) for line in _LINES]


def raw(case: Case) -> bytes:
    encoded = case.get("base64")
    return base64.b64decode(encoded) if isinstance(encoded, str) else str(case["text"]).encode()


def unwrapped(value: object) -> object:
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    match kind:
        case "map":
            return {key: unwrapped(item) for key, item in inner.items()}
        case "list":
            return [unwrapped(item) for item in inner]
        case "int":
            return int(inner)
        case _:
            return float(inner)


def exact(value: object) -> object:
    """Return a value in which 1, 1.0 and true differ, as they do in JSON."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    return type(value).__name__, value


def values(text: str | bytes) -> list[object]:
    return [document.value for document in load_manifests(text)]


def outcome(text: bytes) -> object:
    """Return the exact values, or None for a text that is refused."""
    try:
        return exact(values(text))
    except DocumentError:
        return None


def findings(document: Document) -> list[str]:
    assert all(problem.level is Level.WARNING for problem in document.findings)
    return [problem.located("t").removeprefix("t:") for problem in document.findings]


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(raw(case))[:60])
def test_a_text_has_the_values_that_kubectl_reads(case: Case) -> None:
    if "error" in case:
        with pytest.raises(DocumentError):
            load_manifests(raw(case))
    else:
        wanted = case.get("documents", [])
        assert isinstance(wanted, list)
        assert exact(values(raw(case))) == exact([unwrapped(document) for document in wanted])


# Python's parser, unlike libyaml, takes no tab between a key, its value and a comment.
TABS_WITHIN_A_LINE = (b"a:\t1\n", b"a: 1\t# c\n")


def test_a_yaml_library_without_libyaml_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    libyaml = [outcome(raw(case)) for case in CASES if raw(case) not in TABS_WITHIN_A_LINE]
    monkeypatch.setattr(yaml_nodes, "_Loader", yaml.SafeLoader)
    python = [outcome(raw(case)) for case in CASES if raw(case) not in TABS_WITHIN_A_LINE]

    assert python == libyaml
    with pytest.raises(DocumentError, match="a tab cannot indent YAML; indent with spaces"):
        load_manifests(TABS_WITHIN_A_LINE[0])


def test_the_cases_are_what_they_are_meant_to_be() -> None:
    refused = sum("error" in case for case in CASES)

    assert (len(CASES), refused) == (668, 77)


def test_findings_are_warnings_beside_the_values() -> None:
    (document,) = load_manifests("""\
spec:
  hostNetwork: yes
  mode: 0644
  at: 12:30
  when: 2020-01-01
  at: 12:31
  1: x
  <<: {a: 1}
  tag: !!str 12
""")

    assert document.value == {
        "spec": {
            "hostNetwork": True,
            "mode": 0o644,
            "at": "12:31",
            "when": "2020-01-01",
            "1": "x",
            "a": 1,
            "tag": "12",
        }
    }
    assert findings(document) == [
        '2:16: spec.hostNetwork: yes is read as true; write "yes" in quotes, or true',
        '3:9: spec.mode: 0644 is read as 420; write "0644" in quotes, or 420',
        (
            "4:7: spec.at: 12:30 is a base 60 number to some YAML readers and text to others;"
            ' write "12:30" in quotes'
        ),
        (
            "5:9: spec.when: 2020-01-01 is a date to some YAML readers and text to others;"
            ' write "2020-01-01" in quotes'
        ),
        (
            "6:3: spec.at: the key at stands on line 4 too, and only the last one counts;"
            " remove one of them"
        ),
        (
            "6:7: spec.at: 12:31 is a base 60 number to some YAML readers and text to others;"
            ' write "12:31" in quotes'
        ),
        '7:3: spec["1"]: the key 1 is no text; write "1" in quotes',
        "8:3: spec: YAML readers differ about the merge key <<; write the keys out instead",
        "9:8: spec.tag: YAML readers differ about the tag !!str; leave it out",
    ]


def test_what_stands_below_an_alias_is_reported_once_where_it_is_written() -> None:
    (document,) = load_manifests("a: &x [yes]\nb: *x\nc: [*x, *x]\n")

    assert document.value == {"a": [True], "b": [True], "c": [[True], [True]]}
    assert findings(document) == ['1:8: a[0]: yes is read as true; write "yes" in quotes, or true']


def test_every_document_knows_its_line_and_its_own_findings() -> None:
    first, second, third = load_manifests("# c\na: 1\n---\n---\n# d\n\nb: on\n--- # e\nc: \xff\n")

    assert (first.line, second.line, third.line) == (2, 7, 9)
    assert findings(first) == []
    assert findings(second) == ['7:4: b: on is read as true; write "on" in quotes, or true']


def test_bytes_that_are_no_text_are_findings_of_their_document() -> None:
    first, second = load_manifests(b"# \xe9\na: \xff\n---\n# \xfe\n---\nb: 1\n")

    assert (first.value, second.value) == ({"a": "\ufffd"}, {"b": 1})
    assert findings(first) == [
        "1:3: the byte 0xe9 is no character; write the text as UTF-8",
        "2:4: the byte 0xff is no character; write the text as UTF-8",
    ]
    assert findings(second) == []


def test_text_that_kubectl_never_sees_is_a_finding() -> None:
    (document,) = load_manifests("a: 1\n...\nb: 2\n")

    assert document.value == {"a": 1}
    assert findings(document) == [
        "3:1: what follows the end of the document is not read; begin another document with ---"
    ]


def test_errors_of_all_documents_come_at_once() -> None:
    with pytest.raises(DocumentError) as caught:
        load_manifests("a: [1\n---\nb: yes\n---\nc: .inf\n---\n~: 1\n--- x\nd: *y\n")

    assert [problem.located("t") for problem in caught.value.problems] == [
        "t:2:1: did not find expected ',' or ']' while parsing a flow sequence",
        't:5:4: c: .inf is no number that JSON can hold; write ".inf" in quotes',
        "t:7:1: the key ~ is no text; write it in quotes",
        "t:8:4: x stands behind the separator ---; begin the document on the next line",
        "t:9:4: *y has no anchor; define &y",
    ]


def test_size_is_bounded() -> None:
    with pytest.raises(DocumentError) as caught:
        load_manifests(b" " * (MAX_MANIFEST_BYTES + 1))

    assert [problem.located("t") for problem in caught.value.problems] == [
        "t:1:1: the text has 31,457,281 bytes, and at most 31,457,280 are read; split it"
    ]
