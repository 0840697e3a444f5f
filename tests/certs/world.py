"""A world in which the planner is the controller: what is stored, who lags, whose clock jumps.

Servers have what is stored at most ``PICK_UP`` seconds later, clients what is published at most
``NOTICE`` seconds later. Whatever any of them may use at a moment is held against the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache

from certs.authority import KeyPair, create_authority, issue
from certs.plans import Owner, Plan, Publish, Rules, Seen, Since, Store, Stored
from certs.policy import certificates_in, is_signed
from certs.rotation import plan
from tests.certs.predicates import load

START = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
PICK_UP, NOTICE, LOOK = 120.0, 30.0, 30.0
RULES = Rules(names=("gpuspec-webhook.gpuspec-system.svc",))

FOREIGN = create_authority("gpuspec authority", now=START, lifetime=timedelta(days=36500))
FOREIGN_SERVER = issue(FOREIGN, RULES.names, now=START, lifetime=timedelta(days=36500))


@dataclass
class History:
    """What stood in one place, and from when; None where somebody else wrote it."""

    entries: list[tuple[float, bytes | None]] = field(default_factory=list)

    def note(self, at: float, content: bytes | None) -> None:
        if not self.entries or self.entries[-1][1] != content:
            self.entries.append((at, content))

    def usable(self, at: float, lag: float) -> set[bytes]:
        """Whatever may still be in use, by somebody who is behind by at most ``lag``."""
        ends = [start for start, _ in self.entries[1:]] + [at]
        return {
            content
            for (_, content), end in zip(self.entries, ends, strict=True)
            if content is not None and end >= at - lag
        }


class World:
    """Two clients, some servers, one controller at a time.

    Attributes:
        locked: The places that the controller may not write.
        refused: Those of them that it has found so.
    """

    def __init__(self, clients: Iterable[str] = ("mutating", "validating")) -> None:
        self.steady = 0.0
        self.offset = timedelta(0)
        self.stored: dict[Owner, Stored | None] = dict.fromkeys(Owner)
        self.published: dict[str, bytes] = dict.fromkeys(clients, b"")
        self.since: Since = {}
        self.locked: set[str] = set()
        self.refused: frozenset[str] = frozenset()
        self.served = History()
        self.trusted: defaultdict[str, History] = defaultdict(History)
        self.authorities = 0
        self.servers = 0

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=self.steady) + self.offset

    def seen(self) -> Seen:
        pairs = self.stored[Owner.AUTHORITY], self.stored[Owner.SERVER]
        return Seen(*pairs, dict(self.published), self.refused)

    def look(self, until: int | None = None) -> Plan:
        """One look of the controller, which is cut off after so many steps."""
        made = plan(self.seen(), RULES, self.since, now=self.now, steady=self.steady)
        self.since = made.since
        refused, before = set(), dict(self.published)
        for step in made.steps[:until]:
            if step.place in self.locked:
                refused.add(step.place)
                if step.place == Owner.AUTHORITY:
                    refused |= self.refused
                    break
            elif isinstance(step, Publish):
                self.published[step.client] = step.bundle
                self.trusted[step.client].note(self.steady, step.bundle)
            else:
                self._store(step, before)
        self.refused = frozenset(refused)
        return made

    def _store(self, step: Store, before: Mapping[str, bytes]) -> None:
        former = self.stored[step.owner]
        new = former is None or former.pair != step.pair
        self.authorities += new and step.owner is Owner.AUTHORITY
        self.servers += new and step.owner is Owner.SERVER
        self.stored[step.owner] = Stored(step.pair, step.bundle, intact=True)
        if step.owner is Owner.SERVER:
            self.served.note(self.steady, step.pair.certificate)
            self._leave_behind(step.pair.certificate, before)

    def _leave_behind(self, leaf: bytes, before: Mapping[str, bytes]) -> None:
        """Who could not be told of an authority may fail from now on, if others go on with it."""
        for client in self.refused & before.keys() if before.keys() - self.refused else ():
            if not verifies(before[client], leaf):
                self.trusted.pop(client, None)
                if self.published[client] != before[client]:
                    self.trusted[client].note(self.steady, self.published[client])

    def restart(self) -> None:
        """Another controller takes over, which remembers nothing."""
        self.since = {}
        self.refused = frozenset()

    def run(self, seconds: float, every: float = LOOK) -> Plan:
        """Let time pass with a look now and then; the last one is returned."""
        end = self.steady + seconds
        while self.steady < end:
            self.steady = min(self.steady + every, end)
            made = self.look()
            self.check()
        return made

    def store(self, owner: Owner, stored: Stored | None) -> None:
        """Somebody else writes a Secret, or deletes it; servers keep what they could read last."""
        self.stored[owner] = stored

    def publish(self, client: str, bundle: bytes) -> None:
        """Somebody else writes a bundle; what comes of that until it is put right is theirs."""
        self.published[client] = bundle
        self.trusted[client].note(self.steady, None)

    def check(self) -> None:
        """Every client verifies every server, whatever either may be using now."""
        for leaf in self.served.usable(self.steady, PICK_UP):
            for client, history in self.trusted.items():
                for bundle in history.usable(self.steady, NOTICE):
                    assert verifies(bundle, leaf), (client, self.steady)

    def check_dates(self) -> None:
        """Whatever may be in use now is valid now; for worlds in which clocks are right."""
        for leaf in self.served.usable(self.steady, PICK_UP):
            assert load(leaf).not_valid_before_utc <= self.now < load(leaf).not_valid_after_utc

    def settled(self) -> bool:
        """Whether there is one authority, wherever it may be written, and a valid server of it."""
        authority, server = self.stored[Owner.AUTHORITY], self.stored[Owner.SERVER]
        assert authority is not None
        assert server is not None
        valid = all(
            load(pair.certificate).not_valid_before_utc
            <= self.now
            < load(pair.certificate).not_valid_after_utc
            for pair in (authority.pair, server.pair)
        )
        told = {bundle for client, bundle in self.published.items() if client not in self.locked}
        bundles = {authority.bundle, server.bundle, *told}
        alone = bundles == {authority.pair.certificate}
        return valid and alone and verifies(authority.bundle, server.pair.certificate)


@cache
def verifies(bundle: bytes, leaf: bytes) -> bool:
    return any(is_signed(load(leaf), by=authority) for authority in certificates_in(bundle))


def bootstrapped(*others: str) -> World:
    """A world after its first look, with clients that the controller may never write."""
    world = World(("mutating", "validating", *others))
    world.locked.update(others)
    world.look()
    return world


def swapped(pair: KeyPair) -> KeyPair:
    """The certificate with somebody else's key."""
    return KeyPair(pair.certificate, FOREIGN.key)
