"""A timeline for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from selection_spec.health import HealthPolicy
from webhook.advice.health.phrases import lasting
from webhook.advice.health.timeline import Entry, Timeline, What
from webhook.advice.words import NOTHING, counted, wrapped
from webhook.health.cases import Verdict
from webhook.inventory.times import written

Json = dict[str, Any]

_HEAD = 11
_VERDICTS = (Verdict.FAILED, Verdict.SUSPECT, Verdict.UNKNOWN, Verdict.HEALTHY)


def timeline_text(timeline: Timeline, policy: HealthPolicy, events: int) -> str:
    """Return it in lines of 80 columns: the time since the beginning, and what happened."""
    own = [f"{row} {mode}" for row, mode in sorted(policy.row_modes.items())]
    rows = f" ({', '.join(own)})" if own else ""
    head = f"{counted(events, 'event')} from {written(timeline.begin)} on, mode {policy.mode}{rows}"
    lines = [_line(one, timeline.begin) for one in timeline.entries]
    if not lines:
        lines = ["Nothing would have happened: no node or device was ever not healthy."]
    return "\n\n".join((wrapped(head), "\n".join(lines), "\n".join(map(wrapped, _sums(timeline)))))


def timeline_json(timeline: Timeline, policy: HealthPolicy, events: int) -> Json:
    """Return it in its documented shape."""
    return {
        "events": events,
        "from": written(timeline.begin),
        "to": written(timeline.end),
        "mode": policy.mode.value,
        "rowModes": {row: mode.value for row, mode in sorted(policy.row_modes.items())},
        "timeline": [_entry(one) for one in timeline.entries],
        "summary": {
            "verdicts": _verdicts(timeline),
            "done": dict(_deeds(timeline, What.DONE)),
            "would": dict(_deeds(timeline, What.WOULD)),
            "mostQuarantined": timeline.most_quarantined,
            "breakers": _breakers(timeline),
        },
    }


def _line(entry: Entry, begin: float) -> str:
    said = f"would {entry.text}" if entry.what is What.WOULD else entry.text
    return wrapped(said, f"{f'+{lasting(entry.at - begin)}':<{_HEAD}}", " " * _HEAD)


def _entry(entry: Entry) -> Json:
    subject = entry.subject
    return {
        "at": written(entry.at),
        "what": entry.what.value,
        "of": entry.of or None,
        "node": None if subject is None else subject.node,
        "device": (subject.name or None) if subject is not None else None,
        "text": entry.text,
    }


def _sums(timeline: Timeline) -> Iterator[str]:
    verdicts = _verdicts(timeline)
    said = ", ".join(f"{verdicts[one.value]} {one}" for one in _VERDICTS[:-1])
    yield f"Subjects: {said}; {verdicts[Verdict.HEALTHY.value]} recovered"
    for what, name in ((What.DONE, "Done"), (What.WOULD, "Would be done")):
        deeds = _deeds(timeline, what)
        if deeds or what is What.DONE:
            each = ", ".join(f"{deeds[doing]} {doing}" for doing in sorted(deeds))
            yield f"{name}: {each or NOTHING}"
    yield f"Most in quarantine at once: {timeline.most_quarantined}"
    yield f"Stopped by breakers: {', '.join(_breakers(timeline)) or NOTHING}"


def _verdicts(timeline: Timeline) -> dict[str, int]:
    """Count by verdict the subjects that ever had it."""
    had = {(one.subject, one.of) for one in timeline.entries if one.what is What.VERDICT}
    found = Counter(verdict for _, verdict in had)
    return {one.value: found[one.value] for one in _VERDICTS}


def _deeds(timeline: Timeline, what: What) -> Counter[str]:
    return Counter(one.of for one in timeline.entries if one.what is what)


def _breakers(timeline: Timeline) -> list[str]:
    return [one.of for one in timeline.entries if one.what is What.BREAKER and one.of]
