"""A folder with a certificate authority and a server certificate, kept fresh (impure: it is files).

``ca.crt`` is what clients trust and what ``caBundle`` takes: the authority, then former ones that
are still valid. ``ca.key`` stays beside it, so that the authority survives whoever made it.
``tls.crt`` and ``tls.key`` are what a server serves with. Keys are for the owner's eyes alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509

from certs.authority import KeyPair, create_authority, issue
from certs.policy import authority_due, server_due, trust_bundle

AUTHORITY = "certificate authority"
SERVER = "server certificate"

_PUBLIC = 0o644
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long from now new certificates are valid; each is due when two thirds are over."""

    authority: timedelta
    server: timedelta


@dataclass(frozen=True, slots=True)
class Renewed:
    """One certificate that was replaced, ``AUTHORITY`` or ``SERVER``, and why."""

    what: str
    reason: str
    not_after: datetime


def refresh(
    folder: Path, names: Sequence[str], *, now: datetime, lifetimes: Lifetimes
) -> list[Renewed]:
    """Replace what is missing, damaged, expired or due in a folder, and nothing else.

    When only the authority is due, the server certificate stays, and the former authority stays in
    ``ca.crt``: clients that hold either are served until the server certificate's own renewal.

    Args:
        folder: Where the files are; made, for the owner alone, when it is not there.
        names: DNS names and addresses that the server certificate carries.
        now: The present, with a time zone.
        lifetimes: How long new certificates are valid.

    Raises:
        ValueError: A name is neither a DNS name nor an address.
        OSError: The folder cannot be read or written.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    done: list[Renewed] = []
    authority = read_pair(folder, "ca")
    renewal = authority_due(authority, now=now)
    if authority is None or renewal.due:
        fresh = create_authority("gpuspec authority", now=now, lifetime=lifetimes.authority)
        # Without its key the former authority issues nothing more, but what it issued still serves.
        former = folder / "ca.crt"
        previous = former.read_bytes() if former.exists() else b""
        authority = KeyPair(trust_bundle(fresh.certificate, previous, now=now), fresh.key)
        _write_pair(folder, "ca", authority)
        done.append(Renewed(AUTHORITY, renewal.reason, not_after(authority)))
    server = read_pair(folder, "tls")
    renewal = server_due(server, authority.certificate, names, now=now)
    if server is None or renewal.due:
        server = issue(authority, names, now=now, lifetime=lifetimes.server)
        _write_pair(folder, "tls", server)
        done.append(Renewed(SERVER, renewal.reason, not_after(server)))
    return done


def read_pair(folder: Path, stem: str) -> KeyPair | None:
    """Return what the folder holds as ``<stem>.crt`` and ``.key``; None when either is missing."""
    try:
        return KeyPair((folder / f"{stem}.crt").read_bytes(), (folder / f"{stem}.key").read_bytes())
    except FileNotFoundError:
        return None


def not_after(pair: KeyPair) -> datetime:
    """Return until when a pair's first certificate is valid."""
    return x509.load_pem_x509_certificate(pair.certificate).not_valid_after_utc


def _write_pair(folder: Path, stem: str, pair: KeyPair) -> None:
    """Write both halves, each whole or not at all.

    A run that ends between the two leaves a key and a certificate that do not belong together,
    which the next run finds and replaces.
    """
    _replace(folder / f"{stem}.key", pair.key, _PRIVATE)
    _replace(folder / f"{stem}.crt", pair.certificate, _PUBLIC)


def _replace(path: Path, content: bytes, mode: int) -> None:
    # Written apart and renamed, so that nobody ever reads half a file, and created with its final
    # mode, so that a key is at no moment readable by others.
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)  # of a run that was ended, perhaps with another mode
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    draft.replace(path)
