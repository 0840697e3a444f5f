"""What was spent of the budgets, and what is left of them (H4, H11)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from webhook.advice.health.judged import Judged
from webhook.advice.health.phrases import lasting
from webhook.advice.words import counted, some
from webhook.health.budget import quarantine_limit
from webhook.health.ledger import Eviction
from webhook.health.subjects import Kind
from webhook.health.words import Reason

_PODS = 4

# Percent: below one whole subject a share counts as one all the same (H4).
_ONE = 100


def evictions(judged: Judged) -> tuple[Eviction, ...]:
    """Return what was evicted within the window, the first one first; nothing that is planned."""
    ledger = judged.remembered.ledger
    recent = ledger.recent(judged.now, judged.moment.policy.eviction_window_s)
    return tuple(sorted(recent.evictions, key=lambda one: (one.at, one.pod)))


def evicted(judged: Judged) -> Iterator[str]:
    """Yield how many Pods were evicted lately, by namespace, and where their names are.

    The ledger knows Pods by uid only; those that are still ending have a name, too.
    """
    by_namespace: dict[str, list[Eviction]] = defaultdict(list)
    for one in evictions(judged):
        by_namespace[one.namespace].append(one)
    if not by_namespace:
        return
    yield f"Evicted in the last {lasting(judged.moment.policy.eviction_window_s)}"
    for namespace, those in sorted(by_namespace.items()):
        last = lasting(judged.now - those[-1].at)
        when = f"{last} ago" if len(those) == 1 else f"the last one {last} ago"
        yield f"  {namespace}: {counted(len(those), 'Pod')}, {when}{_ending(judged, those)}"
    yield "  Which ones their Events tell:"
    yield f"    kubectl get events -A --field-selector reason={Reason.EVICTED}"


def _ending(judged: Judged, those: Sequence[Eviction]) -> str:
    pods = judged.moment.observed.by_uid
    names = [pods[one.pod].name for one in those if one.pod in pods]
    return f"; still ending: {some(names, _PODS)}" if names else ""


def budget(judged: Judged) -> Iterator[str]:
    """Yield what is left of each budget, of how much, and what has taken the rest."""
    policy, left = judged.moment.policy, max(judged.step.budget.evictions_left, 0)
    window = lasting(policy.eviction_window_s)
    yield "Budget, once what is next is done"
    said = f"  evictions: {left} of the {policy.evictions} in {window} are left{_taken(judged)}"
    would = max(judged.step.imagined.evictions_left, 0)
    yield said + ("" if would == policy.evictions else _would(f"{would} of {policy.evictions}"))
    for row in _touched(judged):
        yield f"  {_quarantines(judged, row)}"


def _would(left: str) -> str:
    """Return what would be left of a budget, were done what is only observed (H6)."""
    return f"; would be left: {left}"


def _taken(judged: Judged) -> str:
    """Return which namespaces have taken the others, each of how many."""
    taken = Counter(one.namespace for one in judged.step.budget.ledger.evictions)
    if not taken:
        return ""
    most = judged.moment.policy.evictions_per_namespace
    each = (f"{count} by namespace {name}" for name, count in sorted(taken.items()))
    return f"; taken: {', '.join(each)} (at most {most} by one)"


def _touched(judged: Judged) -> list[str]:
    """Return the rows of which something is reported, or quarantined."""
    nodes = {one.case.subject.node for one in judged.reported}
    nodes |= {subject.node for subject in judged.step.budget.ledger.quarantined}
    return sorted({row for node in nodes for row in judged.moment.rows(node)})


def _quarantines(judged: Judged, row: str) -> str:
    observed, step = judged.moment.observed, judged.step
    percent = judged.moment.policy.quarantine_percent
    left, would, sizes, is_raised = [], [], [], False
    for kind, name in ((Kind.NODE, "node"), (Kind.DRA, "device")):
        if size := observed.size(row, kind):
            most = quarantine_limit(size, percent)
            real, imagined = (max(of.left(row, kind), 0) for of in (step.budget, step.imagined))
            left.append(f"{real} of {counted(most, name)}")
            if imagined < real:  # else it is only what is done that counts
                would.append(f"{imagined} of {counted(most, name)}")
            sizes.append(counted(size, name))
            is_raised = is_raised or size * percent < _ONE
    one = ", at least one" if is_raised else ""
    return (
        f"{row}: {' and '.join(left)} may still be quarantined ({percent}% of "
        f"{' and '.join(sizes)}{one}){_would(' and '.join(would)) if would else ''}"
    )
