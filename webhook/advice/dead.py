"""Free devices that health calls Failed although nothing keeps Pods away from them (H6, H11)."""

from __future__ import annotations

from webhook.health.cases import Verdict
from webhook.health.stored import record_of
from webhook.inventory.facts import NodeFacts


def is_dead(node: NodeFacts) -> bool:
    """Tell whether health has written on a node that all of it has failed."""
    record = record_of(node.verdicts, node.name) if node.verdicts else None
    cases = () if record is None else record.cases
    return any(case.subject.is_node and case.held is Verdict.FAILED for case in cases)


def dead_devices(node: NodeFacts, resource: str) -> int:
    """Return how many of a resource's allocatable devices of a node have failed, as is written.

    Devices that the kubelet withholds are not among the allocatable ones.
    """
    record = record_of(node.verdicts, node.name) if node.verdicts else None
    if record is None:
        return 0
    allocatable = node.allocatable.get(resource, 0)
    failed = [case.subject for case in record.cases if case.held is Verdict.FAILED]
    if any(one.is_node for one in failed):
        return allocatable
    named = sum(one.resource == resource and bool(one.device) for one in failed)
    withheld = max(0, node.capacity.get(resource, 0) - allocatable)
    return min(allocatable, max(0, named - withheld))
