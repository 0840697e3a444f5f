"""What one Pod asks for, as values that can be compared and hashed (semantics A7, D1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from selection_spec.grammar import Spec
from selection_spec.labels import Requirement
from selection_spec.rows import CLAIMS

Term = tuple[Requirement, ...]


class Kind(StrEnum):
    """How a container shares the Pod's life, which decides how amounts add up (A7)."""

    MAIN = "container"
    INIT = "init container"
    SIDECAR = "sidecar"


@dataclass(frozen=True, slots=True)
class Need:
    """What one container asks for.

    Attributes:
        name: The container's name.
        kind: Main, plain init or native sidecar.
        path: Its field path in the Pod, ``spec.containers[0]``.
        spec: Its spec, None where it asks for none.
        count: How many devices of the spec, at least 1; 0 without a spec.
        raw: Extended resources it asks for by their own name, with amounts, sorted.
    """

    name: str
    kind: Kind
    path: str
    spec: Spec | None = None
    count: int = 0
    raw: tuple[tuple[str, int], ...] = ()

    def amount(self, resource: str) -> int:
        """Return how many devices it takes where the spec becomes ``resource``."""
        return self.count + sum(amount for name, amount in self.raw if name == resource)


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """Claims that an earlier pass of ours gave the Pod (R2): they narrow (D1) and count (A7).

    Attributes:
        count: How many devices they hold together.
        rows: The rows of the table whose devices they may hold, as a set; 0 where it has none that
            would tell, so that they only count.
    """

    count: int
    rows: int


@dataclass(frozen=True, slots=True)
class Demand:
    """What a Pod asks for and where it says it may run.

    Attributes:
        needs: The containers that ask for devices, in the order in which they start.
        terms: Its nodeSelector and required affinity as alternatives, each an AND; one empty term
            where it says nothing, no term at all where nothing can match.
        os: ``spec.os.name``, linux where it has none (D10).
        opened: Ids of rows that the Pod already tolerates the reserve taint of: an earlier pass
            found them named (N9), so that they are open to what was added since (D6, R2).
        held: Claims that it has from an earlier pass.
        one_row: Whether its claims may name only one row (C5).
    """

    needs: tuple[Need, ...]
    terms: tuple[Term, ...] = ((),)
    os: str = "linux"
    opened: tuple[str, ...] = ()
    held: tuple[HeldClaim, ...] = ()
    one_row: bool = False

    @property
    def specs(self) -> tuple[Need, ...]:
        """The containers that ask by a spec."""
        return tuple(need for need in self.needs if need.spec is not None)

    def peak(self, pool: str) -> int:
        """Return the most devices that the Pod holds at one time if it gets them from a pool (A7).

        Claims are held for the Pod's whole life, those of init containers too.
        """
        if pool != CLAIMS:
            return peak(self.needs, pool)
        claims = claim_owners(self.needs).values()
        return sum(need.count for need in dict.fromkeys(claims)) + sum(
            claim.count for claim in self.held
        )


def claim_owners(needs: Sequence[Need]) -> dict[str, Need]:
    """Return by container name whose claim each container with a spec uses (C1).

    That is its own, but for a plain init container with spec and amount of a main one: it uses the
    claim of the first of these.
    """
    mains: dict[tuple[Spec, int], Need] = {}
    for need in needs:
        if need.spec is not None and need.kind is Kind.MAIN:
            mains.setdefault((need.spec, need.count), need)
    return {
        need.name: mains.get((need.spec, need.count), need) if need.kind is Kind.INIT else need
        for need in needs
        if need.spec is not None
    }


def at_peak(needs: Sequence[Need], resource: str) -> tuple[Need, ...]:
    """Return who holds devices of a pool when the Pod holds the most of them (A7)."""
    if resource == CLAIMS:
        return tuple(dict.fromkeys(claim_owners(needs).values()))
    staying = most = 0
    top = len(needs)
    for place, need in enumerate(needs):
        amount = need.amount(resource)
        if need.kind is not Kind.INIT:
            staying += amount
        elif staying + amount > most:
            most, top = staying + amount, place
    if staying >= most:
        top = len(needs)
    return tuple(
        need
        for place, need in enumerate(needs[: top + 1])
        if need.amount(resource) and (place == top or need.kind is not Kind.INIT)
    )


def peak(needs: Iterable[Need], resource: str) -> int:
    """Return the most devices of a resource that the Pod holds at one time (A7).

    Sidecars stay and add up; a plain init container runs beside the sidecars started before it.
    """
    staying = most = 0
    for need in needs:
        amount = need.amount(resource)
        if need.kind is Kind.INIT:
            most = max(most, staying + amount)
        else:
            staying += amount
    return max(most, staying)
