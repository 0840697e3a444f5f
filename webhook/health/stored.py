"""Records and the ledger as the JSON in which they outlive a process.

Whatever cannot be read counts as not written: a person may have edited it, or another version
wrote it. Numbers come back exactly as they were.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

from webhook.health.cases import Case, Evidence, Mark, Verdict
from webhook.health.ledger import Eviction, Ledger
from webhook.health.mishaps import Mishap
from webhook.health.readings import Grade, Source
from webhook.health.records import Record, is_worth_writing
from webhook.health.subjects import Subject
from webhook.inventory.facts import Json, mapping, mappings

_VERSION = 1

# A node's annotation stays far below what the API server allows for all of them together.
_MOST_CASES = 256

# No count of ours comes near it.
_MOST = 1_000_000

_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


def record_text(record: Record, now: float) -> str:
    """Return a record as the text of an annotation; "" where nothing of it is worth writing."""
    cases = [one for one in record.cases if is_worth_writing(one, now)]
    if replace(record, cases=tuple(cases)).is_empty:
        return ""
    content = {
        "version": _VERSION,
        "uid": record.uid,
        "cases": [_case_json(one) for one in cases[:_MOST_CASES]],
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
        content = _content(text)
        return Record(
            uid=str(content["uid"]),
            cases=tuple(sorted(_cases(content, node), key=lambda case: case.subject)),
            mishaps=tuple(_mishaps(content, node)),
            boot=str(content.get("boot", "")),
            booted=_time(content.get("booted", 0.0)),
            label=content.get("label") is True,
            is_label_seen=content.get("labelSeen") is True,
            label_waived=str(content.get("labelWaived", "")),
        )
    except _UNREADABLE:
        return None


def ledger_text(ledger: Ledger) -> str:
    """Return a ledger as text."""
    content = {
        "version": _VERSION,
        "evictions": [[one.pod, one.namespace, one.at] for one in ledger.evictions],
        "quarantined": [
            [subject.node, subject.driver, subject.pool, subject.device, at]
            for subject, at in sorted(ledger.quarantined.items())
        ],
        "breakers": dict(ledger.breakers),
        "resumed": dict(ledger.resumed),
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def ledger_of(text: str) -> Ledger | None:
    """Read a ledger; None where there is nothing to be read."""
    try:
        content = _content(text)
        return Ledger(
            evictions=tuple(
                Eviction(str(pod), str(namespace), _time(at))
                for pod, namespace, at in content["evictions"]
            ),
            quarantined={
                Subject(str(node), "", str(driver), str(pool), str(device)): _time(at)
                for node, driver, pool, device, at in content["quarantined"]
            },
            breakers={str(row): _time(at) for row, at in content["breakers"].items()},
            resumed={str(row): _time(at) for row, at in content["resumed"].items()},
        )
    except _UNREADABLE:
        return None


def _content(text: str) -> Json:
    content = mapping(json.loads(text))
    if content["version"] != _VERSION:
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
            since=_time(one.get("since", 0.0)),
            looked=_time(one.get("looked", 0.0)),
            good_since=_time(one.get("goodSince", 0.0)),
            failed=_time(one.get("failed", 0.0)),
            recovered=_time(one.get("recovered", 0.0)),
        )


def _evidence(case: Json) -> Iterator[Evidence]:
    for source, name, grade, said, at in case.get("evidence", ()):
        yield Evidence(Source(source), str(name), Grade(grade), str(said), _time(at))


def _mishap_json(one: Mishap) -> list[object]:
    subject = one.subject
    place = [subject.resource, subject.driver, subject.pool, subject.device]
    return [one.at, one.source.value, one.program, one.pod, *place]


def _mishaps(content: Json, node: str) -> Iterator[Mishap]:
    for at, source, program, pod, resource, driver, pool, device in content.get("mishaps", ()):
        subject = Subject(node, str(resource), str(driver), str(pool), str(device))
        yield Mishap(_time(at), Source(source), str(program), str(pod), subject)


def _time(value: object) -> float:
    """Return a number of seconds as it was written.

    Raises:
        ValueError: It is none, or one that no clock shows.
    """
    if not isinstance(value, int | float) or not isfinite(value):
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
