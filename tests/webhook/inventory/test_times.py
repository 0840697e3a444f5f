"""Times of the API server as numbers, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.inventory.times import seconds, written


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1970-01-01T00:00:01Z", 1.0),
        ("2027-01-15T08:00:00Z", 1_800_000_000.0),
        ("2027-01-15T17:00:00+09:00", 1_800_000_000.0),
        ("2027-01-15T08:00:00.5Z", 1_800_000_000.5),
        ("2027-01-15T08:00:00.123456Z", 1_800_000_000.123456),
        ("2027-01-15T08:00:00.123456789Z", 1_800_000_000.123456),
    ],
)
def test_a_time_is_seconds_since_1970(text: str, number: float) -> None:
    assert seconds(text) == pytest.approx(number, abs=1e-6)


@pytest.mark.parametrize(
    "odd",
    [None, 7, 1.5, True, [], {}, "", "x", "2027-01-15T08:00:00", "2027-13-01T00:00:00Z", "Z"],
)
def test_what_is_no_time_is_zero(odd: object) -> None:
    assert seconds(odd) == 0.0


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    assert isinstance(seconds(text), float)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_the_ends_of_time_are_times(text: str) -> None:
    assert seconds(text) != 0.0


@given(st.integers(0, 4_000_000_000))
def test_what_is_written_reads_the_same(number: int) -> None:
    assert seconds(written(number)) == number


def test_a_time_is_written_to_the_second() -> None:
    assert written(1_800_000_000.9) == "2027-01-15T08:00:00Z"
