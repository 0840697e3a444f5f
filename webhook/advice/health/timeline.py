"""What a history came to, in the order of time: verdicts, actions, and what held them back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from selection_spec.health import Mode
from webhook.advice.health.phrases import deed
from webhook.advice.health.replay import Judgement
from webhook.advice.words import counted, some
from webhook.health.actions import Doing
from webhook.health.breaker import Breakers
from webhook.health.cases import Case, Mark, Verdict
from webhook.health.decisions import Decision, HeldBack
from webhook.health.fences import counted_as
from webhook.health.records import is_reported
from webhook.health.subjects import Subject
from webhook.health.words import held_back

_DAEMONS = 3
_TOLD = (HeldBack.BREAKER, HeldBack.WAIVED, HeldBack.ROW)


class What(StrEnum):
    """What an entry tells of."""

    VERDICT = "verdict"
    DONE = "done"
    WOULD = "would"
    WAITS = "waits"
    BREAKER = "breaker"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened; ``at`` is in seconds since 1970, ``of`` a verdict or a deed."""

    at: float
    what: What
    text: str
    of: str = ""
    subject: Subject | None = None


@dataclass(slots=True)
class Timeline:
    """Remembers what was told, so that nothing is told again while it stays so.

    Attributes:
        entries: What happened.
        most_quarantined: How many nodes and devices were in quarantine at once at most; in
            ``Observe`` how many would have been.
        begin: When the history begins and ends, in seconds since 1970.
        end: See there.
        steps: How many moments were judged.
    """

    entries: list[Entry] = field(default_factory=list)
    most_quarantined: int = 0
    begin: float = 0.0
    end: float = 0.0
    steps: int = 0
    _verdicts: dict[Subject, Verdict] = field(default_factory=dict)
    _would: set[tuple[str, ...]] = field(default_factory=set)
    _waiting: dict[Subject, str] = field(default_factory=dict)
    _stopped: set[str] = field(default_factory=set)
    _notes: set[str] = field(default_factory=set)

    def add(self, judgement: Judgement) -> None:
        """Tell what is new at a moment."""
        now, step = judgement.moment.now, judgement.step
        self.begin = self.begin or now
        self.end = now
        self.steps += 1
        self.entries += self._of_verdicts(judgement)
        self.entries += self._of_breakers(judgement)
        self.entries += self._of_actions(judgement)
        self.entries += self._of_waiting(judgement)
        self.entries += [Entry(now, What.NOTE, note) for note in step.notes if self._is_new(note)]
        self.most_quarantined = max(self.most_quarantined, _quarantined(judgement))

    def _is_new(self, note: str) -> bool:
        is_new = note not in self._notes
        self._notes.add(note)
        return is_new

    def _of_verdicts(self, judgement: Judgement) -> Iterator[Entry]:
        now = judgement.moment.now
        there = {one.case.subject for one in judgement.step.decisions}
        for subject in sorted(self._verdicts.keys() - there):
            if self._verdicts.pop(subject) is not Verdict.HEALTHY:
                said = f"{subject} begins afresh: it is no longer there, or its node was rebooted"
                yield Entry(now, What.VERDICT, said, "", subject)
        for one in sorted(judgement.step.decisions, key=lambda one: one.case.subject):
            case = one.case
            verdict, before = case.verdict, self._verdicts.get(case.subject)
            is_told = is_reported(case, now) or before is not None
            if is_told and verdict is not before:
                self._verdicts[case.subject] = verdict
                said = f"{case.subject} is {verdict}{_why(case, one)}"
                yield Entry(now, What.VERDICT, said, verdict.value, case.subject)

    def _of_breakers(self, judgement: Judgement) -> Iterator[Entry]:
        breakers = judgement.step.breakers
        for row in sorted(breakers.rows.keys() - self._stopped):
            said = f"row {row} stops: too much of it failed within 5 minutes"
            yield Entry(judgement.moment.now, What.BREAKER, said, row)
        if breakers.stops_all and len(self._stopped) < len(breakers.rows):
            said = "everything stops: several rows have"
            yield Entry(judgement.moment.now, What.BREAKER, said)
        self._stopped |= breakers.rows.keys()

    def _of_actions(self, judgement: Judgement) -> Iterator[Entry]:
        now, step = judgement.moment.now, judgement.step
        locked_out = {one.case.subject: one.locked_out for one in step.decisions}
        for one in step.actions:
            out = locked_out[one.subject] if one.doing is Doing.TAINT else ()
            said = f"; these DaemonSets do not tolerate it: {some(out, _DAEMONS)}" if out else ""
            yield Entry(now, What.DONE, f"{deed(one)}{said}", one.doing.value, one.subject)
        imagined = {
            action.key: action
            for one in step.decisions
            if one.mode is Mode.OBSERVE
            for action in one.actions
        }
        for key, one in imagined.items():
            if key not in self._would:
                yield Entry(now, What.WOULD, deed(one), one.doing.value, one.subject)
        self._would = set(imagined)

    def _of_waiting(self, judgement: Judgement) -> Iterator[Entry]:
        waiting = {}
        for one in judgement.step.decisions:
            why = _waits(one, judgement.step.breakers)
            if why:
                waiting[one.case.subject] = why
        for subject, why in waiting.items():
            if self._waiting.get(subject) != why:
                yield Entry(judgement.moment.now, What.WAITS, f"{subject}: {why}", "", subject)
        self._waiting = waiting


def _why(case: Case, decision: Decision) -> str:
    if case.verdict is Verdict.HEALTHY:
        return " again"
    said = decision.look.said or tuple(one.said for one in case.evidence)
    return f": {'; '.join(said)}" if said else ""


def _waits(decision: Decision, breakers: Breakers) -> str:
    if decision.held_back in _TOLD:
        return held_back(decision, breakers)
    if decision.spent is not None:
        return f"evictions wait: the {decision.spent.value}'s are spent"
    if decision.fence is None or decision.mode is Mode.QUARANTINE:
        return ""
    if decision.holders is None:
        return "nobody is evicted: it cannot be told which Pod holds it"
    staying = [f"{one.pod.key} ({one.why})" for one in decision.holders if _is_kept(one.why)]
    return f"{counted(len(staying), 'Pod')} would stay: {some(staying, 2)}" if staying else ""


def _is_kept(why: str) -> bool:
    """Tell whether a Pod stays for longer than it takes to leave."""
    return bool(why) and why != "it is being deleted"


def _quarantined(judgement: Judgement) -> int:
    step = judgement.step
    imagined = {
        counted_as(one.subject, Mark.RULE if one.doing is Doing.RULE else Mark.TAINT)
        for decision in step.decisions
        if decision.mode is Mode.OBSERVE
        for one in decision.actions
        if one.doing in (Doing.TAINT, Doing.RULE)
    }
    return len(imagined | step.state.ledger.quarantined.keys())
