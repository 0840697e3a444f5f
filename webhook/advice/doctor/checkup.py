"""Every check, in the order in which a person would look."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from webhook.advice.doctor import (
    certificates,
    claims,
    daemons,
    kueue,
    neighbours,
    nodes,
    parts,
    permissions,
    replicas,
    sick,
    tables,
    trial,
    versions,
)
from webhook.advice.doctor.findings import CannotLookError, Finding, Report, unknown
from webhook.advice.doctor.seen import Seen

Check = Callable[[Seen], Iterator[Finding]]

CHECKS: tuple[tuple[str, str, Check], ...] = (
    ("deployments", "Deployments", parts.deployments),
    ("endpoints", "webhook reachable", replicas.endpoints),
    ("translation", "a Pod is translated", trial.translation),
    ("kueue", "namespaces of Kueue", kueue.namespaces),
    ("outage", "what an outage does", trial.failure_policy),
    ("certificate", "certificate and caBundle", certificates.certificate),
    ("replicas", "replicas agree", replicas.agreement),
    ("validation", "tables are checked", parts.validation),
    ("table", "table accepted", tables.table),
    ("nodes", "table matches nodes", nodes.nodes),
    ("status", "table status", tables.status),
    ("controller", "controller leads", tables.controller),
    ("health", "health", sick.sick),
    ("claims", "claims", claims.claims),
    ("versions", "versions", versions.versions),
    ("permissions", "permissions", permissions.permissions),
    ("prefix", "matchConditions prefix", neighbours.key_prefix),
    ("guard", "guard", neighbours.guard),
    ("order", "webhook order", neighbours.order),
    ("tolerations", "added tolerations", trial.added_tolerations),
    ("limitRanges", "LimitRanges", neighbours.limit_ranges),
    ("quotas", "quotas", neighbours.quotas),
    ("daemonSets", "DaemonSets and our taints", daemons.daemons),
    ("pending", "pending Pods", neighbours.pending),
)
"""Id, title and check."""


def examine(seen: Seen) -> tuple[Report, ...]:
    """Run every check on what was seen."""
    return tuple(Report(name, title, _findings(check, seen)) for name, title, check in CHECKS)


def _findings(check: Check, seen: Seen) -> tuple[Finding, ...]:
    """Return what a check finds until it lacks something, and that it does."""
    found = []
    try:
        for one in check(seen):
            found.append(one)  # noqa: PERF402 -- what was found before an error stays
    except CannotLookError as missing:
        found.append(unknown(f"could not look: {missing}"))
    return tuple(found)
