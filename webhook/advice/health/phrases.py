"""How health is worded, the same in every report."""

from __future__ import annotations

from collections.abc import Iterable

from selection_spec.durations import duration_text
from webhook.advice.words import counted
from webhook.health.actions import Action, Doing
from webhook.health.cases import Case, Verdict
from webhook.health.fences import UNHEALTHY, Fence
from webhook.health.moment import Moment
from webhook.health.verdicts import recovery_s

# Beyond these, whole seconds, and then minutes, are no longer worth reading.
_MINUTES_FROM_S = 3_600
_HOURS_FROM_S = 86_400


def lasting(seconds: float) -> str:
    """Return how long something has been so: ``40s``, ``12m5s``, ``3h10m``, ``2d4h``."""
    whole = max(int(seconds), 0)
    if whole >= _HOURS_FROM_S:
        whole -= whole % _MINUTES_FROM_S
    elif whole >= _MINUTES_FROM_S:
        whole -= whole % 60
    return duration_text(whole)


def since(at: float, now: float) -> str:
    """Return since when something is so: ``for 12m5s``, ``just now``."""
    return f"for {lasting(now - at)}" if now - at >= 1 else "just now"


def lasting_each(began: Iterable[float], now: float) -> str:
    """Return since when several things are so: ``for 5m``, ``for 2m to 5m``, ``just now``."""
    times = [max(now - at, 0.0) for at in began]
    least, most = lasting(min(times)), lasting(max(times))
    if max(times) < 1:
        return "just now"
    return f"for {most}" if least == most else f"for {least} to {most}"


def seen(count: int, wanted: int, how: str) -> str:
    """Return how often something was seen of how often it has to be, before that counts."""
    if count == 1 and wanted > 1:
        return f"seen {how} once of the {wanted} times that are needed"
    times = "once" if count == 1 else f"{count} times"
    return f"seen {how} {times} of the {wanted} that {'is' if wanted == 1 else 'are'} needed"


def deed(action: Action) -> str:
    """Return what an action does, in the imperative."""
    subject, pod = action.subject, action.pod
    match action.doing:
        case Doing.TAINT:
            return f"taint node {subject.node} {UNHEALTHY}"
        case Doing.UNTAINT:
            return f"take our taint off node {subject.node}"
        case Doing.RULE:
            return f"place a DeviceTaintRule on {subject.name}, effect {action.effect}"
        case Doing.UNRULE:
            return f"remove our DeviceTaintRule from {subject.name}"
        case Doing.EVICT:
            return f"evict Pod {pod.key if pod is not None else ''}"
        case Doing.REMOVE:
            return f"remove the rejected Pod {pod.key if pod is not None else ''}"


def fence_name(fence: Fence) -> str:
    """Return who keeps new Pods away, with the taint where it is ours on a node."""
    return f"our taint {UNHEALTHY}" if fence is Fence.TAINT else str(fence.value)


def progress_said(case: Case, moment: Moment, *, is_bad: bool) -> str:
    """Return how far a case is on its way to Failed, or back to Healthy (H3); "" on neither."""
    policy = moment.policy
    if case.is_blind:
        was = f", was {case.held}" if case.held is not Verdict.HEALTHY else ""
        return f"cannot tell{was}"
    if case.held is Verdict.HEALTHY:
        return ""
    if is_bad:
        if case.held is Verdict.FAILED:
            return ""
        if not case.bad:
            return "a warning, which alone never makes it Failed"
        return seen(case.bad, policy.bad_observations, "bad")
    wanted = recovery_s(case, policy)
    passed = moment.now - case.good_since if case.good_since else 0.0
    relapses = f", after {counted(case.relapses, 'relapse')}" if case.relapses else ""
    return (
        f"recovering: {seen(case.good, policy.good_observations, 'good')}, and good for "
        f"{lasting(passed)} of the {lasting(wanted)} that it takes{relapses}"
    )
