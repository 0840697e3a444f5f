"""What became of our marks: seen in place, gone by a person's hand, or by ours (H10)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from webhook.health.cases import Case, Mark, Verdict
from webhook.health.fences import is_tainted, rule_name, rule_of
from webhook.health.observed import Observed
from webhook.health.subjects import Kind, Subject

# What we took back is gone from what we see by then.
_GOES_WITHIN_S = 10.0


def adopted(observed: Observed, known: Collection[Subject]) -> Iterator[Case]:
    """Yield cases for rules of ours that nobody remembers, so that they go once all is good.

    Their node was replaced, or what was written on it is lost. By its name a rule tells that it is
    ours and for which device; a node's taint does not, and stays until a person clears it.
    """
    for rule in observed.rules or ():
        driver, pool, device = rule.selector or (None, None, None)
        if not (rule.is_ours and driver and pool and device):
            continue
        subject = observed.devices.subject((driver, pool, device))
        if subject is None or subject in known or subject.node not in observed.nodes:
            continue
        if rule.name == rule_name(subject):
            boot = observed.nodes[subject.node].boot
            yield Case(subject, Verdict.FAILED, boot=boot, mark=Mark.RULE, is_seen=True)


def is_going(case: Case, now: float) -> bool:
    """Tell whether a mark that is seen may be one that we have just taken back."""
    return now - case.unmarked < _GOES_WITHIN_S


def settled(case: Case, observed: Observed, now: float) -> Case:
    """Return a case with what its mark has become.

    A mark that was seen in place and is gone was removed by a person, unless the subject is healthy
    and so it was ours to remove; that is respected until the evidence changes.
    """
    if case.mark is Mark.NONE:
        is_ours = case.subject.kind is Kind.DRA and rule_of(case.subject, observed) is not None
        return replace(case, mark=Mark.RULE, is_seen=True) if is_ours else case
    if case.mark is Mark.RULE and observed.rules is None:
        # No person did that: Kubernetes has no such rules any more.
        return replace(case, mark=Mark.NONE, is_seen=False)
    if is_marked(case, observed):
        return case if case.is_seen or is_going(case, now) else replace(case, is_seen=True)
    if case.held is not Verdict.FAILED:
        return replace(case, mark=Mark.NONE, is_seen=False)
    if case.is_seen:
        return replace(case, mark=Mark.NONE, is_seen=False, waived=case.digest)
    return case


def is_marked(case: Case, observed: Observed) -> bool:
    """Tell whether a case's mark is there, whether or not it has its full effect yet."""
    if case.mark is Mark.RULE:
        return rule_of(case.subject, observed) is not None
    return is_tainted(observed.nodes[case.subject.node])
