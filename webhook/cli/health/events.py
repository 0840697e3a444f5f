"""Histories: what ``kubectl get … -w -o json --output-watch-events`` has printed, read back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from selection_spec.documents import load_manifests
from selection_spec.errors import DocumentError, Problem
from webhook.advice.health.replica import KINDS, Change, Event
from webhook.inventory.facts import Json, mapping, mappings
from webhook.inventory.times import seconds

_SPACE = re.compile(r"\s*")
# kubectl begins every document at the beginning of a line; what it indents is part of one.
_NEXT = re.compile(r"^\{", re.MULTILINE)

_HINT = "record it with: kubectl get nodes -o json -w --output-watch-events"
_CHANGES = tuple(one.value for one in Change)

# Of a history that begins without any time.
_BEGIN_S = 1.0


@dataclass(frozen=True, slots=True)
class _Read:
    """A document as it stands in the file, and its first line."""

    value: Any
    line: int


def events_of(text: bytes) -> tuple[Event, ...]:
    """Read a history: documents of JSON one behind the other, or of YAML.

    Raises:
        DocumentError: With every problem, each with its line.
    """
    problems: list[Problem] = []
    documents = list(_documents(text, problems))
    told = []
    for one in documents:
        found = list(_problems(one))
        problems += found
        if not found:
            told.append(one.value)
    if not documents and not problems:
        problems.append(Problem("the history has no events", hint=_HINT, line=1, column=1))
    if problems:
        raise DocumentError(sorted(problems, key=lambda problem: problem.line))
    return tuple(_timed(told))


def merged(histories: Iterable[tuple[Event, ...]]) -> tuple[Event, ...]:
    """Return the events of several histories in the order of time.

    A change that does not tell when it happened came after all that its history tells of before,
    and at the latest with what it tells of next; where nothing follows, after everything that was
    recorded. That latest moment counts: were it the earliest one, a Pod that was there when its
    node failed would look as if it had come later, in spite of what keeps others away.
    """
    those = [list(one) for one in histories]
    end = max((event.at for one in those for event in one), default=0.0)
    told = [event for one in those for event in _placed(one, end)]
    return tuple(sorted(told, key=lambda one: one.at))


def _placed(history: list[Event], end: float) -> Iterator[Event]:
    """Yield a history's events, those without a time at the time of what follows them."""
    following, found = end, []
    for event in reversed(history):
        following = event.at if event.is_dated else following
        found.append(replace(event, at=following))
    yield from reversed(found)


def _documents(text: bytes, problems: list[Problem]) -> Iterator[_Read]:
    if text.lstrip().startswith(b"{"):
        yield from _json_documents(text.decode(errors="replace"), problems)
        return
    try:
        for one in load_manifests(text):
            yield _Read(one.value, one.line)
    except DocumentError as error:
        problems += error.problems


def _json_documents(text: str, problems: list[Problem]) -> Iterator[_Read]:
    decoder = json.JSONDecoder()
    at, line, counted_to = _end_of_space(text, 0), 1, 0
    while at < len(text):
        line += text.count("\n", counted_to, at)
        counted_to = at
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            problems.append(_no_json(error, line))
            further = _NEXT.search(text, at + 1)
            end = len(text) if further is None else further.start()
        else:
            yield _Read(value, line)
        at = _end_of_space(text, end)


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _no_json(error: json.JSONDecodeError | RecursionError, line: int) -> Problem:
    if isinstance(error, json.JSONDecodeError):
        said = f"is no JSON: {error.msg}; its document begins at line {line}"
        return Problem(said, hint=_HINT, line=error.lineno, column=error.colno)
    return Problem("is nested too deeply", hint=_HINT, line=line, column=1)


def _problems(document: _Read) -> Iterator[Problem]:
    event = document.value
    if not isinstance(event, dict):
        yield _problem(document, "", "is no event: it is no mapping")
        return
    if "type" not in event and "kind" in event:
        said = f"is a {event['kind']}, not an event about one"
        yield _problem(document, "", said, "add --output-watch-events to the kubectl that records")
        return
    if event.get("type") not in _CHANGES:
        said = f"{event.get('type')!r} is none of {', '.join(_CHANGES)}"
        yield _problem(document, "type", said)
    if "at" in event and not seconds(event["at"]):
        said = f"{event['at']!r} is no time"
        yield _problem(
            document, "at", said, "write one such as 2026-06-01T12:00:00Z, or leave it out"
        )
    yield from _object_problems(document, event.get("object"))


def _object_problems(document: _Read, content: object) -> Iterator[Problem]:
    if not isinstance(content, dict):
        yield _problem(document, "object", "is no object")
        return
    kind = content.get("kind")
    if kind not in KINDS:
        yield _problem(document, "object.kind", f"{kind!r} is none of {', '.join(KINDS)}")
    name = mapping(content.get("metadata")).get("name")
    if not isinstance(name, str) or not name:
        yield _problem(document, "object.metadata.name", "is missing")


def _problem(document: _Read, path: str, said: str, hint: str = _HINT) -> Problem:
    return Problem(said, path=path, hint=hint, line=document.line, column=1)


def _timed(told: list[Json]) -> Iterator[Event]:
    """Yield the events with their times.

    Those that a history begins with are what was there, and so of one moment. Later ones are of
    the newest time that the object tells and did not tell before, and never before the event
    before: were each a little later than that, a storm would look as if it had come slowly.
    """
    first = _first_of_all(told)
    begin = max((_newest(event["object"]) for event in told[:first]), default=0.0)
    last, known = 0.0, dict[tuple[str, str, str], float]()
    for number, event in enumerate(told):
        key, newest = _key(event["object"]), _newest(event["object"])
        at = seconds(event.get("at")) or (begin if number < first else 0.0)
        is_new = newest > known.get(key, 0.0) or bool(_changes(event["object"]))
        is_dated = bool(at) or number < first or is_new
        known[key] = max(newest, known.get(key, 0.0))
        last = at or max(newest if is_dated else 0.0, last, _BEGIN_S)
        yield Event(last, Change(event["type"]), event["object"]["kind"], event["object"], is_dated)


def _key(content: Json) -> tuple[str, str, str]:
    metadata = mapping(content.get("metadata"))
    return content["kind"], str(metadata.get("namespace") or ""), metadata["name"]


def _first_of_all(told: list[Json]) -> int:
    """Return how many events at the beginning tell of what was there, without a time."""
    for number, event in enumerate(told):
        if event["type"] != Change.ADDED or "at" in event:
            return number
    return len(told)


def _newest(content: Json) -> float:
    """Return the newest time that an object tells of itself; 0 where it tells none."""
    created = seconds(mapping(content.get("metadata")).get("creationTimestamp"))
    return max([created, *_changes(content), *_times(content.get("status"))])


def _changes(content: Json) -> list[float]:
    """Return when each that writes an object changed it last, where that was recorded, too."""
    managed = mappings(mapping(content.get("metadata")).get("managedFields"))
    return [at for one in managed if (at := seconds(one.get("time")))]


def _times(value: object) -> list[float]:
    """Return all times that a status tells, wherever in it."""
    if isinstance(value, str):
        at = seconds(value)
        return [at] if at else []
    if isinstance(value, dict):
        return [at for one in value.values() for at in _times(one)]
    if isinstance(value, list):
        return [at for one in value for at in _times(one)]
    return []
