"""A SelectionTable's status counts while it is fresh and speaks of the table in force (D7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from selection_spec.availability import Availability, RowStatus
from selection_spec.resolve import NOTHING_KNOWN
from webhook.serving.live_status import live_status

_NOW = datetime(2025, 3, 1, 12, tzinfo=UTC)
_ROW = {"id": "a30-24gb", "devices": 80, "mostUsableOnANode": 4, "free": 3, "problems": []}
_KNOWN = Availability({"a30-24gb": RowStatus(80, 4)})


def _seen(**changed: object) -> Availability:
    status = {"digest": "d", "renewTime": "2025-03-01T12:00:00Z", "rows": [_ROW]}
    return live_status(status | changed).of_table("d", _NOW)


@pytest.mark.rule("D7")
@pytest.mark.parametrize(
    ("seconds", "known"), [(0, True), (179, True), (-179, True), (180, False), (-180, False)]
)
def test_it_holds_for_three_minutes(seconds: int, *, known: bool) -> None:
    """A clock that is ahead of ours is as wrong as one that stands still."""
    renewed = (_NOW - timedelta(seconds=seconds)).isoformat()
    assert _seen(renewTime=renewed) == (_KNOWN if known else NOTHING_KNOWN)


@pytest.mark.rule("D7")
@pytest.mark.parametrize(
    "changed",
    [
        {"digest": "of another table"},
        {"digest": None},
        {"renewTime": None},
        {"renewTime": "yesterday"},
        {"renewTime": "2025-03-01T12:00:00"},
        {"rows": None},
        {"rows": "x"},
        {"rows": [None, 5, {}, {**_ROW, "id": 5}, {**_ROW, "devices": True}]},
        {"rows": [{**_ROW, "mostUsableOnANode": "4"}]},
    ],
)
def test_what_is_missing_or_of_a_wrong_shape_changes_nothing(changed: dict[str, object]) -> None:
    assert _seen(**changed) == NOTHING_KNOWN


@pytest.mark.rule("D7")
@pytest.mark.parametrize("status", [None, 5, [], {}])
def test_a_table_without_a_status(status: object) -> None:
    assert live_status(status).of_table("d", _NOW) == NOTHING_KNOWN
    assert live_status(status).of_table("", _NOW) == NOTHING_KNOWN


@pytest.mark.rule("C3")
def test_missing_device_classes_hold_as_long_as_the_counts() -> None:
    known = _seen(missingDeviceClasses=["gpu.example.com", 5])
    assert known == Availability(_KNOWN.rows, frozenset({"gpu.example.com"}))
    stale = _seen(missingDeviceClasses=["gpu.example.com"], renewTime="2025-03-01T11:00:00Z")
    assert stale == NOTHING_KNOWN
    assert _seen(missingDeviceClasses="gpu.example.com") == _KNOWN


@pytest.mark.rule("D7")
def test_good_rows_beside_bad_ones_count() -> None:
    assert _seen(rows=[{"id": "broken"}, _ROW]) == _KNOWN
