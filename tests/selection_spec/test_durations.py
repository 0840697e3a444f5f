"""Lengths of time: exact, bounded, and refused with a remedy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selection_spec.durations import LONGEST_S, duration_text, parse_duration
from selection_spec.errors import DurationError, Problem

_ANY = "write whole days, hours, minutes and seconds such as 30s, 10m or 1h30m"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0),
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5_400),
        ("1d", 86_400),
        ("1d2h3m4s", 93_784),
        ("1d4s", 86_404),
        ("007s", 7),
        ("0d0h", 0),
        ("365d", LONGEST_S),
        ("31536000s", LONGEST_S),
        ("00000000000000000001s", 1),
    ],
)
def test_a_duration(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; write a duration such as 30s"),
        (" ", "is empty; write a duration such as 30s"),
        ("30", "has no unit; write 30s"),
        ("-5s", "is negative; write a duration such as 30s"),
        ("+5s", f"is no duration; {_ANY}"),
        ("1.5h", f"is no duration; {_ANY}"),
        ("500ms", f"is no duration; {_ANY}"),
        ("10M", f"is no duration; {_ANY}"),
        ("30m1h", f"is no duration; {_ANY}"),
        ("1m1m", f"is no duration; {_ANY}"),
        ("1 m", f"is no duration; {_ANY}"),
        ("30s\n", f"is no duration; {_ANY}"),
        ("٣s", f"is no duration; {_ANY}"),
        ("soon", f"is no duration; {_ANY}"),
        ("366d", "is longer than 365 days; write at most 365d"),
        ("365d1s", "is longer than 365 days; write at most 365d"),
        ("9" * 5_000 + "s", "is longer than 365 days; write at most 365d"),
    ],
)
def test_what_is_no_duration(text: str, said: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0s"), (59.0, "59s"), (60.0, "1m"), (5_400.0, "1h30m"), (93_784.0, "1d2h3m4s")],
)
def test_words(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@given(st.integers(0, int(LONGEST_S)))
def test_words_are_read_back(seconds: int) -> None:
    assert parse_duration(duration_text(seconds)) == seconds


@given(st.text("0123456789dhms. -", max_size=9) | st.text(max_size=6))
def test_any_text_is_read_or_refused(text: str) -> None:
    found = _read(text)
    if isinstance(found, float):
        assert 0 <= found <= LONGEST_S
        assert found.is_integer()
    else:
        assert [bool(one.hint) for one in found] == [True]


def _read(text: str) -> float | tuple[Problem, ...]:
    try:
        return parse_duration(text)
    except DurationError as error:
        return error.problems
