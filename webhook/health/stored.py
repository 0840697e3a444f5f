"""Records as the JSON in which they outlive a process.

Whatever cannot be read counts as not written: a person may have edited it, or another version
wrote it. Numbers come back exactly as they were.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from webhook.health.cases import Case, Evidence, Mark, Missing, Verdict
from webhook.health.mishaps import Mishap
from webhook.health.readings import Grade, Source
from webhook.health.records import Record, is_worth_writing
from webhook.health.subjects import Subject
from webhook.inventory.facts import Json, mapping, mappings

VERSION = 1

# A node's annotation stays far below what the API server allows for all of them together.
_MOST_CASES = 256
_MOST_CHARACTERS = 65_536

# No count of ours comes near it, and no clock these: before 1970, where a ledger has ``ASKED``, and
# the last second of the year 9999.
_MOST = 1_000_000
_EARLIEST_S, _LATEST_S = -1.0, 253_402_300_799.0

UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


def record_text(record: Record, now: float) -> str:
    """Return a record as the text of an annotation; "" where nothing of it is worth writing."""
    cases = tuple(one for one in record.cases if is_worth_writing(one, now))
    kept = replace(record, cases=cases[:_MOST_CASES])
    if kept.is_empty:
        return ""
    for shorter in (kept, replace(kept, mishaps=()), _wordless(kept)):
        text = _text(shorter)
        if len(text) <= _MOST_CHARACTERS:
            break
    return text


def _wordless(record: Record) -> Record:
    """Return a record without what only people read, for a node of which there is too much."""
    cases = (
        replace(case, evidence=tuple(replace(one, said="") for one in case.evidence))
        for case in record.cases
    )
    return replace(record, mishaps=(), cases=tuple(cases))


def _text(record: Record) -> str:
    content = {
        "version": VERSION,
        "uid": record.uid,
        "cases": [_case_json(one) for one in record.cases],
        "mishaps": [_mishap_json(one) for one in record.mishaps],
        "boot": record.boot,
        "booted": record.booted,
        "label": record.label,
        "labelSeen": record.is_label_seen,
        "labelWaived": record.label_waived,
    }
    return json.dumps(_bare(content), sort_keys=True, separators=(",", ":"))


def record_of(text: str, node: str) -> Record | None:
    """Read a node's annotation; None where there is nothing to be read."""
    try:
        content = content_of(text)
        return Record(
            uid=str(content["uid"]),
            cases=tuple(sorted(_cases(content, node), key=lambda case: case.subject)),
            mishaps=tuple(_mishaps(content, node)),
            boot=str(content.get("boot", "")),
            booted=time_of(content.get("booted", 0.0)),
            label=content.get("label") is True,
            is_label_seen=content.get("labelSeen") is True,
            label_waived=str(content.get("labelWaived", "")),
        )
    except UNREADABLE:
        return None


def content_of(text: str) -> Json:
    """Return what a text holds that this version has written.

    Raises:
        Exception: One of ``UNREADABLE``: it is nothing of the kind.
    """
    content = mapping(json.loads(text))
    if content["version"] != VERSION:
        raise ValueError(content["version"])
    return content


def _case_json(case: Case) -> Json:
    subject = case.subject
    return _bare(
        {
            "resource": subject.resource,
            "driver": subject.driver,
            "pool": subject.pool,
            "device": subject.device,
            "verdict": case.held.value,
            "blind": case.is_blind,
            "since": case.since,
            "evidence": [
                [one.source.value, one.name, int(one.grade), one.said, one.at]
                for one in case.evidence
            ],
            "bad": case.bad,
            "good": case.good,
            "looked": case.looked,
            "goodSince": case.good_since,
            "relapses": case.relapses,
            "failed": case.failed,
            "recovered": case.recovered,
            "boot": case.boot,
            "mark": case.mark.value,
            "seen": case.is_seen,
            "unmarked": case.unmarked,
            "missing": _missing_json(case.missing),
            "withheld": case.withheld,
            "waived": case.waived,
        }
    )


def _cases(content: Json, node: str) -> Iterator[Case]:
    for one in mappings(content.get("cases")):
        resource, driver, pool, device = (
            str(one.get(part, "")) for part in ("resource", "driver", "pool", "device")
        )
        yield Case(
            Subject(node, resource, driver, pool, device),
            held=Verdict(one["verdict"]),
            is_blind=one.get("blind") is True,
            evidence=tuple(_evidence(one)),
            boot=str(one.get("boot", "")),
            mark=Mark(one.get("mark", "")),
            is_seen=one.get("seen") is True,
            waived=str(one.get("waived", "")),
            bad=_count(one.get("bad", 0)),
            good=_count(one.get("good", 0)),
            relapses=_count(one.get("relapses", 0)),
            since=time_of(one.get("since", 0.0)),
            looked=time_of(one.get("looked", 0.0)),
            good_since=time_of(one.get("goodSince", 0.0)),
            failed=time_of(one.get("failed", 0.0)),
            recovered=time_of(one.get("recovered", 0.0)),
            unmarked=time_of(one.get("unmarked", 0.0)),
            missing=_missing(one.get("missing")),
            withheld=time_of(one.get("withheld", 0.0)),
        )


def _missing_json(missing: Missing | None) -> list[float]:
    return [missing.count, missing.before, missing.fell] if missing is not None else []


def _missing(value: object) -> Missing | None:
    if not isinstance(value, list):
        return None
    count, before, fell = value
    return Missing(_count(count), _count(before), time_of(fell))


def _evidence(case: Json) -> Iterator[Evidence]:
    for source, name, grade, said, at in case.get("evidence", ()):
        yield Evidence(Source(source), str(name), Grade(grade), str(said), time_of(at))


def _mishap_json(one: Mishap) -> list[object]:
    subject = one.subject
    place = [subject.resource, subject.driver, subject.pool, subject.device]
    return [one.at, one.source.value, one.program, one.pod, *place]


def _mishaps(content: Json, node: str) -> Iterator[Mishap]:
    for at, source, program, pod, resource, driver, pool, device in content.get("mishaps", ()):
        subject = Subject(node, str(resource), str(driver), str(pool), str(device))
        yield Mishap(time_of(at), Source(source), str(program), str(pod), subject)


def time_of(value: object) -> float:
    """Return a number of seconds as it was written.

    Raises:
        ValueError: It is none, or one that no clock shows.
    """
    if not isinstance(value, int | float) or not _EARLIEST_S <= value <= _LATEST_S:
        raise ValueError(value)
    return float(value)


def _count(value: object) -> int:
    """Return a number of observations or relapses.

    Raises:
        ValueError: It is none, or one that nobody has counted.
    """
    if not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError(value)
    return value


def _bare(content: Json) -> Json:
    """Leave out what says nothing."""
    return {name: value for name, value in content.items() if value not in ("", 0, False, [])}
