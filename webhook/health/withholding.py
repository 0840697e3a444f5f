"""Which devices a kubelet withholds: it tells how many, and Pods' statuses tell of some (H2 c, e).

A device is taken for withheld where the count fell at about the time when it was first told to be
Unhealthy. Another one that is missing for long says nothing of it: a device plugin that restarts
calls all of its devices Unhealthy before the count falls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from webhook.health.cases import Case, Missing, Verdict
from webhook.health.observed import Observed
from webhook.health.readings import Source
from webhook.health.signals.allocatable import Withheld, withheld
from webhook.health.signals.pod_status import told_unhealthy
from webhook.health.subjects import Subject, plugin_subject
from webhook.inventory.facts import NodeFacts

# A kubelet reports its count about every ten seconds, before or after the Pods' statuses.
_ABOUT_S = 30.0

Withholding = Mapping[Subject, Missing | float]
"""By a resource's subject how many are missing; by a device's since when it is withheld."""


def withholding(observed: Observed, cases: Mapping[Subject, Case], now: float) -> Withholding:
    """Return what kubelets withhold now; what is not in it is not known to be withheld.

    Args:
        observed: What there is.
        cases: What is remembered.
        now: Seconds since 1970.
    """
    named: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for subject, case in cases.items():
        if subject.resource and subject.device:
            named[subject.node, subject.resource].append(case)
    found: dict[Subject, Missing | float] = {}
    for node in observed.nodes.values():
        if not node.ready:
            continue
        for resource in observed.resources:
            if withheld(node, resource) is Withheld.SOME:
                whole = plugin_subject(node.name, resource)
                missing = _missing(node, resource, cases.get(whole), now)
                found[whole] = missing
                told = told_unhealthy(observed, node.name, resource)
                found.update(_devices(missing, named[node.name, resource], told, now))
    return found


def noted(case: Case, found: Withholding, node: NodeFacts) -> Case:
    """Return a case with what is known of its device being withheld; stale counts tell nothing."""
    is_told = withheld(node, case.subject.resource) is not Withheld.ALL
    if not (case.subject.resource and node.ready and is_told):
        return case
    now = found.get(case.subject)
    missing = now if isinstance(now, Missing) else None
    since = now if isinstance(now, float) else 0.0
    if (missing, since) == (case.missing, case.withheld):
        return case
    return replace(case, missing=missing, withheld=since)


def is_handed_out(subject: Subject, told: float, found: Withholding) -> bool:
    """Tell whether a device is none of those missing, for the count did not fall when it was told.

    Args:
        subject: A plugin's device.
        told: When it was first told to be Unhealthy, in seconds since 1970.
        found: What kubelets withhold.
    """
    missing = found.get(plugin_subject(subject.node, subject.resource))
    is_older = isinstance(missing, Missing) and missing.fell < told - _ABOUT_S
    return is_older and subject not in found


def _missing(node: NodeFacts, resource: str, former: Case | None, now: float) -> Missing:
    count = node.capacity[resource] - node.allocatable.get(resource, 0)
    last = former.missing if former is not None else None
    if last is None:
        return Missing(count, 0, now)
    if count > last.count:
        return Missing(count, last.count, now)
    return Missing(count, min(last.before, count), last.fell)


def _devices(
    missing: Missing, cases: Sequence[Case], told: Iterable[Subject], now: float
) -> Mapping[Subject, float]:
    """Return the devices that are among those missing, and since when."""
    known = {case.subject: case.withheld for case in cases if case.withheld}
    first = dict.fromkeys(told, now)
    for case in cases:
        for one in case.evidence:
            if one.source is Source.POD_STATUS and case.held is not Verdict.HEALTHY:
                first[case.subject] = one.at
    new = [
        subject
        for subject, at in first.items()
        if subject not in known and missing.fell >= at - _ABOUT_S
    ]
    if len(known) > missing.count:
        return {}  # it cannot be told which of them are back
    if len(new) > missing.count - max(missing.before, len(known)):
        return known
    return {**known, **dict.fromkeys(new, now)}
