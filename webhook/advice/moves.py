"""Rows that are taken by claims from now on, or by a resource again, and what that changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from selection_spec.denial import few
from selection_spec.errors import Level, Problem
from selection_spec.rows import CLAIMS, Row
from selection_spec.table import Table
from webhook.advice.homes import Homes
from webhook.advice.words import CLAIM_COUNT, class_quota_key, counted
from webhook.inventory.broken import broken_rows
from webhook.inventory.claim_problems import claims_hold, pods_hold
from webhook.inventory.claims import Offered
from webhook.inventory.facts import NodeFacts
from webhook.inventory.holders import Holders
from webhook.inventory.matching import Matcher


@dataclass(frozen=True, slots=True)
class Move:
    """Rows that go the same way from one output to the other.

    Attributes:
        rows: Ids in the new table, in D8 order.
        before: What a Pod that took them held: a resource, or ``ResourceClaim``.
        after: What it holds from now on.
        device_class: The one that the claims ask.
        devices: How many the claims recognise; None where ResourceSlices are not known.
        nodes: On how many nodes these are.
        served: Whether the DeviceClass serves the resource, too; None where that is not known.
        problems: What is in the way in the cluster.
    """

    rows: tuple[str, ...]
    before: str
    after: str
    device_class: str
    devices: int | None = None
    nodes: int = 0
    served: bool | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def to_claims(self) -> bool:
        """Whether the rows are taken by claims from now on."""
        return self.after == CLAIMS

    @property
    def quota(self) -> tuple[str, str]:
        """The keys of a ResourceQuota that count these Pods before and after."""
        claims = class_quota_key(self.device_class)
        resource = f"requests.{self.before if self.to_claims else self.after}"
        return (resource, claims) if self.to_claims else (claims, resource)


@dataclass(frozen=True, slots=True)
class Present:
    """What is known of a cluster.

    Attributes:
        nodes: Its nodes, as far as they are known.
        offers: What its DRA drivers offer; None where that is not known.
        held: Who holds devices of the nodes, as far as that is known.
    """

    nodes: Collection[NodeFacts] = ()
    offers: Offered | None = None
    held: Holders = field(default_factory=Holders)


NOTHING: Final = Present()


def meaning(move: Move) -> Iterator[str]:
    """Yield what an admin has to know of a move, in sentences."""
    if move.to_claims:
        hold, instead = "claims", move.before
        steers = "Kubernetes does not preempt for DRA devices: priority only steers there (C7)"
    else:
        hold, instead = move.after, "claims"
        drivers = f"where no DRA driver gives {move.after}" if move.served else ""
        if move.served is None:
            drivers = f"unless a DRA driver serves {move.after}"
        steers = ", ".join(
            filter(None, ("Kubernetes preempts Pods of lower priority for them again", drivers))
        )
        steers += " (C7)"
    yield (
        f"Pods created from now on hold {hold} instead of {instead}; those that are there keep "
        "what they have"
    )
    yield steers
    yield _quotas(move)
    if move.devices:
        yield (f"{counted(move.devices, 'device')} on {counted(move.nodes, 'node')} are recognised")


def _quotas(move: Move) -> str:
    """Say by which keys Pods are counted; those of claims count what a driver gives (k8s)."""
    before, after = move.quota
    if move.to_claims:
        text = (
            f"a ResourceQuota counts them by {after}, every class of a claim's alternatives "
            f"charged, and by {CLAIM_COUNT}"
        )
        named = f"the DeviceClass has {move.before} as extendedResourceName"
        if move.served:
            return f"{text}, and as before by {before}, for {named}"
        return f"{text}, no longer by {before}{', unless ' + named if move.served is None else ''}"
    text, keys = f"a ResourceQuota counts them by {after}", f"{before} and {CLAIM_COUNT}"
    if move.served:
        return f"{text}; what a DRA driver gives of {move.after} counts by {keys}, too"
    unless = f", unless a DRA driver serves {move.after}: then by these, too"
    return f"{text}, no longer by {keys}{unless if move.served is None else ''}"


def moves(
    old: Table,
    new: Table,
    successors: Mapping[str, str],
    present: Present = NOTHING,
) -> tuple[Move, ...]:
    """Find the rows that stay and have another output now.

    Args:
        old: The one table.
        new: The other.
        successors: For each old row id the new one (``row_changes``).
        present: What is known of a cluster.
    """
    before = {successors[row.id]: row for row in old.rows if row.id in successors}
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in new.rows:
        was = before.get(row.id)
        if was is not None and was.output is not row.output:
            claim = row.claim if row.pool == CLAIMS else was.claim
            if claim is not None:
                groups.setdefault((was.pool, row.pool, claim.device_class), []).append(row)
    judge = _Judge(new, present)
    return tuple(judge.move(key, rows) for key, rows in groups.items())


class _Judge:
    """Judges moves by what is known of a cluster."""

    def __init__(self, new: Table, present: Present) -> None:
        self._nodes, self._offers, self._held = present.nodes, present.offers, present.held
        self._devices = Homes(new, present.offers).devices
        self._matcher = Matcher(new)
        self._broken = broken_rows(new.rows, present.offers)

    def move(self, key: tuple[str, str, str], rows: Sequence[Row]) -> Move:
        was, will, device_class = key
        found = Move(tuple(row.id for row in rows), was, will, device_class)
        classes = None if self._offers is None else self._offers.classes
        if classes is not None:
            resource = was if found.to_claims else will
            found = replace(found, served=classes.get(device_class) == resource)
        if not found.to_claims:
            return replace(found, problems=tuple(self._claims_stay(found)))
        if classes is not None and device_class not in classes:
            missing = Problem(
                f"DeviceClass {device_class} does not exist, so nobody gets these rows",
                hint="install the driver, or mend claim.deviceClassName",
                rule="C3",
            )
            return replace(found, problems=(missing,))
        return self._recognising(found)

    def _recognising(self, move: Move) -> Move:
        """Return a move to claims with what these recognise, and what is in the way."""
        on_nodes = Counter[str]()
        for row in move.rows:
            on_nodes.update(self._devices.get(row, {}))
        is_known = self._offers is not None and all(row in self._devices for row in move.rows)
        broken = [row for row in move.rows if row in self._broken]
        return replace(
            move,
            devices=on_nodes.total() if is_known else None,
            nodes=len(on_nodes),
            problems=(
                *(Problem(f"{row}: {self._broken[row]}", rule="C3") for row in broken),
                *_recognising_nothing(
                    [row for row in move.rows if row not in broken], self._devices
                ),
                *_given_twice(move.before, on_nodes, self._nodes),
                *self._pods_stay(move, on_nodes),
            ),
        )

    def _pods_stay(self, move: Move, on_nodes: Collection[str]) -> Iterator[Problem]:
        own = {*on_nodes, *(node.name for node in self._of(move))}
        holds = [
            self._held.pods[name][move.before]
            for name in own
            if move.before in self._held.pods.get(name, {})
        ]
        if holds:
            pods = pods_hold(sum(one.holders for one in holds), move.before)
            yield Problem(
                f"{pods} on {counted(len(holds), 'node')} of these rows: a DRA driver does not "
                "know that, and gives the same cards out again",
                hint="let them end first",
                level=Level.WARNING,
            )

    def _claims_stay(self, move: Move) -> Iterator[Problem]:
        holds = [
            self._held.claims[node.name][move.after]
            for node in self._of(move)
            if move.after in self._held.claims.get(node.name, {})
            and (not move.served or node.capacity.get(move.after))
        ]
        if holds:
            claims = claims_hold(sum(one.holders for one in holds))
            yield Problem(
                f"{claims} on {counted(len(holds), 'node')} of these rows: a device plugin does "
                "not know that, and gives the same cards out again",
                hint="let their Pods end first",
                level=Level.WARNING,
            )

    def _of(self, move: Move) -> Iterator[NodeFacts]:
        """Yield the nodes with the labels of a move's rows."""
        for node in self._nodes:
            if any(row.id in move.rows for row in self._matcher.rows_of(node)):
                yield node


def _recognising_nothing(
    rows: Sequence[str], devices: Mapping[str, Mapping[str, int]]
) -> Iterator[Problem]:
    nothing = [row for row in rows if row in devices and not devices[row]]
    if nothing:
        claims = "the claim" if len(nothing) == 1 else "the claims"
        yield Problem(
            f"{claims} of {few(nothing)} {'recognises' if len(nothing) == 1 else 'recognise'} no "
            "device of any ResourceSlice",
            hint="see claim.driver and claim.products, and that the driver runs on the nodes",
        )


def _given_twice(
    resource: str, on_nodes: Collection[str], nodes: Collection[NodeFacts]
) -> Iterator[Problem]:
    twice = [node.name for node in nodes if node.name in on_nodes and node.capacity.get(resource)]
    if twice:
        offer = "offers its" if len(twice) == 1 else "offer their"
        yield Problem(
            f"{counted(len(twice), 'node')} {offer} devices as {resource} too, so that each would "
            f"be given out twice: {few(sorted(twice))}",
            hint="take the device plugin off these nodes first, and let the Pods there end",
            level=Level.WARNING,
        )
