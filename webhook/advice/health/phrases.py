"""How health is worded, the same in every report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from selection_spec.durations import duration_text
from webhook.advice.words import counted
from webhook.health.actions import Action, Doing
from webhook.health.cases import Case, Verdict
from webhook.health.fences import UNHEALTHY, Fence
from webhook.health.moment import Moment
from webhook.health.verdicts import recovery_s
from webhook.terms import UNHEALTHY_TAINT

# Beyond these, whole seconds, and then minutes, are no longer worth reading.
_MINUTES_FROM_S = 3_600
_HOURS_FROM_S = 86_400

# Nodes that are named in a command; beyond that it is too long to be read.
_NODES = 6

ACT_AT_ONCE = (
    "to have gpuspec act at once on a node whose mark a person has removed: kubectl taint node "
    f"NODE {UNHEALTHY}; once the node is well take that off again (kubectl taint node NODE "
    f"{UNHEALTHY_TAINT}-), for gpuspec does not remove what a person has placed"
)
"""What to do where a removal is no longer meant (H10)."""


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


def untaint(nodes: Sequence[str]) -> str:
    """Return the command that takes our taint off nodes, whoever has placed it."""
    named = " ".join(nodes) if len(nodes) <= _NODES else "NODE…"
    return f"kubectl taint node {named} {UNHEALTHY_TAINT}-"


def fence_name(fence: Fence) -> str:
    """Return who keeps new Pods away, with the taint where it is ours on a node."""
    return f"our taint {UNHEALTHY}" if fence is Fence.TAINT else str(fence.value)


def progress_said(cases: Sequence[Case], moment: Moment, *, is_bad: bool) -> str:
    """Return how far cases are on their way to Failed, or back to Healthy (H3); "" on neither.

    Args:
        cases: Those of subjects that are alike; of several the least and the most is told.
        moment: When.
        is_bad: Whether something speaks against them now.
    """
    first, policy = cases[0], moment.policy
    if first.is_blind:
        was = f", was {first.held}" if first.held is not Verdict.HEALTHY else ""
        return f"cannot tell{was}"
    if first.held is Verdict.HEALTHY or (is_bad and first.held is Verdict.FAILED):
        return ""
    if is_bad:
        bad = [one.bad for one in cases]
        if not all(bad):
            return "" if any(bad) else "a warning, which alone never makes it Failed"
        return _seen_each(bad, policy.bad_observations, "bad")
    wanted = [recovery_s(one, policy) for one in cases]
    passed = [moment.now - one.good_since if one.good_since else 0.0 for one in cases]
    good = _seen_each([one.good for one in cases], policy.good_observations, "good")
    most = max(one.relapses for one in cases)
    up_to = "up to " if any(one.relapses != most for one in cases) else ""
    relapses = f", after {up_to}{counted(most, 'relapse')}" if most else ""
    return (
        f"recovering: {good}, and good for {_span(passed)} of the {_span(wanted)} that it "
        f"takes{relapses}"
    )


def _seen_each(counts: Collection[int], wanted: int, how: str) -> str:
    least, most = min(counts), max(counts)
    if least == most:
        return seen(most, wanted, how)
    return f"seen {how} {least} to {most} times of the {wanted} that are needed"


def _span(seconds: Collection[float]) -> str:
    """Return how long several things last: ``5m``, ``10s to 1m``."""
    least, most = lasting(min(seconds)), lasting(max(seconds))
    return most if least == most else f"{least} to {most}"
