"""Taints: who tolerates them, and which of them say how a node fares rather than what it is."""

from __future__ import annotations

from collections.abc import Iterable

from selection_spec.labels import Toleration
from selection_spec.laws import OUR_DOMAIN
from webhook.inventory.facts import Taint
from webhook.terms import UNHEALTHY_TAINT

# What Kubernetes itself puts on nodes that are down, cordoned, short of something or not set up.
_KUBERNETES_OWN = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Tell whether one of the tolerations covers a taint, as the scheduler judges it (k8s)."""
    return any(_covers(one, taint) for one in tolerations)


def keeps_pods_away(taint: Taint) -> bool:
    """Tell whether a taint keeps Pods off a node; ``PreferNoSchedule`` only lowers a score."""
    return taint.effect in ("NoSchedule", "NoExecute")


def is_own(taint: Taint) -> bool:
    """Tell whether a taint is of this project (design §9)."""
    return taint.key.startswith(f"{OUR_DOMAIN}/")


def is_transient(taint: Taint) -> bool:
    """Tell whether a taint is one of Kubernetes' own, which come and go with a node's state."""
    return taint.key.startswith(_KUBERNETES_OWN)


def tells_a_fault(taint: Taint) -> bool:
    """Tell whether a taint says that nothing should start on a node for now (D7)."""
    return keeps_pods_away(taint) and (is_transient(taint) or taint.key == UNHEALTHY_TAINT)


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return not toleration.key or toleration.key == taint.key
    return (
        toleration.operator == "Equal"
        and toleration.key == taint.key
        and (toleration.value or "") == taint.value
    )
