"""What becomes of each Pod that holds what has failed, in every state of it (H8, H9, H11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from selection_spec.health import Mode
from webhook.advice.health.judged import Judged
from webhook.advice.health.phrases import lasting
from webhook.advice.words import counted
from webhook.health.actions import Doing
from webhook.health.budget import Spent
from webhook.health.decisions import Decision, HeldBack, Holder
from webhook.health.words import held_back
from webhook.inventory.pod_facts import PodFacts


class State(StrEnum):
    """What becomes of a Pod; also a value in reports for programs."""

    GOES = "evict"
    FOLLOWS = "evictOnceFenced"
    REFUSED = "refused"
    WAITS = "waitsForBudget"
    LEFT_ALONE = "leftAlone"
    STAYS = "stays"
    LEAVES = "leaves"
    EVICTED = "evicted"


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one Pod, and why; "" where that goes without saying."""

    pod: PodFacts
    state: State
    why: str = ""

    @property
    def goes(self) -> bool:
        """Whether it is evicted, now or as soon as that is possible."""
        return self.state in (State.GOES, State.FOLLOWS, State.REFUSED, State.WAITS)


_LEAVES = "it is being deleted"
_QUARANTINES = f"mode {Mode.QUARANTINE} evicts nobody"

_LEFT_ALONE = {
    HeldBack.WAIVED: "a person removed our mark",
    HeldBack.UNKNOWN: "data is missing or stale",
    HeldBack.RECOVERING: "what it runs on is recovering",
}


def fates(decisions: Iterable[Decision], judged: Judged) -> tuple[Fate, ...]:
    """Return what becomes of the Pods that hold any of these subjects, each once, by name.

    Who holds several of them goes for whichever he may go for.
    """
    found: dict[str, Fate] = {}
    for one in decisions:
        for fate in _of(one, judged):
            before = found.get(fate.pod.uid)
            if before is None or _TURN[fate.state] < _TURN[before.state]:
                found[fate.pod.uid] = fate
    return tuple(sorted(found.values(), key=lambda fate: fate.pod.key))


def _of(decision: Decision, judged: Judged) -> Iterator[Fate]:
    going = {
        one.pod.uid for one in decision.actions if one.doing is Doing.EVICT and one.pod is not None
    }
    for holder in decision.holders or ():
        yield _fate(holder, decision, judged, is_going=holder.pod.uid in going)


def _fate(holder: Holder, decision: Decision, judged: Judged, *, is_going: bool) -> Fate:
    pod, refusal = holder.pod, judged.refusals.get(holder.pod.uid, "")
    if pod.leaves:
        is_ours = judged.step.state.ledger.has_evicted(pod.uid)
        return Fate(pod, State.EVICTED if is_ours else State.LEAVES, _LEAVES)
    if decision.mode is Mode.QUARANTINE:
        return Fate(pod, State.STAYS, _QUARANTINES)
    if holder.why:
        return Fate(pod, State.STAYS, holder.why)
    if is_going:
        return Fate(pod, State.REFUSED if refusal else State.GOES, refusal)
    if decision.held_back is HeldBack.ROW:
        return Fate(pod, State.WAITS, decision.held_back.value)
    if decision.held_back:
        why = _LEFT_ALONE.get(decision.held_back) or held_back(decision, judged.step.breakers)
        return Fate(pod, State.LEFT_ALONE, why)
    if decision.spent is not None:
        return Fate(pod, State.WAITS, spent_said(decision.spent, judged))
    return Fate(pod, State.REFUSED if refusal else State.FOLLOWS, refusal)


def spent_said(spent: Spent, judged: Judged) -> str:
    """Return which budget for evictions is spent, and how large it is."""
    policy = judged.moment.policy
    window = lasting(policy.eviction_window_s)
    if spent is Spent.NAMESPACE:
        most = counted(policy.evictions_per_namespace, "eviction")
        return f"the {most} in {window} of their namespace are spent"
    return f"the {counted(policy.evictions, 'eviction')} in {window} are spent"


_TURN = {state: turn for turn, state in enumerate(State)}
