"""Devices that kubelets call Unhealthy in the status of the Pods that hold them (H2 e)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping

from webhook.health.observed import Observed
from webhook.health.readings import Grade, Reading, Source
from webhook.health.signals.allocatable import Withheld, withheld
from webhook.health.subjects import Kind, Subject, device_named
from webhook.inventory.facts import NodeFacts
from webhook.inventory.pod_facts import PodFacts


def read(observed: Observed, withheld_: Container[Subject]) -> Iterator[Reading]:
    """Yield what Pods' statuses say of devices.

    A kubelet whose device plugin restarts calls all of its devices Unhealthy for a while. So of a
    plugin's devices that alone is fatal only of one that its kubelet is known to withhold.

    Args:
        observed: What there is.
        withheld_: The devices that their kubelets withhold.
    """
    for (node, resource), found in _unhealthy(observed).items():
        for subject, pod in found.items():
            grade = _grade(observed.nodes[node], resource, is_withheld=subject in withheld_)
            said = f"Pod {pod} is told that it is Unhealthy"
            yield Reading(subject, Source.POD_STATUS, "Unhealthy", grade, said)


def again(observed: Observed, subject: Subject) -> Grade:
    """Return how a device reads that no Pod is told about any more."""
    if subject.kind is Kind.DRA:
        key = subject.driver, subject.pool, subject.device
        return Grade.GOOD if key in observed.devices.nodes else Grade.UNKNOWN
    node = observed.nodes[subject.node]
    # The Pod that told of it may be gone, the device as dead as it was: only a kubelet that hands
    # out all of them says that it lives.
    is_well = withheld(node, subject.resource) is Withheld.NONE and node.capacity.get(
        subject.resource
    )
    return Grade.GOOD if is_well else Grade.UNKNOWN


def told_unhealthy(observed: Observed, node: str, resource: str) -> set[Subject]:
    """Return the devices of a plugin on a node that Pods are told to be Unhealthy."""
    return {
        subject
        for pod in observed.by_node.get(node, ())
        if not pod.finished
        for subject in _named(pod)
        if subject.resource == resource
    }


def _unhealthy(observed: Observed) -> Mapping[tuple[str, str], Mapping[Subject, str]]:
    """Return by node and resource the devices, each with a Pod that is told about it."""
    found: dict[tuple[str, str], dict[Subject, str]] = defaultdict(dict)
    for pod in observed.pods:
        if pod.trouble is None or pod.finished or pod.node not in observed.nodes:
            continue
        for subject in _named(pod):
            found[pod.node, subject.resource][subject] = pod.key
    return found


def _named(pod: PodFacts) -> Iterator[Subject]:
    for name, identity in pod.trouble.unhealthy if pod.trouble else ():
        subject = device_named(pod.node, name, identity)
        if subject is not None:
            yield subject


def _grade(node: NodeFacts, resource: str, *, is_withheld: bool) -> Grade:
    # A DRA driver says so itself, of this device.
    if not resource or is_withheld:
        return Grade.FATAL
    return Grade.UNKNOWN if withheld(node, resource) is Withheld.ALL else Grade.ERROR
