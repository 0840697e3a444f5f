"""A folder with a certificate authority and a server certificate that the service keeps fresh.

For trying the service out, for tests, and for clusters without anything that issues certificates:
``ca.crt`` is what clients trust (and what ``caBundle`` takes), ``tls.crt`` and ``tls.key`` are what
the service serves with. ``ca.key`` stays there too, so that the authority, and with it what clients
were told to trust, survives a restart.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from certs.authority import KeyPair, create_authority, issue
from certs.policy import authority_due, server_due, trust_bundle
from webhook.settings import Lifetimes

_PUBLIC = 0o644
_PRIVATE = 0o600


class SelfSigned:
    """Issues into a folder what is missing or due there.

    Args:
        folder: Where the files are; made, for the owner alone, when it is not there.
        names: DNS names and addresses that the server certificate carries.
        clock: The present.
        say: Told in words what was renewed, and why.
        lifetimes: How long certificates are valid.
    """

    def __init__(
        self,
        folder: Path,
        names: tuple[str, ...],
        *,
        clock: Callable[[], datetime],
        say: Callable[[str], None],
        lifetimes: Lifetimes,
    ) -> None:
        self._folder = folder
        self._names = names
        self._clock = clock
        self._say = say
        self._lifetimes = lifetimes

    @property
    def certificate_file(self) -> Path:
        """The server certificate."""
        return self._folder / "tls.crt"

    @property
    def key_file(self) -> Path:
        """The server's private key, readable by the owner alone."""
        return self._folder / "tls.key"

    def ensure(self) -> None:
        """Replace what is missing, damaged, expired, or has two thirds of its life behind it.

        When only the authority is due, the server certificate stays, and the former authority
        stays in ``ca.crt``: clients that hold either are served until the server certificate's own
        renewal, which gives them at least a third of its life to read the new ``ca.crt``.

        Raises:
            OSError: The folder cannot be read or written.
            ValueError: One of the names is neither a DNS name nor an address.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        now = self._clock()
        bundle = self._authorities(now)
        server = self._read(self.certificate_file, self.key_file)
        due, reason = server_due(server, bundle, self._names, now=now)
        if due:
            authority = KeyPair(certificate=bundle, key=self._path("ca.key").read_bytes())
            server = issue(authority, self._names, now=now, lifetime=self._lifetimes.server)
            self._write(self.key_file, server.key, _PRIVATE)
            self._write(self.certificate_file, server.certificate, _PUBLIC)
            self._say(f"issued a server certificate: {reason}")

    def _authorities(self, now: datetime) -> bytes:
        """Return the PEM of the authorities to trust, the one that signs first."""
        certificate_file, key_file = self._path("ca.crt"), self._path("ca.key")
        authority = self._read(certificate_file, key_file)
        due, reason = authority_due(authority, now=now)
        if authority is not None and not due:
            return authority.certificate
        fresh = create_authority("gpuspec authority", now=now, lifetime=self._lifetimes.authority)
        # Without its key the former authority issues nothing more, but what it issued still serves.
        previous = certificate_file.read_bytes() if certificate_file.exists() else b""
        bundle = trust_bundle(fresh.certificate, previous, now=now)
        self._write(key_file, fresh.key, _PRIVATE)
        self._write(certificate_file, bundle, _PUBLIC)
        self._say(f"created a certificate authority: {reason}")
        return bundle

    def _path(self, name: str) -> Path:
        return self._folder / name

    def _read(self, certificate: Path, key: Path) -> KeyPair | None:
        try:
            return KeyPair(certificate=certificate.read_bytes(), key=key.read_bytes())
        except FileNotFoundError:
            return None

    def _write(self, path: Path, content: bytes, mode: int) -> None:
        # Written apart and renamed, so that nobody ever reads half a file, and created with its
        # final mode, so that a key is at no moment readable by others.
        draft = path.with_name(f".{path.name}.new")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        draft.replace(path)
