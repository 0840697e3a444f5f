"""The folder of certificates that the service keeps fresh for itself.

For trying the service out, for tests, and for clusters without anything that issues certificates.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from certs.folder import Lifetimes, refresh


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

        Raises:
            OSError: The folder cannot be read or written.
            ValueError: One of the names is neither a DNS name nor an address.
        """
        for renewed in refresh(
            self._folder, self._names, now=self._clock(), lifetimes=self._lifetimes
        ):
            self._say(f"new {renewed.what}: {renewed.reason}")
