"""From readings to a verdict: N bad observations, M good ones, relapses (semantics H3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from selection_spec.health import HealthPolicy
from webhook.health.cases import Case, Evidence, Look, Mark, Verdict, gathered
from webhook.health.readings import Grade, Reading
from webhook.health.subjects import Subject

# Doubling further would only make numbers that no clock knows.
_MOST_RELAPSES = 30

Again = Callable[[Evidence], Grade]
"""How evidence that is not read as bad now reads: good, or unknown."""


@dataclass(frozen=True, slots=True)
class Instant:
    """When something is judged, and by which rules.

    Attributes:
        now: Seconds since 1970.
        boot: The node's boot: another one starts afresh.
        policy: How many observations, and for how long.
    """

    now: float
    boot: str
    policy: HealthPolicy


def judged(
    subject: Subject,
    former: Case | None,
    readings: Sequence[Reading],
    again: Again,
    at: Instant,
) -> Look | None:
    """Judge one subject once.

    Args:
        subject: What is judged.
        former: What was known of it; None where nothing is worth remembering.
        readings: What signals say of it now, but for good ones.
        again: Asked about former evidence that none of them repeats.
        at: The instant, and the rules.

    Returns:
        The new case; None where there is nothing to remember.
    """
    case = _afresh(former, at.boot)
    bad = [one for one in readings if one.grade >= Grade.WARNING]
    is_bad = any(one.grade >= Grade.ERROR for one in bad)
    # A warning makes a subject suspect; one that has failed it does not keep from recovering.
    if bad and (is_bad or case is None or case.held is not Verdict.FAILED):
        worse = _worse(case or Case(subject, boot=at.boot), bad, at)
        return Look(worse, is_bad=is_bad, said=tuple(one.said for one in bad))
    unknown = [one for one in readings if one.grade is Grade.UNKNOWN]
    said = tuple(one.said for one in unknown)
    if case is None:
        return Look(_blind(Case(subject, boot=at.boot), at.now), said=said) if unknown else None
    lost = any(again(one) is Grade.UNKNOWN for one in case.evidence)
    if unknown or lost:
        return Look(_blind(case, at.now), said=said)
    kept = _better(case, at.now, at.policy)
    return None if kept is None else Look(kept)


def recovery_s(case: Case, policy: HealthPolicy) -> float:
    """Return for how long a subject has to be good: doubled with every relapse."""
    doubled = policy.recovery_s * 2 ** min(case.relapses, _MOST_RELAPSES)
    return float(min(doubled, policy.longest_recovery_s))


def _afresh(case: Case | None, boot: str) -> Case | None:
    """Begin anew after a reboot; what we have placed stays until the subject is seen to be good."""
    if case is None or case.boot == boot:
        return case
    if case.mark is Mark.NONE:
        return None
    return replace(case, boot=boot, bad=0, good=0, looked=0.0, good_since=0.0, relapses=0)


def _worse(case: Case, bad: list[Reading], at: Instant) -> Case:
    now = at.now
    worst = max(one.grade for one in bad)
    is_relapse = worst > Grade.WARNING and (case.good > 0 or case.recovered > 0)
    count = _bad_observations(case, bad, worst, at)
    is_failed = case.held is Verdict.FAILED or count >= at.policy.bad_observations
    held = Verdict.FAILED if is_failed else Verdict.SUSPECT
    is_new = held is not case.held
    return replace(
        case,
        held=held,
        is_blind=False,
        since=now if is_new or case.is_blind else case.since,
        evidence=gathered(case.evidence, bad, now),
        bad=count,
        good=0,
        good_since=0.0,
        looked=now if count != case.bad else case.looked,
        relapses=min(case.relapses + is_relapse, _MOST_RELAPSES),
        failed=now if is_failed and (is_new or not case.failed) else case.failed,
        recovered=case.recovered if worst is Grade.WARNING else 0.0,
    )


def _bad_observations(case: Case, bad: list[Reading], worst: Grade, at: Instant) -> int:
    """Count observations: a state once a while, events by their number; warnings never."""
    if worst is Grade.FATAL:
        return at.policy.bad_observations
    errors = [one for one in bad if one.grade is Grade.ERROR]
    states = [one for one in errors if not one.times]
    is_due = bool(states) and at.now - case.looked >= at.policy.observe_every_s
    events = max((one.times for one in errors), default=0)
    return min(max(case.bad + is_due, events), at.policy.bad_observations)


def _blind(case: Case, now: float) -> Case:
    """Stop judging: what was counted as good has to begin anew."""
    return replace(
        case,
        is_blind=True,
        since=case.since if case.is_blind else now,
        good=0,
        good_since=0.0,
    )


def _better(case: Case, now: float, policy: HealthPolicy) -> Case | None:
    if case.held is Verdict.HEALTHY:
        is_over = now - case.recovered >= policy.longest_recovery_s
        return None if is_over and case.mark is Mark.NONE else replace(case, is_blind=False)
    is_due = now - case.looked >= policy.observe_every_s or case.good == 0
    good = min(case.good + is_due, policy.good_observations)
    since = case.good_since or now
    is_well = good >= policy.good_observations and now - since >= recovery_s(case, policy)
    if is_well:
        return replace(
            case,
            held=Verdict.HEALTHY,
            is_blind=False,
            since=now,
            evidence=(),
            bad=0,
            good=0,
            good_since=0.0,
            looked=now,
            recovered=now,
            waived="",
        )
    return replace(
        case,
        is_blind=False,
        since=now if case.is_blind else case.since,
        good=good,
        good_since=since,
        looked=now if good != case.good else case.looked,
    )
