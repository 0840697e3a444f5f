"""Edits of Pods become edits of a text, which is read again before it is believed."""

from __future__ import annotations

import pytest

from selection_spec.documents import load_manifests, survey_manifests
from webhook.advice.convert import pieces
from webhook.advice.convert.rewriting import Wanted, rewritten
from webhook.jsonpatch import Drop, Edit, Path, Put

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


def test_what_two_pods_share_is_changed_once_where_both_want_the_same() -> None:
    both = _drop("a", "b")
    made = rewritten(survey_manifests("a: {b: 1, c: 2}\n"), [Wanted(0, both), Wanted(0, both)])

    assert (made.text, made.failed) == ("a: {c: 2}\n", {})


def test_what_two_pods_share_stays_where_the_second_wants_something_else() -> None:
    text = "a: [1, 2, 3]\nb: {c: 1}\n"
    made = rewritten(
        survey_manifests(text),
        [
            Wanted(0, _drop("a", 0)),
            Wanted(0, _drop("a", 1)),
            Wanted(0, (Put(("b", "c"), 2, "convert"),)),
            Wanted(0, _drop("b")),
        ],
    )

    assert made.text == "a: [2, 3]\nb: {c: 2}\n"
    assert set(made.failed) == {1, 3}
    assert "another Pod has that place, too" in made.failed[1]


def test_what_fails_beside_another_one_is_made_by_itself() -> None:
    """Both are about one mapping, and only one entry of it is shared."""
    text = "a: {b: &x {c: 1}, d: 2, e: 3}\nf: *x\n"
    made = rewritten(
        survey_manifests(text), [Wanted(0, _drop("a", "b")), Wanted(0, _drop("a", "d"))]
    )

    assert set(made.failed) == {0}
    assert made.text == "a: {b: &x {c: 1}, e: 3}\nf: *x\n"


MANY = 40
TWICE = "a: {b: 1, b: 2, c: 3}\n"


def test_a_document_that_cannot_be_changed_costs_the_others_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each document is tried in its own text, so that the whole is read twice."""
    read: list[int] = []

    def counted(text: str) -> object:
        read.append(len(text))
        return survey_manifests(text)

    good = "a: {b: 1, c: 3}\n"
    text = "---\n".join([good] * MANY + [TWICE] + [good] * MANY)
    survey = survey_manifests(text)
    monkeypatch.setattr(pieces, "survey_manifests", counted)
    made = rewritten(survey, [Wanted(at, _drop("a", "b")) for at in range(2 * MANY + 1)])

    assert set(made.failed) == {MANY}
    assert made.text == text.replace("b: 1, c", "c")
    assert sum(read) < 4 * len(text)


def test_json_objects_on_one_line_are_tried_one_by_one() -> None:
    text = '{"a": {"b": 1, "c": 2}} {"a": {"b": 1, "b": 2, "c": 3}} {"a": {"b": 1, "c": 2}}'
    made = rewritten(survey_manifests(text), [Wanted(at, _drop("a", "b")) for at in range(3)])

    assert set(made.failed) == {1}
    assert made.text == '{"a": {"c": 2}} {"a": {"b": 1, "b": 2, "c": 3}} {"a": {"c": 2}}'


def test_of_many_pods_in_one_document_those_are_found_that_do_harm() -> None:
    items = ["- {b: 1, b: 1, c: 3}\n" if at == 7 else "- {b: 1, c: 3}\n" for at in range(30)]
    text = "".join(["items:\n", *items])
    made = rewritten(
        survey_manifests(text), [Wanted(0, _drop("items", at, "b")) for at in range(30)]
    )

    assert set(made.failed) == {7}
    assert made.text.count("- {c: 3}") == 29


def test_where_most_do_harm_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_MOST_TRIES", 3)
    text = "items:\n" + "- {b: 1, b: 1, c: 3}\n" * 30
    made = rewritten(
        survey_manifests(text), [Wanted(0, _drop("items", at, "b")) for at in range(30)]
    )

    assert set(made.failed) == set(range(30))
    assert made.text == text
