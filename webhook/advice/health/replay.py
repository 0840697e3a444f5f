"""A history goes through the same judgement as a cluster, moment by moment (H3 to H10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from selection_spec.health import HealthPolicy
from selection_spec.table import Table
from webhook.advice.health.replica import Event, Replica
from webhook.health.cases import Mark, Verdict
from webhook.health.gather import Facts, Homes
from webhook.health.moment import Moment
from webhook.health.observed import Observed
from webhook.health.records import State
from webhook.health.step import Step, step
from webhook.inventory.matching import Matcher

# Between events, while anything is not healthy.
_PAUSE_S = 5.0
# After an action: what was placed is read back within a second or so.
_SOON_S = 1.0
# After the last event.
_AFTERWARDS_S = 3_600.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """One moment of a history, and what came of it."""

    moment: Moment
    step: Step


class Replay:
    """Replays a history.

    Args:
        table: Tells rows and their nodes.
        policy: The settings that are tried.
        has_rules: Whether Kubernetes serves DeviceTaintRules.
    """

    def __init__(self, table: Table, policy: HealthPolicy, *, has_rules: bool) -> None:
        self._homes = Homes(table, Matcher(table))
        self._policy = policy
        self._replica = Replica(has_rules=has_rules)
        self._state = State()
        self._busy_until = 0.0
        self._seen: tuple[Facts, Observed] | None = None

    def judgements(self, events: Sequence[Event]) -> Iterator[Judgement]:
        """Yield every moment of a history that is sorted by time, and an hour after it."""
        for number, event in enumerate(events):
            self._replica.happen(event)
            is_last = number + 1 == len(events)
            until = event.at + _AFTERWARDS_S if is_last else events[number + 1].at
            if is_last or until > event.at:
                yield from self._between(event.at, until, is_last=is_last)

    def _between(self, begin: float, end: float, *, is_last: bool) -> Iterator[Judgement]:
        """Judge at once, and again while anything is not healthy."""
        now = begin
        while now < end or (is_last and now == end):
            yield self._judge(now)
            if not self._is_active:
                return
            pause = _SOON_S if now < self._busy_until else self._pause_s
            now += pause

    def _judge(self, now: float) -> Judgement:
        moment = Moment(self._observed(), self._policy, now)
        found = step(moment, self._state)
        self._state = found.state
        for action in found.actions:
            self._replica.obey(action)
            self._busy_until = now + self._policy.evict_after_s + _SOON_S
        self._replica.label(found.state.records)
        return Judgement(moment, found)

    def _observed(self) -> Observed:
        """Return what there is; the same while nothing happens."""
        facts = self._replica.facts
        if self._seen is None or self._seen[0] is not facts:
            self._seen = facts, self._homes.observed(facts)
        return self._seen[1]

    @property
    def _pause_s(self) -> float:
        return min(_PAUSE_S, self._policy.observe_every_s)

    @property
    def _is_active(self) -> bool:
        return any(
            record.label
            or any(
                case.held is not Verdict.HEALTHY or case.is_blind or case.mark is not Mark.NONE
                for case in record.cases
            )
            for record in self._state.records.values()
        )
