"""The load-time laws of a table's ``health`` section (H2, H3, H4, H6)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from selection_spec.durations import duration_text, parse_duration
from selection_spec.errors import DurationError, Problem
from selection_spec.laws import OUR_DOMAIN, Found, Path, below, error, vram_gb
from selection_spec.names import label_key_problem, label_value_problem
from selection_spec.parts import HealthParts
from selection_spec.schema_health import (
    MAX_REGEX,
    ConditionPart,
    LabelPart,
    RowModePart,
    TaintPart,
)

_READY: Final = "Ready"

# Row ids that fit a sentence.
_FEW: Final = 5

# Unknown rows that are compared with all others; in a large table each of them takes a while.
_COMPARED: Final = 10

_MINUTE: Final = 60.0
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def broken_health_laws(health: HealthParts, row_ids: Collection[str] | None) -> Found:
    """Yield every broken law as the path below ``spec`` and the problem.

    Args:
        health: The section.
        row_ids: Ids of the table's rows, None where not all of them are known.
    """
    # Where a row's memory is none, nobody knows yet what its id was meant to be.
    known = row_ids and all(vram_gb(one.rpartition("-")[2]) for one in row_ids)
    yield from below(("health", "rows"), _row_modes(health.rows, row_ids if known else None))
    yield from below(("health", "conditions"), _conditions(health.conditions))
    yield from below(("health", "taints"), _taints(health.taints))
    yield from below(("health", "labels"), _labels(health.labels))
    yield from below(("health", "ignore"), _ignored(health.ignore))
    yield from below(("health",), _times(health))
    yield from below(("health", "budget"), _budget(health))


def _row_modes(rows: Mapping[int, RowModePart], row_ids: Collection[str] | None) -> Found:
    known = sorted(row_ids or ())
    unknown = [n for n, row in rows.items() if row_ids is not None and row.id not in row_ids]
    for place, number in enumerate(unknown):
        row_id = rows[number].id
        hint = _near_miss(row_id, known) if place < _COMPARED else ""
        what = "is not in the table"
        yield (number, "id"), error("row", row_id, what, hint or _row_list(known), "H6")
    yield from _twice("row", "rows", "id", {n: row.id for n, row in rows.items()}, "H6")


def _near_miss(row_id: str, known: Sequence[str]) -> str:
    """Name the row that was probably meant; a name alone, as users write it, means all its rows."""
    text = row_id.lower()
    named = [one for one in known if one.rpartition("-")[0] == text][:_FEW]
    near = named or get_close_matches(text, known, n=1)
    return f"did you mean {' or '.join(near)}?" if near else ""


def _row_list(known: Sequence[str]) -> str:
    rest = f" and {len(known) - _FEW} more" if len(known) > _FEW else ""
    return f"the rows are {', '.join(known[:_FEW])}{rest}"


def _twice(what: str, field: str, key: str, values: Mapping[int, str], rule: str) -> Found:
    first: dict[str, int] = {}
    for number, value in values.items():
        if value in first:
            said = f"is also spec.health.{field}[{first[value]}]"
            yield (number, key), error(what, value, said, "remove one of them", rule)
        first.setdefault(value, number)


def _conditions(conditions: Mapping[int, ConditionPart]) -> Found:
    for number, one in conditions.items():
        if one.type == _READY:
            what = "is not listened to: the node's own Ready is left to Kubernetes"
            yield (number, "type"), error("condition", one.type, what, "remove it", "H2")
        elif label_key_problem(one.type):
            what = "is no type of a condition"
            hint = "write it as the node has it, such as GpuBroken"
            yield (number, "type"), error("condition", one.type, what, hint, "H2")
        if problem := _regex_problem(one.reason_regex):
            yield (number, "reasonRegex"), problem
        yield from below((number,), _duration(("minDuration",), one.min_duration, None, "H2"))
    types = {number: one.type for number, one in conditions.items()}
    yield from _twice("condition", "conditions", "type", types, "H2")


def _regex_problem(text: str) -> Problem | None:
    if len(text) > MAX_REGEX:
        what = f"reasonRegex has {len(text)} characters, at most {MAX_REGEX} are allowed"
        return Problem(what, hint="search for less, a part of the reason is enough", rule="H2")
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as failure:
        what = f"is no regular expression: {failure}"
        hint = "write one as Python has it; a backslash makes a special character a plain one"
        return error("reasonRegex", text, what, hint, "H2")
    return None


def _taints(taints: Mapping[int, TaintPart]) -> Found:
    for number, taint in taints.items():
        yield from below((number,), _mark("taint", taint.key, taint.value or ""))


def _labels(labels: Mapping[int, LabelPart]) -> Found:
    for number, label in labels.items():
        yield from below((number,), _mark("label", label.key, label.value))


def _mark(kind: str, key: str, value: str) -> Found:
    """Judge a taint or label that is listened to."""
    if what := label_key_problem(key):
        yield ("key",), error(f"{kind} key", key, what, "write it as the node has it", "H2")
    elif key.startswith(f"{OUR_DOMAIN}/"):
        hint = "remove it; what we placed ourselves is no evidence"
        what = f"is a {kind} of this project"
        yield ("key",), error(f"{kind} key", key, what, hint, "H2")
    if what := label_value_problem(value):
        yield ("value",), error(f"{kind} value", value, what, "write it as the node has it", "H2")


def _ignored(ignored: Mapping[int, str]) -> Found:
    for number, name in ignored.items():
        if label_key_problem(name):
            what = "is neither the type of a condition nor the key of a taint or label"
            yield (number,), error("ignore", name, what, "write one such as NTPProblem", "H2")


def _times(health: HealthParts) -> Found:
    observations, recovery = health.observations, health.recovery
    for path, text, least, most, rule in (
        (("observations", "every"), observations.every, 1.0, 10 * _MINUTE, "H3"),
        (("observations", "crashWindow"), observations.crash_window, _MINUTE, _DAY, "H2"),
        (("recovery", "after"), recovery.after, 1.0, 7 * _DAY, "H3"),
        (("budget", "window"), health.budget.window, _MINUTE, _DAY, "H4"),
        (("evictAfter",), health.evict_after, 0.0, _HOUR, "H8"),
    ):
        yield from _duration(path, text, (least, most), rule)
    yield from _duration(("recovery", "atMost"), recovery.at_most, None, "H3")
    after, at_most = _seconds(recovery.after), _seconds(recovery.at_most)
    # A bound that nobody wrote gives way to what was written.
    written = "at_most" in recovery.model_fields_set
    if written and after is not None and at_most is not None and at_most < after:
        what = f"is less than after, which is {recovery.after}"
        hint = f"write at least {recovery.after}, or a shorter after"
        yield ("recovery", "atMost"), error("atMost", recovery.at_most, what, hint, "H3")


def _duration(
    path: Path, text: str, bounds: tuple[float, float] | None, rule: str
) -> Iterator[tuple[Path, Problem]]:
    """Judge a duration; the last step of its path is its name."""
    name = str(path[-1])
    try:
        seconds = parse_duration(text)
    except DurationError as failure:
        (found,) = failure.problems
        yield path, error(name, text, found.message, found.hint, rule)
        return
    if bounds is not None and not bounds[0] <= seconds <= bounds[1]:
        least, most = map(duration_text, bounds)
        side = f"less than {least}" if seconds < bounds[0] else f"more than {most}"
        yield path, error(name, text, f"is {side}", f"write {least} to {most}", rule)


def _seconds(text: str) -> float | None:
    try:
        return parse_duration(text)
    except DurationError:
        return None


def _budget(health: HealthParts) -> Found:
    most, own = health.budget.evictions, health.budget.evictions_per_namespace
    # A bound that nobody wrote gives way to what was written.
    if "evictions_per_namespace" in health.budget.model_fields_set and own > most:
        what = f"evictionsPerNamespace {own} is more than evictions {most}"
        hint = f"write at most {most}, or more evictions"
        yield ("evictionsPerNamespace",), Problem(what, hint=hint, rule="H4")
