"""What to write next so that an authority and its server certificate are replaced unnoticed.

Three parties move at different speeds: clients read the bundle of authorities that they trust,
servers pick a new certificate up some minutes after it was stored, and a controller may end at any
moment. So nothing is remembered but what is stored, and two waits lie between the steps. A new
authority is published beside the former ones, and has to be seen everywhere for ``settle`` before a
certificate of it is stored; that certificate has to be seen stored for ``overlap`` before the
former authorities leave the bundle. Adding trust needs no proof, taking it away does.

The waits are counted on a clock that nobody can set, by whoever waits: after a restart they begin
anew, which delays a rotation and harms nothing. The calendar only says when certificates are due,
and it, too, has to say so for ``settle``: a clock that is wrong for less changes nothing.

What may not be written delays nothing for ever. A client that cannot be told of an authority is not
waited for while others can, an authority that cannot be replaced goes on signing while it is valid,
and either is tried again with every plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from certs.authority import KeyPair, create_authority, issue
from certs.plans import Owner, Plan, Publish, Rules, Seen, Since, Store, Stored
from certs.policy import Renewal, authority_due, certificates_in, is_signed, server_due

COMMON_NAME = "gpuspec authority"

# When something else keeps replacing the authority, the bundle must not grow for ever.
_MOST_AUTHORITIES = 8

_LACKS_OURS = "it lacks our authority"


def plan(seen: Seen, rules: Rules, since: Since, *, now: datetime, steady: float) -> Plan:
    """Decide what to write now.

    Args:
        seen: All that is there, just read.
        rules: How certificates are made and replaced.
        since: What the former call returned, empty at first.
        now: The present by the clock of those who verify, with a time zone.
        steady: Seconds on a clock that cannot be set.
    """
    return _Planner(seen, rules, since, now, steady).plan()


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why a pair has to be replaced; of one that is stored and not alarming, only its dates."""

    why: str
    alarming: bool = False


@dataclass(slots=True)
class _Planner:
    """One look; collects what it finds on the way."""

    seen: Seen
    rules: Rules
    former: Since
    now: datetime
    steady: float
    since: dict[tuple[str, str], float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def plan(self) -> Plan:
        renewal = self._authority_fault()
        successor = self._authority(renewal)
        kept = self._kept_authority(renewal)
        authority = kept or successor
        others = self._others(authority)
        fault = self._server_fault(authority, others)
        settled = self._settled(authority)
        if fault is None and self._taken_up():
            others = []
        bundle = b"".join(_pem(one) for one in (_leaf(authority), *others))
        server, replacement = self._server(authority, others, fault, settled=settled)
        steps: list[Store | Publish] = [
            *self._publish(bundle, renewal),
            *self._store(Owner.SERVER, self.seen.server, server, bundle, replacement),
        ]
        beside = bundle if authority is successor else _pem(_leaf(successor)) + bundle
        first = self._store(Owner.AUTHORITY, self.seen.authority, successor, beside, renewal)
        steps = [*first, *steps] if kept is None else [*steps, *first]
        pairs = {Owner.AUTHORITY: authority, Owner.SERVER: server}
        return Plan(
            tuple(steps),
            tuple(self.problems),
            self.since,
            {owner: _leaf(pair).not_valid_after_utc for owner, pair in pairs.items() if pair},
        )

    def _authority_fault(self) -> _Fault | None:
        return self._fault(
            Owner.AUTHORITY, self.seen.authority, lambda pair, now: authority_due(pair, now=now)
        )

    def _authority(self, renewal: _Fault | None) -> KeyPair:
        """Return the authority that should sign from now on."""
        if renewal is None and self.seen.authority is not None:
            return self.seen.authority.pair
        return create_authority(COMMON_NAME, now=self.now, lifetime=self.rules.authority_lifetime)

    def _kept_authority(self, renewal: _Fault | None) -> KeyPair | None:
        """Return the authority that has to do because no other may be stored, if it is sound."""
        stored = self.seen.authority
        if stored is None or Owner.AUTHORITY not in self.seen.unwritable:
            return None
        return None if renewal is not None and renewal.alarming else stored.pair

    def _server_fault(self, authority: KeyPair, others: list[x509.Certificate]) -> _Fault | None:
        trusted = b"".join([authority.certificate, *(_pem(one) for one in others)])
        fault = self._fault(
            Owner.SERVER,
            self.seen.server,
            lambda pair, now: server_due(pair, trusted, self.rules.names, now=now),
        )
        if fault is not None or self.seen.server is None:
            return fault
        if not is_signed(_leaf(self.seen.server.pair), by=_leaf(authority)):
            return _Fault("the server certificate is of a former authority")
        return None

    def _fault(
        self,
        owner: Owner,
        stored: Stored | None,
        due: Callable[[KeyPair | None, datetime], Renewal],
    ) -> _Fault | None:
        """Tell why a pair has to be replaced; what only the calendar says has to stay so."""
        if stored is None:
            if any(self.seen.published.values()):
                return _Fault(f"there is no {owner} certificate any more", alarming=True)
            return _Fault(due(None, self.now).reason)
        if not stored.intact:
            why = f"the {owner} certificate is not as it was written here: somebody changed it"
            return _Fault(why, alarming=True)
        leaf = _leaf_or_none(stored.pair)
        damage = due(stored.pair, self.now if leaf is None else leaf.not_valid_before_utc)
        if leaf is None or damage.due:
            return _Fault(damage.reason, alarming=True)
        why = due(stored.pair, self.now).reason
        if self.now < leaf.not_valid_before_utc:
            start = leaf.not_valid_before_utc.isoformat()
            why = f"the {owner} certificate is not valid before {start}: a clock is or was wrong"
        if not why:
            return None
        if self._held("due", leaf) >= self.rules.settle:
            return _Fault(why)
        self.problems.append(f"{why}; it is replaced if that stays so")
        return None

    def _others(self, authority: KeyPair) -> list[x509.Certificate]:
        """Return every other authority that anything there is trusted by.

        Where there are too many, those beside the server's certificate come first: its own is.
        """
        stored = [one for one in (self.seen.server, self.seen.authority) if one and one.intact]
        bundles = [one.bundle for one in stored]
        bundles += [bundle for _, bundle in sorted(self._clients().items())]
        found = dict.fromkeys(one for bundle in bundles for one in certificates_in(bundle))
        found.pop(_leaf(authority), None)
        return list(found)[: _MOST_AUTHORITIES - 1]

    def _settled(self, authority: KeyPair) -> bool:
        """Tell whether every client certainly trusts this authority.

        One that is waited for only from now on has the whole of the wait to notice.
        """
        leaf, clients = _leaf(authority), self._clients()
        known = all(leaf in certificates_in(bundle) for bundle in clients.values())
        what = f"published to {sorted(clients)}"
        return known and self._held(what, leaf) >= self.rules.settle

    def _clients(self) -> Mapping[str, bytes]:
        """Return the bundles of those that are waited for.

        Where none may be written, nobody would believe a new authority, so all of them are.
        """
        seen = self.seen
        return {
            client: bundle
            for client, bundle in seen.published.items()
            if client not in seen.unwritable
        } or seen.published

    def _taken_up(self) -> bool:
        """Tell whether every server certainly has the certificate that is stored, a sound one."""
        if self.seen.server is None:
            return False
        return self._held("stored", _leaf(self.seen.server.pair)) >= self.rules.overlap

    def _server(
        self,
        authority: KeyPair,
        others: list[x509.Certificate],
        fault: _Fault | None,
        *,
        settled: bool,
    ) -> tuple[KeyPair | None, _Fault | None]:
        """Return the pair to store, None while nothing may be stored, and why it is a new one."""
        if fault is None:
            return None if self.seen.server is None else self.seen.server.pair, None
        # Where no other authority is trusted, nobody is served with a certificate of one.
        if others and not settled:
            self.problems.append(f"{fault.why}; a new one waits until its authority is trusted")
            return None, None
        if _leaf(authority).not_valid_after_utc <= self.now:
            self.problems.append(f"{fault.why}; a new one waits for a new authority")
            return None, None
        rules = self.rules
        made = issue(authority, rules.names, now=self.now, lifetime=rules.server_lifetime)
        return made, fault

    def _store(
        self,
        owner: Owner,
        stored: Stored | None,
        pair: KeyPair | None,
        bundle: bytes,
        fault: _Fault | None,
    ) -> Iterable[Store]:
        if pair is None:
            return
        if fault is not None:
            yield Store(owner, pair, bundle, fault.why, alarming=fault.alarming)
        elif stored is not None and stored.bundle != bundle:
            yield Store(owner, pair, bundle, _difference(stored.bundle, bundle), alarming=False)

    def _publish(self, bundle: bytes, renewal: _Fault | None) -> Iterable[Publish]:
        for client, present in sorted(self.seen.published.items()):
            if present == bundle:
                continue
            why = _difference(present, bundle)
            foreign = why == _LACKS_OURS and bool(present) and renewal is None
            yield Publish(client, bundle, why, alarming=foreign)

    def _held(self, what: str, certificate: x509.Certificate) -> timedelta:
        """Note that something is so, and tell for how long it has been."""
        fact = (what, certificate.fingerprint(hashes.SHA256()).hex())
        self.since[fact] = self.former.get(fact, self.steady)
        return timedelta(seconds=self.steady - self.since[fact])


def _leaf(pair: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def _leaf_or_none(pair: KeyPair) -> x509.Certificate | None:
    try:
        return _leaf(pair)
    except ValueError:
        return None


def _difference(present: bytes, bundle: bytes) -> str:
    """Say how a bundle differs from what it should be, our authority first."""
    has, wanted = certificates_in(present), certificates_in(bundle)
    if wanted[0] not in has:
        return _LACKS_OURS
    if any(one not in has for one in wanted):
        return "it lacks a former authority that is still in use"
    return "it trusts more than is in use"


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
