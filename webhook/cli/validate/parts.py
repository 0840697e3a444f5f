"""A large file is judged in parts with whole documents, so that memory stays bounded."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from webhook.cli.inputs import UnreadableError
from webhook.cli.validate.files import STDIN

# Whole documents are put together until they are so many bytes.
_PART_BYTES = 256 * 1024

# Of these no part can be cut off: the text is not UTF-8.
_OTHER_TEXTS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Part:
    """Whole documents of a file, and how many lines and characters of it come before them."""

    raw: bytes
    lines: int = 0
    characters: int = 0


def parts(file: str) -> Iterator[Part]:
    """Yield a file in parts; kubectl begins a document at a line that begins with ``---``.

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
        raise UnreadableError(f"{file}: {error.strerror or error}") from None


def _parts(stream: BinaryIO) -> Iterator[Part]:
    head = stream.readline()
    if head.startswith(_OTHER_TEXTS) or head.lstrip().startswith((b"{", b"[")):
        yield Part(head + stream.read())
        return
    held, size, lines, characters = [head], len(head), 0, 0
    for line in stream:
        if size >= _PART_BYTES and line.startswith(b"---"):
            raw = b"".join(held)
            yield Part(raw, lines, characters)
            lines += len(held)
            characters += len(raw.decode("utf-8", "replace"))
            held, size = [], 0
        held.append(line)
        size += len(line)
    yield Part(b"".join(held), lines, characters)
