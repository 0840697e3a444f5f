"""A large file is judged in parts with whole documents, so that memory stays bounded."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from selection_spec.documents import MAX_MANIFEST_BYTES
from webhook.cli.inputs import STDIN, UnreadableError, called

# Whole documents are put together until they are so many bytes.
_PART_BYTES = 256 * 1024
_READ_BYTES = 1024 * 1024

# Of these no part can be cut off: the text is not UTF-8.
_OTHER_TEXTS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# kubectl begins a document at a line that begins so.
_SEPARATOR = b"\n---"


@dataclass(frozen=True, slots=True)
class Part:
    """Whole documents of a file, and how many lines and characters of it come before them.

    A byte order mark is no character.
    """

    raw: bytes
    lines: int = 0
    characters: int = 0

    def behind(self, raw: bytes) -> Part:
        """Return what comes after it."""
        text = self.raw.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
        return Part(raw, self.lines + self.raw.count(b"\n"), self.characters + len(text))


def parts(file: str) -> Iterator[Part]:
    """Yield a file in parts; what comes after a document that is too large is left out.

    Raises:
        UnreadableError: It cannot be opened or read.
    """
    try:
        if file == STDIN:
            yield from _parts(sys.stdin.buffer)
        else:
            with Path(file).open("rb") as stream:
                yield from _parts(stream)
    except OSError as error:
        raise UnreadableError(f"{called(file)}: {error.strerror or error}") from None


def _parts(stream: BinaryIO) -> Iterator[Part]:
    held = stream.read(_READ_BYTES)
    if not _can_be_cut(held):
        # A byte more than is read tells that there is more.
        yield Part(held + stream.read(MAX_MANIFEST_BYTES + 1 - len(held)))
        return
    before, searched = Part(b""), _PART_BYTES
    while len(held) <= MAX_MANIFEST_BYTES:
        cut = held.find(_SEPARATOR, searched)
        if cut >= 0:
            before = before.behind(held[: cut + 1])
            yield before
            held, searched = held[cut + 1 :], _PART_BYTES
            continue
        searched = max(_PART_BYTES, len(held) - len(_SEPARATOR))
        more = stream.read(_READ_BYTES)
        if not more:
            break
        held += more
    yield before.behind(held[: MAX_MANIFEST_BYTES + 1])


def _can_be_cut(head: bytes) -> bool:
    """Tell whether documents begin at lines: not those of JSON, nor in another encoding."""
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    return not head.startswith(_OTHER_TEXTS) and not text.startswith((b"{", b"["))
