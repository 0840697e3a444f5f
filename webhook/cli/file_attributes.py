"""What the file system keeps of a file beside its bytes and its mode, where it keeps such."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

# Access control lists, of POSIX and of NFS; not those that new files of a folder get.
_ACCESS: Final = ("system.posix_acl_access", "system.nfs4_acl")
# They vouch for the bytes that were in the file: other bytes must not have them.
_OF_THE_BYTES: Final = ("security.capability", "security.evm", "security.ima")
_ABSENT: Final = (errno.ENODATA, errno.ENOTSUP, errno.EOPNOTSUPP)


def copy_attributes(old: Path, new: Path) -> None:
    """Give a new file, which nobody else can open yet, the extended attributes of an old one.

    The access control list comes last, and is the old one from the first moment on. One that the
    new file has from its folder goes, if the old file has none. Other attributes are copied as far
    as this user may set them.

    Raises:
        OSError: The old file has an access control list that the new one cannot get; ``strerror``
            says what to do.
    """
    if not hasattr(os, "listxattr"):
        # Python knows of extended attributes on Linux alone.
        return
    wanted, there = _attributes(old), _attributes(new)
    for name, value in wanted.items():
        if name not in _ACCESS and name not in _OF_THE_BYTES and there.get(name) != value:
            with suppress(OSError):
                os.setxattr(new, name, value)
    for name in _ACCESS:
        try:
            _copy_access(old, new, wanted.get(name), name)
        except OSError as error:
            why = (
                "has an access control list that the file in its place cannot have "
                f"({error.strerror}): edit it by hand, let its owner do this, or take the list "
                "away first (setfacl -b)"
            )
            raise PermissionError(errno.EPERM, why) from None


def _copy_access(old: Path, new: Path, value: bytes | None, name: str) -> None:
    """Give a new file the access control list of the old one, or take away its own."""
    if value is None:
        _remove(new, name)
    elif _has_changed_hands(old, new):
        raise PermissionError(errno.EPERM, "its owner or group would be another one")
    else:
        os.setxattr(new, name, value)


def _has_changed_hands(old: Path, new: Path) -> bool:
    """Tell whether a list would speak of another owner or another group."""
    before, after = old.stat(), new.stat()
    return (before.st_uid, before.st_gid) != (after.st_uid, after.st_gid)


def _attributes(file: Path) -> dict[str, bytes]:
    """Return what can be read of a file's attributes.

    Raises:
        OSError: Its access control list cannot be read.
    """
    found: dict[str, bytes] = {}
    for name in _names(file):
        try:
            found[name] = os.getxattr(file, name)
        except OSError:
            if name in _ACCESS:
                raise
    return found


def _names(file: Path) -> list[str]:
    try:
        return os.listxattr(file)
    except OSError as error:
        if error.errno in _ABSENT:
            return []
        raise


def _remove(file: Path, name: str) -> None:
    try:
        os.removexattr(file, name)
    except OSError as error:
        if error.errno not in _ABSENT:
            raise
