"""Which Pods hold a subject (semantics H8)."""

from __future__ import annotations

from webhook.health.observed import Observed
from webhook.health.subjects import Kind, Subject
from webhook.inventory.pod_facts import PodFacts


def holders(subject: Subject, observed: Observed) -> tuple[PodFacts, ...] | None:
    """Return the Pods that hold a subject, by name; None where that cannot be told.

    Of a device plugin's device only a Pod's own status tells; of a DRA driver's the claim, whoever
    made it; of a node every Pod that has devices there.
    """
    on_node = observed.by_node.get(subject.node, ())
    match subject.kind:
        case Kind.PLUGIN:
            if not subject.device:
                return None
            found = [pod for pod in on_node if _names(pod, subject)]
        case Kind.DRA:
            key = subject.driver, subject.pool, subject.device
            uids = observed.holdings.pods.get(key, ())
            found = [observed.by_uid[uid] for uid in dict.fromkeys(uids) if uid in observed.by_uid]
        case Kind.NODE:
            found = [pod for pod in on_node if _has_devices(pod, observed)]
    return tuple(sorted((pod for pod in found if not pod.finished), key=lambda pod: pod.key))


def rejected(subject: Subject, observed: Observed) -> tuple[PodFacts, ...]:
    """Return the dead Pods that a node has rejected: they hold nothing and only pile up."""
    if not subject.is_node:
        return ()
    dead = (pod for pod in observed.by_node.get(subject.node, ()) if pod.finished)
    return tuple(pod for pod in dead if pod.trouble is not None and pod.trouble.rejected)


def _names(pod: PodFacts, subject: Subject) -> bool:
    return pod.trouble is not None and (subject.resource, subject.device) in pod.trouble.devices


def _has_devices(pod: PodFacts, observed: Observed) -> bool:
    """Tell whether a Pod has GPUs there: other drivers' devices are none."""
    drivers, claimed = observed.drivers, observed.holdings.devices.get(pod.uid, ())
    by_claim = any(not drivers or driver in drivers for driver, _, _ in claimed)
    return by_claim or not observed.resources.isdisjoint(pod.devices)
