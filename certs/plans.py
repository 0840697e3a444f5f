"""The values between a controller and ``rotation``: what is there, what holds, what to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from certs.authority import KeyPair


class Owner(StrEnum):
    """Whose pair it is."""

    AUTHORITY = "authority"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Rules:
    """How certificates are made and replaced.

    Attributes:
        names: DNS names and addresses that the server certificate carries.
        authority_lifetime: Of new authorities; replaced when two thirds of it are over.
        server_lifetime: Of new server certificates, the same; less than a third of the former, so
            that it is never cut short.
        settle: How long until every client certainly uses a bundle that was published.
        overlap: How long until every server certainly uses a certificate that was stored.
    """

    names: tuple[str, ...]
    authority_lifetime: timedelta = timedelta(days=730)
    server_lifetime: timedelta = timedelta(days=90)
    settle: timedelta = timedelta(minutes=1)
    overlap: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Stored:
    """A pair as it is stored.

    Attributes:
        pair: Certificate and key, PEM, or whatever stands in their place.
        bundle: The authorities stored beside them, PEM.
        intact: Whether all of it is as it was written last.
    """

    pair: KeyPair
    bundle: bytes
    intact: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """All that is there.

    Attributes:
        authority: Its pair, None where it is missing.
        server: The same of the server.
        published: The bundle of each client.
        unwritable: The places of steps that were planned before and may not be written.
    """

    authority: Stored | None
    server: Stored | None
    published: Mapping[str, bytes]
    unwritable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Store:
    """Store a pair and the bundle.

    Attributes:
        owner: Whose pair.
        pair: What to store; the same as before where only the bundle changed.
        bundle: What to store beside it.
        why: The reason in words.
        alarming: Whether somebody else's doing is the reason.
    """

    owner: Owner
    pair: KeyPair
    bundle: bytes
    why: str
    alarming: bool

    @property
    def place(self) -> str:
        """Where it is written."""
        return self.owner


@dataclass(frozen=True, slots=True)
class Publish:
    """Give one client the bundle; the fields are those of ``Store``."""

    client: str
    bundle: bytes
    why: str
    alarming: bool

    @property
    def place(self) -> str:
        """Where it is written."""
        return self.client


Since = Mapping[tuple[str, str], float]
"""Since when, on the steady clock, each thing that is waited for has been seen without a break."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now.

    Attributes:
        steps: What to write, in this order. One that is refused holds up none of the others, but
            an authority that cannot be stored does: nothing may come to depend on it.
        problems: What is not right and is being waited for, in words.
        since: What to hand to the next call of ``plan``.
        not_after: When what will be stored ends.
    """

    steps: tuple[Store | Publish, ...]
    problems: tuple[str, ...]
    since: Since
    not_after: Mapping[Owner, datetime]
