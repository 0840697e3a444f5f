"""Watch files the way Kubernetes changes them.

A mounted ConfigMap or Secret is a folder of symbolic links through ``..data`` to a folder of one
generation; an update writes a new generation and then swaps ``..data``. File system events for that
differ between volume types and are lost on some, so the content itself is looked at. Two things
matter: files that belong together (a certificate and its key) are read from one generation, and a
file that somebody is still writing is not taken for finished.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

# A read is repeated when the files changed under it. A swap takes microseconds, so that a third
# attempt is rare, and a tenth means that something writes without pause.
_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Contents:
    """The bytes of several files, all of one generation, in the order in which they were named."""

    files: tuple[bytes, ...]

    @property
    def digest(self) -> str:
        """A hash over all files and where each ends."""
        whole = hashlib.sha256()
        for content in self.files:
            whole.update(len(content).to_bytes(8, "big"))
            whole.update(content)
        return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why the files cannot be read, in words that name the file."""

    reason: str


def read_together(paths: tuple[Path, ...]) -> Contents | Unreadable:
    """Read files so that all of them are from the same moment.

    The files' identities (what the links lead to, inode, size, time of change) are compared before
    and after reading; when they differ the read is repeated.
    """
    trouble = f"{_listed(paths)} changed during each of {_ATTEMPTS} attempts to read"
    for _ in range(_ATTEMPTS):
        try:
            before = _identities(paths)
            files = tuple(path.read_bytes() for path in paths)
            after = _identities(paths)
        except OSError as error:
            # The generation may have been removed between two reads: another attempt tells.
            trouble = f"cannot read {error.filename}: {error.strerror}"
            continue
        if before == after:
            return Contents(files)
    return Unreadable(trouble)


class FileWatch:
    """Notices that the content of a set of files has changed and has come to rest.

    New content counts when two looks in a row saw the same. A swap through ``..data`` would not
    need that; an editor, ``cp`` or a rewritten certificate whose key comes a moment later does: the
    first half of a table can be a valid table of half the rows.

    Args:
        paths: The files, which belong together.
        known: What is in use already, as ``read_together`` returned it.
    """

    def __init__(self, paths: tuple[Path, ...], known: Contents | Unreadable) -> None:
        self._paths = paths
        self._known = _fingerprint(known)
        self._seen = self._known

    def look(self) -> Contents | Unreadable | None:
        """Return what is new, once; None while nothing is, or while it is still changing."""
        found = read_together(self._paths)
        fingerprint = _fingerprint(found)
        settled = fingerprint == self._seen
        self._seen = fingerprint
        if not settled or fingerprint == self._known:
            return None
        self._known = fingerprint
        return found


def _fingerprint(found: Contents | Unreadable) -> str:
    return found.digest if isinstance(found, Contents) else found.reason


def _identities(paths: tuple[Path, ...]) -> list[tuple[str, int, int, int, int]]:
    identities = []
    for path in paths:
        status = path.stat()
        identities.append(
            (
                os.path.realpath(path),
                status.st_dev,
                status.st_ino,
                status.st_size,
                status.st_mtime_ns,
            )
        )
    return identities


def _listed(paths: tuple[Path, ...]) -> str:
    return " and ".join(str(path) for path in paths)
