"""Whose Pods a change of the table concerns: each as if it were created once more.

Nothing moves by itself when a table changes. A Pod that is called moved would start on another kind
of node the next time: after an eviction, a roll-out, a crash of its node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from selection_spec.denial import few
from selection_spec.errors import Level
from selection_spec.labels import Toleration
from selection_spec.rows import CLAIMS, Row
from webhook.admission.essence import essence_of
from webhook.admission.translate import ADMISSION, Context, translate
from webhook.advice.homes import Homes
from webhook.advice.rebuild import CannotTellError, rebuild
from webhook.advice.spec_changes import newly_broken
from webhook.advice.verdicts import Fate, PodVerdict, admit, verdict_on
from webhook.inventory.broken import broken_rows
from webhook.inventory.claims import Offered
from webhook.inventory.facts import NodeFacts, Taint, mapping
from webhook.inventory.matching import Matcher
from webhook.inventory.pod_facts import PodFacts, pod_facts
from webhook.inventory.reservation import reserved_as
from webhook.inventory.taints import keeps_pods_away, tells_a_fault, tolerated
from webhook.shapes import unreadable
from webhook.snapshot import Snapshot
from webhook.terms import REQUEST_ANNOTATION

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Compared:
    """One Pod under both tables; the same for all replicas, whatever their nodes."""

    verdict: PodVerdict
    before: tuple[Row, ...] = ()
    after: tuple[Row, ...] = ()
    old_tolerations: tuple[Toleration, ...] = ()
    new_tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class _Homes:
    """Ids of the rows that each node belongs to, by its name; and of those that have any node.

    ``reserved`` has the reserve taint that a node gets by them (D6), None for none.
    """

    of_node: Mapping[str, tuple[str, ...]]
    settled: frozenset[str]
    reserved: Mapping[str, Taint | None]


@dataclass(slots=True)
class PodJudge:
    """Judges Pods by two tables; remembers what it worked out for one replica.

    Attributes:
        successors: For each old row id the new one (``row_changes``).
        nodes: The cluster's nodes by name; None where they are not known.
        offers: What its DRA drivers offer; None where that is not known.
    """

    old: Snapshot
    new: Snapshot
    successors: Mapping[str, str]
    nodes: Mapping[str, NodeFacts] | None = None
    offers: Offered | None = None
    _old_homes: _Homes = field(init=False, repr=False)
    _new_homes: _Homes = field(init=False, repr=False)
    _taints: frozenset[tuple[tuple[str, ...], Taint | None, Taint | None]] = field(
        init=False, repr=False
    )
    _broken: tuple[Mapping[str, str], Mapping[str, str]] = field(init=False, repr=False)
    _known: dict[bytes, _Compared] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        nodes = (self.nodes or {}).values()
        self._old_homes, self._new_homes = (
            _homes(one, nodes, self.offers) for one in (self.old, self.new)
        )
        then, now = (broken_rows(one.table.rows, self.offers) for one in (self.old, self.new))
        self._broken = then, now
        self._taints = frozenset(
            (rows, self._old_homes.reserved[name], self._new_homes.reserved[name])
            for name, rows in self._old_homes.of_node.items()
        )

    def stored(self, pod: Json, facts: PodFacts) -> PodVerdict:
        """Judge a stored Pod that admission has translated."""
        if facts.owner.kind == "DaemonSet":
            return self._of_daemon_set(facts)
        compared = self._compared(pod)
        if not self.nodes or compared.verdict.fate not in {Fate.SAME, Fate.OTHERWISE}:
            return compared.verdict
        if why := self._nowhere(compared):
            return PodVerdict(Fate.STRANDED, why, Level.ERROR)
        if not facts.node and (why := self._shut_out(compared)):
            return PodVerdict(Fate.STRANDED, why, Level.ERROR)
        node = self.nodes.get(facts.node)
        if node is None:
            return compared.verdict
        why = self._driven_off(node, compared)
        if why:
            return PodVerdict(Fate.MOVED, why, Level.WARNING)
        if compared.verdict.level is Level.WARNING:
            # Rows are lost, and that of its own node is not among them.
            return PodVerdict(Fate.OTHERWISE, compared.verdict.reason)
        return compared.verdict

    def _of_daemon_set(self, facts: PodFacts) -> PodVerdict:
        """Judge a Pod whose template was translated once (N8): no table changes that any more."""
        taint = self._new_homes.reserved.get(facts.node)
        if taint is None or tolerated(taint, facts.tolerations):
            return PodVerdict(Fate.SAME)
        why = f"its node would get the taint {taint}, and it would not come back there"
        return PodVerdict(Fate.MOVED, why, Level.WARNING)

    def template(self, pod: Json, context: Context) -> tuple[PodVerdict, ...]:
        """Judge a Pod, or the template of one, as its author wrote it.

        Where its priority is not known, what the other policy says is added if it differs (D3).
        """
        verdict = self._compare(pod, context).verdict
        choices = [translate(pod, context, one).choice for one in (self.old, self.new)]
        policies = {one.policy for one in choices if one is not None}
        if len(policies) != 1 or all(one is None or one.certain for one in choices):
            return (verdict,)
        policy = policies.pop().other
        other = self._compare(pod, replace(context, policy=policy)).verdict
        if other in {verdict, PodVerdict(Fate.SAME)}:
            return (verdict,)
        return verdict, replace(other, reason=f"under {policy}: {other.reason}")

    def _compared(self, pod: Json) -> _Compared:
        try:
            if unreadable(pod):
                return self._rebuilt(pod)
            essence = essence_of(pod)
            essence["spec"].pop("nodeName", None)
            key = orjson.dumps(essence)
        except TypeError:
            return self._rebuilt(pod)
        if key not in self._known:
            self._known[key] = self._rebuilt(essence)
        return self._known[key]

    def _rebuilt(self, pod: Json) -> _Compared:
        try:
            return self._compare(rebuild(pod, self.old), ADMISSION)
        except CannotTellError as error:
            return _Compared(PodVerdict(Fate.UNKNOWN, str(error)))

    def _compare(self, pod: Json, context: Context) -> _Compared:
        before, after = (admit(pod, context, one) for one in (self.old, self.new))
        verdict = verdict_on(before, after, self.successors)
        never = newly_broken(before.rows, after.rows, self._broken)
        if never and verdict.fate is not Fate.DENIED:
            why = f"it would never start: {never}"
            verdict = PodVerdict(Fate.STRANDED, why, Level.ERROR)
        return _Compared(
            verdict=verdict,
            before=before.rows,
            after=after.rows,
            old_tolerations=before.tolerations,
            new_tolerations=after.tolerations,
        )

    def _nowhere(self, compared: _Compared) -> str:
        """Say so where no node at all has what the Pod would get, and some has what it gets."""
        if not _meet(self._old_homes.settled, compared.before):
            return ""
        if _meet(self._new_homes.settled, compared.after):
            return ""
        ids = few(row.id for row in compared.after)
        if compared.after and compared.after[0].pool == CLAIMS:
            return f"it would get claims on {ids}, and no node has devices that these recognise"
        return f"it would get {ids}, and no node has the labels of that"

    def _shut_out(self, compared: _Compared) -> str:
        """Say so where a Pod that waits could start, and the new reserve taints would forbid it.

        It is not admitted again: it keeps the tolerations that it has (N9).
        """
        before = after = False
        shut: set[str] = set()
        for rows, then, now in self._taints:
            if _meet(rows, compared.before):
                before |= then is None or tolerated(then, compared.old_tolerations)
                if now is None or tolerated(now, compared.old_tolerations):
                    after = True
                else:
                    shut.add(str(now))
        if after or not before:
            return ""
        return f"it waits, and its nodes would get the taint {few(sorted(shut))}"

    def _driven_off(self, node: NodeFacts, compared: _Compared) -> str:
        """Say why a node that admits the Pod today would not any more; "" where it would."""
        here = self._old_homes.of_node[node.name]
        if not _meet(here, compared.before) or _barrier(node, compared.old_tolerations):
            return ""  # it would not come here again today either
        there = self._new_homes.of_node[node.name]
        if not _meet(there, compared.after):
            on = few(there or here)
            then = few(row.id for row in compared.after)
            no_row = "" if there else ", whose nodes no row of the new table means"
            return f"runs on {on}{no_row}; would start on {then}"
        taint = _barrier(node, compared.new_tolerations)
        return f"the taint {taint} of its node is not tolerated any more" if taint else ""


def stored_pods(pods: Iterable[Json]) -> Iterator[tuple[Json, PodFacts]]:
    """Yield the Pods that are ours to judge: translated ones that are not finished."""
    for pod in pods:
        annotations = mapping(mapping(pod.get("metadata")).get("annotations"))
        if REQUEST_ANNOTATION in annotations:
            facts = pod_facts(pod)
            if not facts.finished:
                yield pod, facts


def _homes(snapshot: Snapshot, nodes: Collection[NodeFacts], offers: Offered | None) -> _Homes:
    homes, matcher = Homes(snapshot.table, offers), Matcher(snapshot.table)
    of_node = {node.name: tuple(row.id for row in homes.rows_of(node)) for node in nodes}
    return _Homes(
        of_node,
        settled=frozenset(row for its in of_node.values() for row in its),
        reserved={node.name: reserved_as(matcher.rows_of(node)) for node in nodes},
    )


def _meet(ids: Collection[str], rows: Iterable[Row]) -> bool:
    return any(row.id in ids for row in rows)


def _barrier(node: NodeFacts, tolerations: Sequence[Toleration]) -> str:
    """Return a taint that keeps the Pod off a node for good, "" if none does."""
    return next(
        (
            str(taint)
            for taint in node.taints
            if keeps_pods_away(taint)
            and not tells_a_fault(taint)
            and not tolerated(taint, tolerations)
        ),
        "",
    )
