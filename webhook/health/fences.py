"""What keeps new Pods off a subject: our mark, a kubelet, or a driver (semantics H7)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from webhook.health.cases import Case, Mark
from webhook.health.observed import Observed
from webhook.health.readings import Source
from webhook.health.signals.allocatable import Withheld, withheld
from webhook.health.subjects import Kind, Subject, node_subject
from webhook.inventory.facts import NodeFacts, Taint
from webhook.inventory.rule_facts import RuleFacts
from webhook.inventory.taints import keeps_pods_away
from webhook.terms import UNHEALTHY_TAINT

NO_SCHEDULE = "NoSchedule"
NO_EFFECT = "None"

UNHEALTHY = Taint(UNHEALTHY_TAINT, "", NO_SCHEDULE)
"""Our taint on nodes at fault; on devices, by a rule, it is the same."""


class Fence(StrEnum):
    """Who keeps new Pods away."""

    TAINT = "node taint"
    RULE = "DeviceTaintRule"
    DRIVER = "its driver, which taints or no longer offers it"
    KUBELET = "its kubelet, which withholds it"


@dataclass(frozen=True, slots=True)
class Fencing:
    """How a subject is kept from new Pods.

    Attributes:
        by: Who does, or is to do it.
        is_in_place: Whether that was read back.
        mark: What we are to place for it.
    """

    by: Fence
    is_in_place: bool
    mark: Mark = Mark.NONE


def fencing(case: Case, observed: Observed) -> Fencing:
    """Return how a failed subject is kept from new Pods, or is to be.

    The smallest thing that does: a device where that can be told to the scheduler, else its node.
    Whoever keeps Pods off the device alone takes the place of a node's taint that was placed before
    anybody did.
    """
    subject = case.subject
    node = observed.nodes[subject.node]
    if (by := _by_others(case, observed)) is not None:
        return Fencing(by, is_in_place=True)
    if subject.kind is Kind.DRA and observed.rules is not None:
        rule = rule_of(subject, observed)
        is_in_place = rule is not None and rule.taint.effect == NO_SCHEDULE
        return Fencing(Fence.RULE, is_in_place=is_in_place, mark=Mark.RULE)
    return Fencing(Fence.TAINT, is_in_place=is_tainted(node), mark=Mark.TAINT)


def _by_others(case: Case, observed: Observed) -> Fence | None:
    """Return who keeps Pods off a device without our doing; None where nobody does."""
    subject = case.subject
    match subject.kind:
        case Kind.PLUGIN if _is_withheld(case, observed):
            return Fence.KUBELET
        case Kind.DRA if observed.devices.is_gone(subject):
            return Fence.DRIVER
        case Kind.DRA if observed.rules is None:
            key = subject.driver, subject.pool, subject.device
            is_tainted_ = any(map(keeps_pods_away, observed.devices.tainted.get(key, ())))
            return Fence.DRIVER if is_tainted_ else None
    return None


def _is_withheld(case: Case, observed: Observed) -> bool:
    """Tell whether a kubelet withholds a device, and that is all that is wrong with it (H7)."""
    subject = case.subject
    if withheld(observed.nodes[subject.node], subject.resource) is not Withheld.SOME:
        return False
    sources = {one.source for one in case.evidence}
    return not subject.device or (case.withheld > 0 and sources <= {Source.POD_STATUS})


def is_tainted(node: NodeFacts) -> bool:
    """Tell whether a node has our taint as we place it."""
    return any(one.key == UNHEALTHY_TAINT and one.effect == NO_SCHEDULE for one in node.taints)


def rule_name(subject: Subject) -> str:
    """Return the name of our DeviceTaintRule for a device: one for each, whoever makes it."""
    return f"gpuspec-{hashlib.sha256(_bytes(subject.name)).hexdigest()[:32]}"


def _bytes(name: str) -> bytes:
    """Return a name in bytes, whatever it is made of: JSON may have half characters."""
    return name.encode(errors="backslashreplace")


def rule_of(subject: Subject, observed: Observed) -> RuleFacts | None:
    """Return our rule for a device, if it is there and says what we say."""
    rule = observed.our_rules.get(rule_name(subject))
    selector = subject.driver, subject.pool, subject.device
    is_true = rule is not None and (rule.selector, rule.taint.key) == (selector, UNHEALTHY_TAINT)
    return rule if is_true else None


def counted_as(subject: Subject, mark: Mark) -> Subject:
    """Return what a mark quarantines, and what counts against the budget (H4)."""
    return subject if mark is Mark.RULE else node_subject(subject.node)
