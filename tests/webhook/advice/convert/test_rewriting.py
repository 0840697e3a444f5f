"""Edits of Pods become edits of a text, which is read again before it is believed."""

from __future__ import annotations

from selection_spec.documents import load_manifests, survey_manifests
from webhook.advice.convert.rewriting import Wanted, rewritten
from webhook.jsonpatch import Drop, Edit, Path

_TWO = """\
kind: Pod  # one
spec: {a: 1, b: 2}
---
kind: Pod  # two
spec: {a: 1, b: 2}
"""


def _drop(*path: str | int) -> tuple[Edit, ...]:
    steps: Path = path
    return (Drop(steps, "convert"),)


def test_each_edit_is_made_where_its_pod_stands() -> None:
    made = rewritten(
        survey_manifests(_TWO), [Wanted(0, _drop("spec", "a")), Wanted(1, _drop("spec", "b"))]
    )

    assert made.failed == {}
    assert made.text == ("kind: Pod  # one\nspec: {b: 2}\n---\nkind: Pod  # two\nspec: {a: 1}\n")
    assert list(made.values) == [document.value for document in load_manifests(made.text)]


def test_what_an_anchor_shares_is_told_and_the_rest_is_made() -> None:
    text = "a: &x {b: 1, c: 2}\nd: {<<: *x, e: 3}\nf: {g: 4, h: 5}\n"
    made = rewritten(
        survey_manifests(text), [Wanted(0, _drop("d", "c")), Wanted(0, _drop("f", "g"))]
    )

    assert set(made.failed) == {0}
    assert "anchor" in made.failed[0]
    assert made.text == "a: &x {b: 1, c: 2}\nd: {<<: *x, e: 3}\nf: {h: 5}\n"


def test_an_edit_that_would_mean_something_else_is_left_out() -> None:
    """Of a key that stands twice the last one counts, and without it the other one would."""
    text = "a: {b: 1, b: 2, c: 3}\nd: {e: 4, f: 5}\n"
    made = rewritten(
        survey_manifests(text), [Wanted(0, _drop("a", "b")), Wanted(0, _drop("d", "e"))]
    )

    assert made.failed == {0: "the text cannot be changed there without changing more"}
    assert made.text == "a: {b: 1, b: 2, c: 3}\nd: {f: 5}\n"
    assert made.values == ({"a": {"b": 2, "c": 3}, "d": {"f": 5}},)


def test_edits_that_meet_are_not_both_made() -> None:
    text = "a: {b: 1, c: 2}\n"
    made = rewritten(survey_manifests(text), [Wanted(0, _drop("a", "b")), Wanted(0, _drop("a"))])

    assert len(made.failed) == 1
