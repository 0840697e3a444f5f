"""How health is worded, the same in every report."""

from __future__ import annotations

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
        return f"{case.bad} of {policy.bad_observations} bad observations"
    wanted = recovery_s(case, policy)
    passed = moment.now - case.good_since if case.good_since else 0.0
    relapses = f", after {counted(case.relapses, 'relapse')}" if case.relapses else ""
    return (
        f"recovering: {case.good} of {policy.good_observations} good observations, good for "
        f"{lasting(passed)} of {lasting(wanted)}{relapses}"
    )
