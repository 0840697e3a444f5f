"""Bring what is in files to what serves: once at the start, then whenever it has changed.

At the start a problem is returned, since nothing serves yet and somebody is there to read it; later
it is reported by the live value, which keeps what it has.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from selection_spec.errors import GpuspecError
from webhook.serving.files import FileWatch, Unreadable, read_together
from webhook.serving.live_certificate import LiveCertificate, UnusableCertificateError
from webhook.serving.live_table import LiveTable, located


class Feed(Protocol):
    """Something that keeps a live value fresh."""

    def begin(self) -> tuple[str, ...]:
        """Start, and return why nothing can be served, a line each; usually nothing."""

    def look(self) -> None:
        """Do what is due; called again and again, never twice at once."""

    def end(self) -> None:
        """Stop whatever goes on beside ``look``."""


class TableFeed:
    """Feeds a live table from a file."""

    def __init__(self, path: Path, live: LiveTable) -> None:
        self._path = path
        self._live = live
        self._watch: FileWatch | None = None

    def begin(self) -> tuple[str, ...]:
        """Load the table and return what is wrong with it, a line each."""
        found = read_together((self._path,))
        self._watch = FileWatch((self._path,), found)
        if isinstance(found, Unreadable):
            return (found.reason,)
        try:
            self._live.load(found.files[0], str(self._path))
        except GpuspecError as error:
            return located(error, str(self._path))
        return ()

    def look(self) -> None:
        """Offer what is new, if anything is."""
        found = self._watch.look() if self._watch is not None else None
        if isinstance(found, Unreadable):
            self._live.refuse((found.reason,))
        elif found is not None:
            self._live.offer(found.files[0], str(self._path))

    def end(self) -> None:
        """Do nothing: nothing goes on beside ``look``."""


class CertificateFeed:
    """Feeds a live certificate from its two files.

    Args:
        certificate: The certificate's file.
        key: The private key's file.
        live: What serves.
        renew: Called before every look, to write the files anew where that is due.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        live: LiveCertificate,
        *,
        renew: Callable[[], None] = lambda: None,
    ) -> None:
        self._paths = (certificate, key)
        self._live = live
        self._renew = renew
        self._watch: FileWatch | None = None
        self._trouble = ""

    def begin(self) -> tuple[str, ...]:
        """Load the pair and return what is wrong with it."""
        trouble = self._renewed()
        if trouble:
            return (trouble,)
        found = read_together(self._paths)
        self._watch = FileWatch(self._paths, found)
        if isinstance(found, Unreadable):
            return (found.reason,)
        try:
            certificate, key = found.files
            self._live.load(certificate, key, self._source)
        except UnusableCertificateError as error:
            return (f"{self._source}: {error}",)
        return ()

    def look(self) -> None:
        """Renew what is due and offer what is new, if anything is."""
        former, self._trouble = self._trouble, self._renewed()
        if self._trouble and self._trouble != former:
            self._live.refuse((self._trouble,))
        found = self._watch.look() if self._watch is not None else None
        if isinstance(found, Unreadable):
            self._live.refuse((found.reason,))
        elif found is not None:
            certificate, key = found.files
            self._live.offer(certificate, key, self._source)

    def end(self) -> None:
        """Do nothing: nothing goes on beside ``look``."""

    @property
    def _source(self) -> str:
        return f"{self._paths[0]} and {self._paths[1].name}"

    def _renewed(self) -> str:
        try:
            self._renew()
        except OSError as error:
            return f"cannot renew the certificate: {error.filename}: {error.strerror}"
        except ValueError as error:
            return f"cannot issue a certificate: {error}"
        return ""
