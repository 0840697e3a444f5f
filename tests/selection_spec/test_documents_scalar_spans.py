"""What a character of a text belongs to: a scalar, a text of several lines, or neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.documents import ScalarSpans, Within

NONE, SCALAR, BLOCK = Within.NO_SCALAR, Within.SCALAR, Within.BLOCK


def _marks(text: str) -> list[Within]:
    """What every ``#`` of a text belongs to."""
    spans = ScalarSpans.of(text)
    return [spans.at(offset) for offset, one in enumerate(text) if one == "#"]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("# a", [NONE]),
        ("a: b # c", [NONE]),
        ("a: b#c # d", [SCALAR, NONE]),
        ("a: '# b' # c", [SCALAR, NONE]),
        ('a: "# b\n  # c" # d', [SCALAR, SCALAR, NONE]),
        ("'# a': b", [SCALAR]),
        ("a: |\n  # b\n\n  # c\n# d\n", [BLOCK, BLOCK, NONE]),
        ("a: >- # b\n  # c\n", [NONE, BLOCK]),
        ("a: |\n    # b\n  # c\n", [BLOCK, NONE]),
        ("a:\n  - |2\n     # b\n  - c # d\n", [BLOCK, NONE]),
        ("{a: '#', # b\n c: d} # e", [SCALAR, NONE, NONE]),
        ("é: 日本 # a", [NONE]),
        ("a: '#'\n---\nb: '#' # c\n--- # d\ne: |\n #\n", [SCALAR, SCALAR, NONE, NONE, BLOCK]),
        (
            "\ufeffa: '#'#\n---\n\ufeffb: '#'#\nc: d# # e\n",
            [SCALAR, NONE, SCALAR, NONE, SCALAR, NONE],
        ),
        ("--- # a\n\ufeffb: |\n #\n---\n\ufeff# c\n", [NONE, BLOCK, NONE]),
        ('{"a": "# b"}', [SCALAR]),
        ("&a !!str b # c", [NONE]),
        ("", []),
    ],
)
def test_scalars_and_comments(text: str, marks: list[Within]) -> None:
    assert _marks(text) == marks


def test_a_document_that_cannot_be_read_hides_no_other() -> None:
    assert _marks("a: '#'\nb: @\nc: '#'\n---\nd: '#'\n") == [SCALAR, NONE, SCALAR]


@given(st.text("ab:-#'\"|> \n[]{},&*!%\t", max_size=60))
def test_every_text_has_an_answer(text: str) -> None:
    spans = ScalarSpans.of(text)
    for offset in range(-1, len(text) + 2):
        assert spans.at(offset) in Within
