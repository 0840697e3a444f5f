"""What a user can ask for here and now, and what would start where a request would not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from selection_spec.denial import problems, who
from selection_spec.grammar import ANY, Spec
from selection_spec.resolution import Resolution
from selection_spec.resolve import PolicyChoice
from selection_spec.rows import Policy, Row
from selection_spec.table import Table
from webhook.advice.asks import answer, rows_meant, specs_that_matter
from webhook.advice.supply import Pool, Supply
from webhook.advice.words import CLAIM_COUNT, DEVICE_CLASS_REQUESTS, quota_keys
from webhook.inventory.facts import Taint
from webhook.inventory.taints import tolerated
from webhook.placement.node import plan


class Start(StrEnum):
    """Whether a Pod would start now, as far as its GPUs are concerned."""

    YES = "yes"
    NO = "no"
    PERHAPS = "perhaps"


@dataclass(frozen=True, slots=True)
class Offer:
    """What there is for one request.

    Attributes:
        candidates: Ids of the rows that it may use, in D8 order.
        denial: Why admission denies it, "" where it does not.
        broken: Why its Pods would never start, "" where they would in time.
        total: Devices of these rows.
        free: Those that are free, on nodes where a Pod could start.
        largest: The most free ones on a single node; the most that it can be where the nodes are
            not known.
        node: That node, "" where it is not known.
        away: Devices on nodes where nothing can start, by the reason.
        charged: What one such Pod is charged for in a ResourceQuota: keys and amounts.
        start: Whether it would start now.
        dead: Those of the free ones that health calls Failed.
    """

    spec: Spec
    count: int
    policy: Policy
    candidates: tuple[str, ...]
    denial: str
    broken: str
    total: int
    free: int
    largest: int
    node: str
    away: tuple[tuple[str, int], ...]
    charged: tuple[tuple[str, int], ...]
    start: Start
    dead: int = 0

    @property
    def request(self) -> str:
        """The request as it is written: ``gpu-any-24gb:4``."""
        return f"{self.spec}:{self.count}"


@dataclass(frozen=True, slots=True)
class Instead:
    """Another request that would start now, and in what it differs."""

    offer: Offer
    how: str


@dataclass(frozen=True, slots=True)
class Market:
    """A table, what its cluster has, and the policy that is asked under."""

    table: Table
    supply: Supply
    choice: PolicyChoice

    def offer(self, spec: Spec, count: int = 1, policy: Policy | None = None) -> Offer:
        """Return what there is for one request, by the table's policy unless another is given."""
        policy = policy or self.choice.policy
        resolution = answer(self.table, spec, count, policy, self.supply.availability)
        pools, shut = _pools(self.supply, resolution)
        best = max(pools, key=lambda pool: pool.largest, default=None)
        largest = best.largest if best is not None else 0
        start = Start.NO
        broken = _broken(self.supply, resolution.candidates)
        if largest >= count and not broken:
            start = Start.YES if self.supply.exact else Start.PERHAPS
        return Offer(
            spec=spec,
            count=count,
            policy=policy,
            candidates=tuple(row.id for row in resolution.candidates),
            denial="; ".join(
                one.text().removeprefix(f"{who(need)}: ")
                for need in resolution.demand.needs
                for one in problems(resolution)
            ),
            broken=broken,
            total=sum(pool.total for pool in (*pools, *(one for one, _ in shut))),
            free=sum(pool.free for pool in pools),
            largest=largest,
            node=best.node if best is not None else "",
            away=_away(pools, shut),
            charged=tuple(_charged(self.supply, resolution.candidates, count)),
            start=start,
            dead=sum(pool.dead for pool in pools),
        )

    def all(self) -> tuple[Offer, ...]:
        """Return what there is for one device of every spec that matters."""
        return tuple(self.offer(spec) for spec in specs_that_matter(self.table))

    def instead(self, offer: Offer) -> tuple[Instead, ...]:
        """Return requests near to one that would not start, each the nearest of its kind."""
        ways = (
            self._first("fewer", self._fewer(offer)),
            self._first("less memory", self._smaller(offer)),
            self._first("more memory", self._larger(offer)),
            self._first("any device", self._unnamed(offer)),
            self._first("by its name only", self._withheld(offer)),
            self._first(
                f"under {offer.policy.other}",
                iter((self.offer(offer.spec, offer.count, offer.policy.other),)),
            ),
        )
        return tuple(way for way in ways if way is not None)

    def _first(self, how: str, offers: Iterator[Offer]) -> Instead | None:
        return next((Instead(one, how) for one in offers if one.start is not Start.NO), None)

    def _fewer(self, offer: Offer) -> Iterator[Offer]:
        rows = rows_meant(self.table, offer.spec)
        most = max((row.per_node for row in rows), default=0)
        for count in range(min(offer.count - 1, most), 0, -1):
            yield self.offer(offer.spec, count)

    def _smaller(self, offer: Offer) -> Iterator[Offer]:
        least = offer.spec.min_gb or 0
        for spec, size in reversed(self._bounds(offer.spec.name)):
            if size < least:
                yield self.offer(spec, offer.count)

    def _larger(self, offer: Offer) -> Iterator[Offer]:
        """Yield bounds that pass over devices which are big enough: SmallestFit takes no others."""
        sizes = [row.vram_gb for row in rows_meant(self.table, offer.spec)]
        for spec, size in self._bounds(offer.spec.name):
            if sizes and size > min(sizes):
                yield self.offer(spec, offer.count)

    def _unnamed(self, offer: Offer) -> Iterator[Offer]:
        sizes = [row.vram_gb for row in rows_meant(self.table, offer.spec)]
        if sizes and not offer.spec.is_any:
            for spec, size in self._bounds(ANY):
                if size >= min(sizes):
                    yield self.offer(spec, offer.count)

    def _bounds(self, name: str) -> list[tuple[Spec, int]]:
        """Return the specs of a name by the memory that they ask for, ascending."""
        sizes = sorted({row.vram_gb for row in rows_meant(self.table, Spec(name))})
        return [(Spec(name, size if place else None), size) for place, size in enumerate(sizes)]

    def _withheld(self, offer: Offer) -> Iterator[Offer]:
        """Yield rows that only their name opens (D6)."""
        if offer.spec.is_any:
            least = offer.spec.min_gb or 0
            for row in self.table.rows:
                if (row.reserved or not row.any) and row.vram_gb >= least:
                    yield self.offer(Spec(row.name, row.vram_gb), offer.count)


def _charged(supply: Supply, rows: Iterable[Row], count: int) -> Iterator[tuple[str, int]]:
    """Yield what a ResourceQuota counts for a Pod that may use some rows (k8s).

    Of a claim every alternative is charged: each DeviceClass for as many devices as it might give.
    """
    keys = dict.fromkeys(key for row in rows for key in quota_keys(row, supply.classes))
    for key in sorted(keys, key=lambda key: key.startswith(DEVICE_CLASS_REQUESTS)):
        yield key, 1 if key == CLAIM_COUNT else count


def _broken(supply: Supply, rows: Iterable[Row]) -> str:
    """Return why no Pod starts whose claim names these rows: one that errs is enough (C3)."""
    reasons = (f"{row.id}: {supply.broken[row.id]}" for row in rows if row.id in supply.broken)
    return "; ".join(reasons)


def _pools(supply: Supply, resolution: Resolution) -> tuple[list[Pool], list[tuple[Pool, Taint]]]:
    """Return the pools of the Pod's rows; and those that a taint shuts to it, with the taint."""
    if not resolution.candidates:
        return [], []
    candidates = {row.id for row in resolution.candidates}
    tolerations = plan(resolution).tolerations
    open_ones, shut = [], []
    for pool in supply.pools:
        if candidates.isdisjoint(pool.rows) or not (pool.total or pool.most_usable):
            continue
        barrier = next((one for one in pool.taints if not tolerated(one, tolerations)), None)
        if barrier is None:
            open_ones.append(pool)
        else:
            shut.append((pool, barrier))
    return open_ones, shut


def _away(pools: Iterable[Pool], shut: Iterable[tuple[Pool, Taint]]) -> tuple[tuple[str, int], ...]:
    """Count the devices that are out of reach by the reason, the most first."""
    away: dict[str, int] = {}
    for pool in pools:
        for reason, devices in pool.away.items():
            away[reason] = away.get(reason, 0) + devices
    for pool, taint in shut:
        if pool.total:
            reason = f"tainted {taint}"
            away[reason] = away.get(reason, 0) + pool.total
    return tuple(sorted(away.items(), key=lambda item: (-item[1], item[0])))
