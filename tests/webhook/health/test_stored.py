"""What is written down comes back exactly, and what is no record is none (H4, H11)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.health.cases import Case, Evidence, Mark, Missing, Verdict
from webhook.health.ledger import Eviction, Ledger
from webhook.health.mishaps import Mishap
from webhook.health.readings import Grade, Source
from webhook.health.records import QUIET_S, Record
from webhook.health.stored import record_of, record_text
from webhook.health.stored_ledger import ledger_of, ledger_text
from webhook.health.subjects import Subject

_TEXTS = st.text(max_size=8)
_TIMES = st.floats(min_value=0.0, max_value=253_402_300_799.0)
_COUNTS = st.integers(0, 40)
_SUBJECTS = st.builds(Subject, st.just("n1"), _TEXTS, _TEXTS, _TEXTS, _TEXTS)
_EVIDENCE = st.builds(
    Evidence, st.sampled_from(Source), _TEXTS, st.sampled_from(Grade), _TEXTS, _TIMES
)
_CASES = st.builds(
    Case,
    _SUBJECTS,
    held=st.sampled_from((Verdict.SUSPECT, Verdict.FAILED)),
    is_blind=st.booleans(),
    since=_TIMES,
    evidence=st.lists(_EVIDENCE, max_size=3).map(tuple),
    bad=_COUNTS,
    good=_COUNTS,
    looked=_TIMES,
    good_since=_TIMES,
    relapses=_COUNTS,
    failed=_TIMES,
    recovered=_TIMES,
    boot=_TEXTS,
    mark=st.sampled_from(Mark),
    is_seen=st.booleans(),
    unmarked=_TIMES,
    missing=st.none() | st.builds(Missing, _COUNTS, _COUNTS, _TIMES),
    withheld=_TIMES,
    waived=_TEXTS,
)
_MISHAPS = st.builds(Mishap, _TIMES, st.sampled_from(Source), _TEXTS, _TEXTS, _SUBJECTS)
_RECORDS = st.builds(
    Record,
    st.text(min_size=1, max_size=8),
    st.lists(_CASES, max_size=3, unique_by=lambda case: case.subject).map(
        lambda those: tuple(sorted(those, key=lambda case: case.subject))
    ),
    st.lists(_MISHAPS, max_size=3).map(tuple),
    boot=_TEXTS,
    booted=_TIMES,
    label=st.booleans(),
    is_label_seen=st.booleans(),
    label_waived=_TEXTS,
)
_DRIVERS = st.text(min_size=1, max_size=8)
_DEVICES = st.builds(Subject, _TEXTS) | st.builds(
    Subject, _TEXTS, st.just(""), _DRIVERS, _TEXTS, _TEXTS
)
_LEDGERS = st.builds(
    Ledger,
    st.lists(st.builds(Eviction, _TEXTS, _TEXTS, _TIMES, _TEXTS, _TEXTS, _TIMES), max_size=3).map(
        tuple
    ),
    st.dictionaries(_DEVICES, _TIMES, max_size=3),
    st.dictionaries(_TEXTS, _TIMES, max_size=3),
    st.dictionaries(_TEXTS, _TIMES, max_size=3),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.rule("H11")
@given(record=_RECORDS)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    text = record_text(record, 0.0)
    assert (record_of(text, "n1") if text else None) == (None if record.is_empty else record)


@pytest.mark.rule("H4")
@given(ledger=_LEDGERS)
def test_a_ledger_comes_back_as_it_was(ledger: Ledger) -> None:
    assert ledger_of(ledger_text(ledger)) == ledger


@pytest.mark.rule("H11")
@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "null", "[]", "7", "{}", "[" * 100_000, '{"version":1}'),
        '{"uid":"u","cases":[{"resource":"r"}]}',
        '{"uid":"u","cases":[{"verdict":"Dead"}]}',
        '{"uid":"u","cases":[{"verdict":"Failed","mark":"flag"}]}',
        '{"uid":"u","cases":[{"verdict":"Failed","since":NaN}]}',
        '{"uid":"u","cases":[{"verdict":"Failed","since":1e999}]}',
        '{"uid":"u","cases":[{"verdict":"Failed","since":"x"}]}',
        '{"uid":"u","cases":[{"verdict":"Failed","bad":Infinity}]}',
        '{"uid":"u","cases":[{"verdict":"Failed","bad":-1}]}',
        '{"uid":"u","cases":[{"verdict":"Failed","relapses":' + "9" * 400 + "}]}",
        '{"uid":"u","cases":[{"verdict":"Failed","failed":' + "9" * 400 + "}]}",
        '{"uid":"u","cases":[{"verdict":"Failed","evidence":[1]}]}',
        '{"uid":"u","cases":[{"verdict":"Failed","evidence":[["Probe","x",99,"y",1]]}]}',
        '{"uid":"u","mishaps":7}',
        '{"uid":"u","mishaps":[["x"]]}',
    ],
)
def test_garbage_is_no_record(text: str) -> None:
    assert record_of(text, "n1") is None


@pytest.mark.rule("H4")
@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "null", "[]", "7", "{}", "[" * 100_000),
        json.dumps({"evictions": [], "quarantined": [], "breakers": []}),
        json.dumps({"evictions": [1], "quarantined": [], "breakers": {}, "resumed": {}}),
        json.dumps({"evictions": [], "quarantined": [["n"]], "breakers": {}, "resumed": {}}),
        json.dumps({"evictions": [], "quarantined": [], "breakers": {"r": "x"}, "resumed": {}}),
        json.dumps({"evictions": [], "quarantined": [], "breakers": {}, "resumed": {"r": None}}),
        '{"evictions":[["p","n",1e999]],"quarantined":[],"breakers":{},"resumed":{}}',
    ],
)
def test_garbage_is_no_ledger(text: str) -> None:
    assert ledger_of(text) is None


@pytest.mark.rule("H4", "H11")
@given(
    record=st.fixed_dictionaries(
        {"uid": _JSON},
        optional=dict.fromkeys(("cases", "mishaps", "boot", "booted", "label"), _JSON),
    ),
    case=st.fixed_dictionaries(
        {"verdict": st.sampled_from(("Failed", "Healthy"))},
        optional=dict.fromkeys(("evidence", "bad", "since", "mark", "device", "relapses"), _JSON),
    ),
    ledger=st.fixed_dictionaries(
        dict.fromkeys(("evictions", "quarantined", "breakers", "resumed"), _JSON)
    ),
)
def test_whatever_somebody_wrote_there_is_read_without_an_error(
    record: dict[str, object], case: dict[str, object], ledger: dict[str, object]
) -> None:
    for text in map(json.dumps, (record, {"uid": "u", "cases": [case]})):
        read = record_of(text, "n1")
        assert read is None or record_of(record_text(read, 0.0) or text, "n1") is not None
    found = ledger_of(json.dumps(ledger))
    assert found is None or ledger_of(ledger_text(found)) == found


@pytest.mark.rule("H2", "H11")
def test_a_plugin_that_restarts_is_not_written_down() -> None:
    blind = Case(Subject("n1", resource="nvidia.com/gpu"), is_blind=True, since=1000.0)
    assert record_text(Record("u", (blind,)), 1000.0 + QUIET_S - 1) == ""
    assert record_text(Record("u", (blind,)), 1000.0 + QUIET_S) != ""


@pytest.mark.rule("H11")
def test_a_record_of_a_very_large_node_keeps_its_size() -> None:
    cases = tuple(
        Case(Subject("n1", "r", device=f"{number:05}"), held=Verdict.FAILED)
        for number in range(1000)
    )
    text = record_text(Record("u", cases), 0.0)
    assert len(text) < 256 * 1024
    read = record_of(text, "n1")
    assert read is not None
    assert read.cases == cases[:256]


@pytest.mark.rule("H11")
def test_nothing_to_remember_is_written_as_nothing() -> None:
    assert record_text(Record("u"), 0.0) == ""
