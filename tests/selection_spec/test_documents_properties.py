"""Laws of reading: nothing but DocumentError comes out, whatever goes in."""

from __future__ import annotations

import json
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from selection_spec.documents import Document, field_path, load_manifests, load_strict
from selection_spec.documents.scalars import scalar_value, surprise
from selection_spec.errors import DocumentError, Level, Problem

PIECES = st.sampled_from(
    [
        *"abyn01.-~?:,#&*!|>%@`'\"{}[]\\\t\n\r \x07\x85\u2028\ufeff\ud800é",
        *("- ", ": ", "\n  ", "\n---\n", "\n...\n", "---", "&x ", "*x", "<<: ", "!!int ", "!t "),
        *("yes", "0x10", "1_000", "12:30", "1e3", ".inf", "2020-01-01", "null", '{"a":1}', "|-\n"),
    ]
)
YAMLISH = st.lists(PIECES, max_size=40).map("".join)
TEXTS = st.text(max_size=60) | YAMLISH
ANYTHING = (
    TEXTS | st.binary(max_size=60) | YAMLISH.map(lambda text: text.encode("utf-16", "ignore"))
)

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text()
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def outcome(
    read: Callable[[str | bytes], tuple[Document, ...]], text: str | bytes
) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return the documents, or the problems; anything else that is raised fails the test."""
    try:
        return read(text), ()
    except DocumentError as error:
        return (), error.problems


def strictly(text: str | bytes) -> tuple[Document, ...]:
    return (load_strict(text),)


def check(problems: tuple[Problem, ...], level: Level, text: str | bytes) -> None:
    lines = 1 + (text.count("\n") if isinstance(text, str) else text.count(b"\n"))
    for problem in problems:
        assert problem.message
        assert problem.level is level
        assert 1 <= problem.line <= lines
        assert problem.column >= 1


@given(ANYTHING)
def test_a_manifest_is_read_or_refused_with_places(text: str | bytes) -> None:
    documents, problems = outcome(load_manifests, text)

    check(problems, Level.ERROR, text)
    for document in documents:
        assert document.value is not None
        json.dumps(document.value, allow_nan=False)
        check(document.findings, Level.WARNING, text)


@given(ANYTHING)
def test_what_is_read_strictly_is_one_manifest_without_findings(text: str | bytes) -> None:
    documents, problems = outcome(strictly, text)

    check(problems, Level.ERROR, text)
    if documents:
        assert load_manifests(text) == documents
    else:
        assert problems


@given(YAMLISH.map(lambda text: text.replace("\ud800", "")))
def test_a_manifest_without_findings_is_read_strictly(text: str) -> None:
    documents, _ = outcome(load_manifests, text)

    if len(documents) == 1 and not documents[0].findings:
        assert outcome(strictly, text) == (documents, ())


@given(tree=TREES, ensure_ascii=st.booleans(), indent=st.sampled_from([None, 0, 1, "\t"]))
def test_json_comes_back_as_it_went_in(
    *, tree: object, ensure_ascii: bool, indent: int | str | None
) -> None:
    text = json.dumps({"a": tree}, ensure_ascii=ensure_ascii, indent=indent)

    assert load_strict(text).value == {"a": tree}


def paths(value: object) -> list[tuple[str | int, ...]]:
    steps: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        steps = list(value.items())
    elif isinstance(value, list):
        steps = list(enumerate(value))
    return [(), *((step, *rest) for step, inner in steps for rest in paths(inner))]


def walk(document: Document, path: tuple[str | int, ...]) -> object:
    value = document.value
    for step in path:
        value = value[step]  # type: ignore[index]
    return value


@given(TREES)
def test_every_value_stands_where_its_position_says(tree: object) -> None:
    text = json.dumps({"a": tree}, ensure_ascii=True, indent=1)
    lines = text.split("\n")
    document = load_strict(text)
    for path in paths(document.value):
        line, column = document.position(path)
        written = json.dumps(walk(document, path), ensure_ascii=True)
        assert lines[line - 1][column - 1 :].startswith(written[:1])
    assert len({field_path(path) for path in paths(document.value)}) == len(paths(document.value))


@given(st.text(alphabet="0123456789.eE+-_xXoObByYnNtTfF~:aTZ", min_size=1, max_size=9))
def test_a_plain_scalar_without_surprise_is_text_or_what_json_says(text: str) -> None:
    if surprise(text) is not None:
        return
    value = scalar_value(text, plain=True)

    if not isinstance(value, str) and text not in {"~", "True", "False", "Null"}:
        number = text.removeprefix("+").replace("-.", "-0.").rstrip(".")
        assert value == json.loads(f"0{number}" if number.startswith(".") else number)
