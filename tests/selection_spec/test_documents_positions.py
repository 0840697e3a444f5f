"""Where in the text a value stands, and how its path is written."""

from __future__ import annotations

import pytest

from selection_spec.documents import (
    Document,
    Path,
    field_path,
    load_manifests,
    load_strict,
    survey_manifests,
)

TABLE = """\
# A table
spec:
  devices:
    - name: v100
      vram: 16gb
      nodes: {matchLabels: {gpu-model: v100-16gb}}
    - name: a30
      tolerations:
        - key: gpu
"""

POSITIONS: dict[str, tuple[Path, tuple[int, int], tuple[int, int]]] = {
    "the document": ((), (2, 1), (2, 1)),
    "a mapping on the next line is at its key": (("spec",), (2, 1), (2, 1)),
    "a list on the next line is at its key": (("spec", "devices"), (3, 3), (3, 3)),
    "an item": (("spec", "devices", 1), (7, 7), (7, 7)),
    "a text": (("spec", "devices", 0, "vram"), (5, 13), (5, 7)),
    "a mapping in braces": (("spec", "devices", 0, "nodes"), (6, 14), (6, 7)),
    "a value in braces": (
        ("spec", "devices", 0, "nodes", "matchLabels", "gpu-model"),
        (6, 40),
        (6, 29),
    ),
    "no such key": (("spec", "devices", 1, "vram"), (7, 7), (7, 7)),
    "no such item": (("spec", "devices", 7, "vram"), (3, 3), (3, 3)),
    "below a text": (("spec", "devices", 0, "vram", "unit", 3), (5, 13), (5, 7)),
    "an index into a mapping": (("spec", 0), (2, 1), (2, 1)),
    "a key of a list": (("spec", "devices", "name"), (3, 3), (3, 3)),
}


@pytest.mark.parametrize(("path", "value", "key"), POSITIONS.values(), ids=POSITIONS)
def test_a_path_has_a_position(path: Path, value: tuple[int, int], key: tuple[int, int]) -> None:
    document = load_strict(TABLE)

    assert document.position(path) == value
    assert document.key_position(path) == key


def only(text: str | bytes) -> Document:
    (document,) = load_manifests(text)
    return document


OTHERS: dict[str, tuple[str | bytes, Path, tuple[int, int]]] = {
    "JSON": ('{\n\t"a": [1,\n\t\t{"b": "c"}]}', ("a", 1, "b"), (3, 9)),
    "the last of duplicates": ("a: 1\na: 2\n", ("a",), (2, 4)),
    "a converted key": ("0x10: a\n", ("16",), (1, 7)),
    "an alias": ("a: &x {b: 1}\nc: *x\n", ("c",), (2, 4)),
    "below an alias": ("a: &x {b: 1}\nc: *x\n", ("c", "b"), (1, 11)),
    "an alias as key": ("&x a: 1\nb: {*x : 2}\n", ("b", "a"), (2, 10)),
    "a merged key": ("a: &x {b: 1}\nc: {<<: *x, d: 2}\n", ("c", "b"), (1, 11)),
    "a merged list": ("x: {<<: [{a: 1}, {a: 2, b: 3}]}\n", ("x", "a"), (1, 14)),
    "a key behind a merge": ("x: {<<: [{a: 1}, {a: 2, b: 3}]}\n", ("x", "b"), (1, 28)),
    "a key that is nowhere": ("x: &x {<<: &w {a: 1}}\nz: {<<: *x}\n", ("z", "b"), (2, 4)),
    "behind wide characters": ("é: 日本, x\n", ("é",), (1, 4)),
    "in UTF-16": (b"\xff\xfe" + "a: 1\r\né: x\r\n".encode("utf-16-le"), ("é",), (2, 4)),
    "behind a byte order mark": ("\ufeffa: b\n", ("a",), (1, 4)),
    "crlf": ("a: 1\r\nb:\r\n  c: 2\r\n", ("b", "c"), (3, 6)),
    "a line separator is no line feed": ("a: x\u2028b: y\n", ("b",), (1, 9)),
    "a key without a value": ("a:\nb: 1\n", ("a",), (1, 3)),
}


@pytest.mark.parametrize(("text", "path", "place"), OTHERS.values(), ids=OTHERS)
def test_positions_count_characters_of_the_text_as_it_was(
    text: str | bytes, path: Path, place: tuple[int, int]
) -> None:
    assert only(text).position(path) == place


def test_positions_of_a_later_document_are_in_the_whole_text() -> None:
    *_, yaml = load_manifests("a: 1\n---\n# c\nc:\n  d: 3\n")
    *_, json = load_manifests('{"a": 1}\n{"b": 2}\n')

    assert (yaml.line, yaml.position(("c", "d"))) == (4, (5, 6))
    assert (json.line, json.position(("b",))) == (2, (2, 7))


def test_positions_behind_a_byte_order_mark_in_a_text_count_it() -> None:
    """Files that each begin with one have been put together."""
    _, yaml = load_manifests("\ufeffa: 1\n---\n\ufeffb: 1\nc: 日\n")
    _, json = load_manifests('\ufeff{"a": 1}\n\ufeff{"b": 1}\n')

    assert (yaml.line, yaml.key_position(("b",)), yaml.position(("b",))) == (3, (3, 2), (3, 5))
    assert (yaml.key_position(("c",)), yaml.position(("c",))) == ((4, 1), (4, 4))
    assert (json.line, json.key_position(("b",))) == (2, (2, 3))


BEHIND_A_MARK: dict[str, tuple[str, str]] = {
    "no YAML": ("b: x: y\n", '3:6: a ": " stands where no key can be'),
    "no YAML on the next line": ("b: 1\n@: 1\n", "4:1: a value cannot begin with @"),
    "a control character": ("b: \x01\n", "3:5: the control character U+0001 is not allowed"),
    "no anchor": ("b: *x\n", "3:5: *x has no anchor"),
    "a value": ("b: !!int x\n", "3:5: b: x cannot be read as !!int"),
    "another mark": ("\ufeffb: 1\n", "3:2: a byte order mark (U+FEFF) begins this line; remove it"),
}


@pytest.mark.parametrize(("text", "said"), BEHIND_A_MARK.values(), ids=BEHIND_A_MARK)
def test_problems_behind_a_byte_order_mark_in_a_text_count_it(text: str, said: str) -> None:
    (problem,) = survey_manifests(f"a: 1\n---\n\ufeff{text}").problems

    assert problem.located("t").removeprefix("t:").startswith(said)


PATHS: dict[str, Path] = {
    "": (),
    "spec": ("spec",),
    "spec.devices[2].vram": ("spec", "devices", 2, "vram"),
    "[0][1]": (0, 1),
    'limits["nvidia.com/gpu"]': ("limits", "nvidia.com/gpu"),
    '["preferred.jp/gpu-any"].x': ("preferred.jp/gpu-any", "x"),
    'labels["a.b"]': ("labels", "a.b"),
    'a["1"]': ("a", "1"),
    'a[""]': ("a", ""),
    r'a["b\"c\\d"]': ("a", 'b"c\\d'),
    'a["é"]': ("a", "é"),
    "a.gpu-model": ("a", "gpu-model"),
}


@pytest.mark.parametrize(("text", "path"), PATHS.items(), ids=PATHS)
def test_paths_are_written_as_kubernetes_writes_them(text: str, path: Path) -> None:
    assert field_path(path) == text


def test_documents_are_equal_by_what_they_say() -> None:
    assert load_strict("a: 1\n") == load_strict("{a: 1}\n")
    assert load_strict("a: 1\n") != load_strict("\na: 1\n")
    assert repr(load_strict("a: 1\n")) == "Document(value={'a': 1}, line=1, findings=())"
