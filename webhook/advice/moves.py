"""Rows that are taken by claims from now on, or by a resource again, and what that changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selection_spec.denial import few
from selection_spec.errors import Level, Problem
from selection_spec.rows import CLAIMS, Row
from selection_spec.table import Table
from webhook.advice.homes import Homes
from webhook.advice.words import class_quota_key, counted
from webhook.inventory.claims import Offered
from webhook.inventory.facts import NodeFacts


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
        problems: What is in the way in the cluster.
    """

    rows: tuple[str, ...]
    before: str
    after: str
    device_class: str
    devices: int | None = None
    nodes: int = 0
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


def meaning(move: Move) -> Iterator[str]:
    """Yield what an admin has to know of a move, in sentences."""
    counted_before, counted_after = move.quota
    if move.to_claims:
        hold, instead = "claims", move.before
        charged = ", every class of a claim's alternatives charged"
        served = f", unless the DeviceClass has {move.before} as extendedResourceName"
        steers = "Kubernetes does not preempt for DRA devices: priority only steers there (C7)"
    else:
        hold, instead, charged, served = move.after, "claims", "", ""
        steers = (
            "Kubernetes preempts Pods of lower priority for them again, unless a DRA driver "
            f"serves {move.after} (C7)"
        )
    yield (
        f"Pods created from now on hold {hold} instead of {instead}; those that are there keep "
        "what they have"
    )
    yield steers
    yield (
        f"a ResourceQuota counts them by {counted_after}{charged}, no longer by {counted_before}"
        f"{served}"
    )
    if move.devices:
        yield (f"{counted(move.devices, 'device')} on {counted(move.nodes, 'node')} are recognised")


def moves(
    old: Table,
    new: Table,
    successors: Mapping[str, str],
    nodes: Collection[NodeFacts] = (),
    offers: Offered | None = None,
) -> tuple[Move, ...]:
    """Find the rows that stay and have another output now.

    Args:
        old: The one table.
        new: The other.
        successors: For each old row id the new one (``row_changes``).
        nodes: The cluster's nodes, as far as they are known.
        offers: What its DRA drivers offer; None where that is not known.
    """
    before = {successors[row.id]: row for row in old.rows if row.id in successors}
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in new.rows:
        was = before.get(row.id)
        if was is not None and was.output is not row.output:
            claim = row.claim if row.pool == CLAIMS else was.claim
            if claim is not None:
                groups.setdefault((was.pool, row.pool, claim.device_class), []).append(row)
    devices = Homes(new, offers).devices
    return tuple(_move(key, rows, devices, nodes, offers) for key, rows in groups.items())


def _move(
    key: tuple[str, str, str],
    rows: Sequence[Row],
    devices: Mapping[str, Mapping[str, int]],
    nodes: Collection[NodeFacts],
    offers: Offered | None,
) -> Move:
    was, will, device_class = key
    ids = tuple(row.id for row in rows)
    if will != CLAIMS or offers is None:
        return Move(ids, was, will, device_class)
    if offers.classes is not None and device_class not in offers.classes:
        missing = Problem(
            f"DeviceClass {device_class} does not exist, so nobody gets these rows",
            hint="install the driver, or mend claim.deviceClassName",
            rule="C3",
        )
        return Move(ids, was, will, device_class, problems=(missing,))
    on_nodes = Counter[str]()
    for row in ids:
        on_nodes.update(devices.get(row, {}))
    is_known = all(row in devices for row in ids)
    return Move(
        rows=ids,
        before=was,
        after=will,
        device_class=device_class,
        devices=on_nodes.total() if is_known else None,
        nodes=len(on_nodes),
        problems=(
            *_recognising_nothing(ids, devices),
            *_given_twice(was, on_nodes, nodes),
        ),
    )


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
