"""What became of our marks: seen in place, gone by a person's hand, or by ours (H10)."""

from __future__ import annotations

from dataclasses import replace

from webhook.health.cases import Case, Mark, Verdict
from webhook.health.fences import is_tainted, rule_of
from webhook.health.observed import Observed


def settled(case: Case, observed: Observed) -> Case:
    """Return a case with what its mark has become.

    A mark that was seen in place and is gone was removed by a person, unless the subject is healthy
    and so it was ours to remove; that is respected until the evidence changes.
    """
    if case.mark is Mark.NONE:
        return case
    if case.mark is Mark.RULE and observed.rules is None:
        # No person did that: Kubernetes has no such rules any more.
        return replace(case, mark=Mark.NONE, is_seen=False)
    if is_marked(case, observed):
        return case if case.is_seen else replace(case, is_seen=True)
    if case.held is Verdict.HEALTHY:
        return replace(case, mark=Mark.NONE, is_seen=False)
    if case.is_seen:
        return replace(case, mark=Mark.NONE, is_seen=False, waived=case.digest)
    return case


def is_marked(case: Case, observed: Observed) -> bool:
    """Tell whether a case's mark is there, whether or not it has its full effect yet."""
    if case.mark is Mark.RULE:
        return rule_of(case.subject, observed) is not None
    return is_tainted(observed.nodes[case.subject.node])
