"""Bytes become text: byte order marks, UTF-16, and what is neither."""

from __future__ import annotations

import codecs
import re
from itertools import islice

from selection_spec.documents.faults import MAX_LISTED, Fault

# The API server takes no request above 3 MiB (its MaxRequestBodyBytes) and etcd no object above
# 1.5 MiB of JSON; comments and indentation make YAML of that at most twice as long.
MAX_TABLE_BYTES = 3 * 1024 * 1024
# A file of manifests holds many objects. The largest public bundles are a few MiB; ten objects of
# the greatest size that the API server takes fit as well.
MAX_MANIFEST_BYTES = 10 * MAX_TABLE_BYTES

_SURROGATE = re.compile("[\ud800-\udfff]")
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_UTF16_UNIT = 2


def oversize(raw: str | bytes, limit: int) -> Fault | None:
    """Return the fault of a text that has more than ``limit`` bytes (characters of a str)."""
    if len(raw) <= limit:
        return None
    unit = "bytes" if isinstance(raw, bytes) else "characters"
    return Fault(0, f"the text has {len(raw):,} {unit}, and at most {limit:,} are read", "split it")


def decode(raw: str | bytes) -> tuple[str, list[Fault]]:
    """Return the text without its byte order mark, and the places that are no characters.

    Those places hold U+FFFD, as kubectl puts it. UTF-16 is known by its mark, all else is UTF-8.
    At most ``MAX_LISTED`` places are named.
    """
    if isinstance(raw, str):
        return _without_surrogates(raw.removeprefix("\ufeff"))
    utf16 = _UTF16.get(raw[:_UTF16_UNIT])
    if utf16 is None:
        return _utf8(raw.removeprefix(codecs.BOM_UTF8))
    whole = len(raw) // _UTF16_UNIT * _UTF16_UNIT
    text = raw[_UTF16_UNIT:whole].decode(utf16, "surrogatepass")
    return _without_surrogates(text if whole == len(raw) else text + "\ud800")


def _utf8(raw: bytes) -> tuple[str, list[Fault]]:
    view = memoryview(raw)
    parts: list[str] = []
    faults: list[Fault] = []
    length = 0
    while len(faults) < MAX_LISTED:
        try:
            parts.append(codecs.decode(view, "utf-8"))
        except UnicodeDecodeError as error:
            good = codecs.decode(view[: error.start], "utf-8")
            length += len(good) + 1
            faults.append(_no_character(length - 1, f"the byte 0x{view[error.start]:02x}"))
            parts += [good, "\ufffd"]
            view = view[error.end :]
        else:
            return "".join(parts), faults
    parts.append(codecs.decode(view, "utf-8", "replace"))
    return "".join(parts), faults


def _without_surrogates(text: str) -> tuple[str, list[Fault]]:
    places = islice(_SURROGATE.finditer(text), MAX_LISTED)
    faults = [_no_character(match.start(), "half a UTF-16 pair") for match in places]
    return (_SURROGATE.sub("\ufffd", text) if faults else text), faults


def _no_character(at: int, what: str) -> Fault:
    return Fault(at, f"{what} is no character", "write the text as UTF-8")
