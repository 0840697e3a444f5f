"""What is alike is told once: in a storm hundreds of nodes fail by the same signal (H11)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from webhook.advice.health.judged import Judged
from webhook.advice.words import counted, some
from webhook.health.actions import Doing
from webhook.health.decisions import Decision
from webhook.health.subjects import Kind

Fold = tuple[Decision, ...]
"""Decisions that say the same of different subjects; a single one as well."""

# Fewer are told one by one: each with its own Pods says more.
_ALIKE = 3

# Names of one fold.
_NAMES = 6

_MOVING = (Doing.EVICT, Doing.REMOVE)


def folds(decisions: Sequence[Decision], judged: Judged, *, show_all: bool) -> tuple[Fold, ...]:
    """Return decisions about one row with those that are alike together, in their order.

    Args:
        decisions: What is reported of a row.
        judged: What they are of.
        show_all: Whether each is to stand alone, however alike it is.
    """
    found: dict[Hashable, list[Decision]] = {}
    for one in decisions:
        found.setdefault(_likeness(one, judged), []).append(one)
    return tuple(
        fold
        for those in found.values()
        for fold in (_each(those) if show_all or len(those) < _ALIKE else (tuple(those),))
    )


def whom(fold: Fold) -> str:
    """Return what a fold is about: ``node n1``, ``20 nodes``, ``3 devices of 2 nodes``."""
    subject = fold[0].case.subject
    if len(fold) == 1:
        return str(subject)
    nodes = counted(len({one.case.subject.node for one in fold}), "node")
    if subject.is_node:
        return nodes
    if subject.resource and not subject.device:
        return f"some {subject.resource} of {nodes}"
    return f"{counted(len(fold), 'device')} of {nodes}"


def names(fold: Fold, at_most: int | None = _NAMES) -> str:
    """Return the names of what a fold is about; "" where it is a single one, named already."""
    if len(fold) == 1:
        return ""
    return some([_name(one) for one in fold], at_most)


def _each(decisions: Iterable[Decision]) -> list[Fold]:
    return [(one,) for one in decisions]


def _name(decision: Decision) -> str:
    subject = decision.case.subject
    return f"{subject.node} {subject.name}" if subject.device else subject.node


def _likeness(decision: Decision, judged: Judged) -> Hashable:
    """Return what is the same of subjects that may be told of together: all but names and times."""
    case, fence = decision.case, decision.fence
    of = case.subject
    kind = (of.kind, of.resource, of.driver if of.kind is Kind.DRA else "", bool(of.device))
    evidence = tuple((one.key, one.grade, one.said) for one in case.evidence)
    marks = tuple((one.doing, one.effect) for one in decision.actions if one.doing not in _MOVING)
    return (
        (kind, case.verdict, case.held, evidence, decision.look.is_bad, decision.look.said),
        (decision.mode, fence, case.mark, case.is_seen, decision.held_back, decision.spent, marks),
        (decision.holders is None, decision.locked_out),
        judged.remembered_case(of) is None,
    )
