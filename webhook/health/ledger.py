"""What was done lately, counted once for all controllers: budget and breakers (H4, H5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from webhook.health.subjects import Subject

ASKED: Final = -1.0
"""In the place of a time: a person has asked for it, and no controller has seen that yet."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """An eviction that was decided upon.

    Attributes:
        pod: The Pod's uid.
        namespace: Its namespace.
        at: In seconds since 1970.
        node: Where it was.
        owner: The uid of what made it.
        newest: When the newest of that owner's Pods there was created: whatever is newer came in
            the place of an evicted one.
    """

    pod: str
    namespace: str
    at: float
    node: str = ""
    owner: str = ""
    newest: float = 0.0


@dataclass(frozen=True, slots=True)
class Ledger:
    """What counts against the budget, and what is stopped; times are seconds since 1970.

    It is written before anything is done, and only by whoever has seen its latest state. So two
    controllers that both believe they lead together never exceed the budget.

    Attributes:
        evictions: Those of the window.
        quarantined: Nodes with our taint, and devices with a rule of ours; since when.
        breakers: The rows that stopped; since when.
        resumed: When a person had a row go on; what failed before does not stop it again.
            ``ASKED`` until a controller has seen it: people's clocks differ.
    """

    evictions: tuple[Eviction, ...] = ()
    quarantined: Mapping[Subject, float] = field(default_factory=dict)
    breakers: Mapping[str, float] = field(default_factory=dict)
    resumed: Mapping[str, float] = field(default_factory=dict)

    def has_evicted(self, pod: str) -> bool:
        """Tell whether a Pod's eviction is in it, by the Pod's uid."""
        return any(one.pod == pod for one in self.evictions)

    def without(self, pod: str) -> Ledger:
        """Return it without an eviction that was refused."""
        return replace(self, evictions=tuple(one for one in self.evictions if one.pod != pod))

    def resume(self, rows: frozenset[str] | None) -> Ledger:
        """Return it with rows asked to go on again, all of them where none is named (H5)."""
        going = frozenset(self.breakers) if rows is None else rows & self.breakers.keys()
        return replace(
            self,
            breakers={row: at for row, at in self.breakers.items() if row not in going},
            resumed={**self.resumed, **dict.fromkeys(sorted(going), ASKED)},
        )

    def recent(self, now: float, window_s: float) -> Ledger:
        """Return it without what no longer counts, and with rows resumed that were asked to be.

        Nothing was done later than now: whoever wrote that had a clock that was ahead.
        """
        evictions = (replace(one, at=min(one.at, now)) for one in self.evictions)
        return replace(
            self,
            evictions=tuple(one for one in evictions if now - window_s < one.at),
            quarantined={subject: min(at, now) for subject, at in self.quarantined.items()},
            breakers={row: min(at, now) for row, at in self.breakers.items()},
            resumed={row: now if at == ASKED else min(at, now) for row, at in self.resumed.items()},
        )

    def of_rows(self, rows: Collection[str]) -> Ledger:
        """Return it without what was said about rows that are in no table any more (H5)."""
        if self.breakers.keys() | self.resumed.keys() <= set(rows):
            return self
        return replace(
            self,
            breakers={row: at for row, at in self.breakers.items() if row in rows},
            resumed={row: at for row, at in self.resumed.items() if row in rows},
        )
