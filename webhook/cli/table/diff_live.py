"""What ``table diff`` knows of a cluster: asked, or saved by kubectl."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from selection_spec.availability import Availability
from selection_spec.table import Table
from webhook.advice.diff import PodsReport
from webhook.advice.owners import by_owner
from webhook.advice.pod_changes import PodJudge, stored_pods
from webhook.advice.row_changes import table_changes
from webhook.cli.cluster import asked
from webhook.cli.saved import progress, saved_items
from webhook.cli.table.live import DAEMON_SETS, NODES, PODS, if_allowed, offers_of
from webhook.inventory.claim_facts import claim_facts
from webhook.inventory.claims import Offered, offered
from webhook.inventory.daemon_facts import DaemonFacts, daemon_facts
from webhook.inventory.facts import NodeFacts, node_facts
from webhook.inventory.holders import Holders, holders
from webhook.inventory.pod_facts import PodFacts, pod_facts
from webhook.inventory.slice_facts import slice_facts
from webhook.settings import ClusterPlace
from webhook.snapshot import Snapshot
from webhook.terms import SPEC_LABEL

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Live:
    """What is known of a cluster; what is not is None, and no DaemonSets block nothing."""

    nodes: Mapping[str, NodeFacts] | None = None
    daemons: Sequence[DaemonFacts] = ()
    pods: PodsReport | None = None
    offers: Offered | None = None
    held: Holders = field(default_factory=Holders)


@dataclass(frozen=True, slots=True)
class Files:
    """Names of files with what kubectl saved; None for what was not given."""

    nodes: str | None
    pods: str | None
    slices: str | None
    claims: str | None


def of_cluster(place: ClusterPlace, old: Table, new: Table) -> Live:
    """Judge the cluster's Pods, page by page: no more than one is in memory."""
    with asked(place) as cluster:
        nodes = _by_name(cluster.items(NODES))
        reserves = any(row.reserved for row in new.rows)
        sets = if_allowed(cluster, DAEMON_SETS, "what a reserve waits for") if reserves else ()
        has_claims = bool(old.index.claims or new.index.claims)
        live = Live(
            nodes,
            [daemon_facts(one) for one in sets or ()],
            offers=offers_of(cluster) if has_claims else None,
        )
        # Whoever holds devices matters to a row that goes from one output to the other.
        which = {} if has_claims else {"labelSelector": SPEC_LABEL}
        return _with_pods(live, cluster.items(PODS, **which), old, new, live.offers)


def of_files(files: Files, old: Table, new: Table) -> Live:
    """Judge by what kubectl saved."""
    slices = saved_items(files.slices, "ResourceSlice") if files.slices else ()
    claims = saved_items(files.claims, "ResourceClaim") if files.claims else ()
    seen = offered(map(slice_facts, slices), claims=filter(None, map(claim_facts, claims)))
    nodes = None if files.nodes is None else _by_name(saved_items(files.nodes, "Node"))
    # Without slices it is not known what claims recognise, only where they hold something.
    live = Live(nodes, offers=seen if files.slices else None)
    if files.pods is None:
        return replace(live, held=holders((), seen, (*old.rows, *new.rows)))
    return _with_pods(live, saved_items(files.pods, "Pod"), old, new, seen)


def _with_pods(
    live: Live, pods: Iterable[Json], old: Table, new: Table, seen: Offered | None
) -> Live:
    """Judge Pods, and see who holds devices, be it claims."""
    judge = judge_of(old, new, live)
    holding: list[PodFacts] = []
    with progress(pods, "Judging Pods") as bar:
        judged = (
            (pod, facts, judge.stored(pod, facts))
            for pod, facts in stored_pods(_noted(bar, holding))
        )
        report = PodsReport(by_owner(judged), judge.nodes is not None)
    return replace(live, pods=report, held=holders(holding, seen, (*old.rows, *new.rows)))


def _noted(pods: Iterable[Json], holding: list[PodFacts]) -> Iterator[Json]:
    """Yield Pods, and note of those that hold devices what they hold."""
    for pod in pods:
        facts = pod_facts(pod)
        if facts.node and facts.devices:
            holding.append(facts)
        yield pod


def judge_of(old: Table, new: Table, live: Live) -> PodJudge:
    """Return who judges Pods; DeviceClasses that do not exist count as in admission (C3)."""
    rows = () if live.offers is None else (*old.rows, *new.rows)
    missing = frozenset(() if live.offers is None else live.offers.missing_classes(rows))
    known = Availability(missing_classes=missing)
    successors = table_changes(old, new).successors
    return PodJudge(Snapshot(old, known), Snapshot(new, known), successors, live.nodes, live.offers)


def _by_name(nodes: Iterable[Json]) -> dict[str, NodeFacts]:
    return {facts.name: facts for facts in map(node_facts, nodes)}
