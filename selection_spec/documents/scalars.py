"""What a YAML scalar means to kubectl, and where other readers would disagree.

kubectl reads manifests with a YAML 1.1 reader that has its own ideas (sigs.k8s.io/yaml on
go-yaml v2). ``scalar_value`` and ``key_text`` give the very values which that reader hands to the
API server; ``surprise`` says why a scalar had better be written differently. The rules are a
transcription, checked against the original by a table of tests.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct

Plain = str | int | float | bool | None

_TRUE = ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "off", "Off", "OFF")
_WORDS: dict[str, Plain] = {
    **dict.fromkeys(("true", "True", "TRUE", *_TRUE), True),
    **dict.fromkeys(("false", "False", "FALSE", *_FALSE), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_ODD_BOOLEANS = frozenset(_TRUE + _FALSE)
# Only a scalar that begins with one of these can be anything but a text.
_SUSPECT = frozenset("yYnNtTfFoO~+-.0123456789")

_DIGITS = re.compile(
    r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|(?:0[oO]|0)([0-7]+)|(0|[1-9][0-9]{0,19}))"
)
_SIGNED_BINARY = re.compile(r"0b([+-][01]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_DOT_FLOAT = re.compile(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?)?"
)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_EVERYBODYS_NUMBER = re.compile(
    r"[-+]?(?:0|[1-9][0-9]*)?(?:(?<=[0-9])|(?=\.[0-9]))(?:\.[0-9]*(?:[eE][-+][0-9]+)?)?"
)
_HEXADECIMAL = re.compile(r"[-+]?0[xX][0-9a-fA-F_]+")

_INT64 = 1 << 63
_UINT64 = 1 << 64
_TAGS = "tag:yaml.org,2002:"
_RESOLVED_TAGS = frozenset(_TAGS + kind for kind in ("bool", "int", "float", "null", "timestamp"))


class ScalarError(ValueError):
    """A scalar that kubectl refuses, in words that follow the scalar's name."""


def scalar_value(text: str, *, plain: bool, tag: str = "") -> Plain:
    """Return the value that the API server would see for a scalar.

    Args:
        text: The scalar's characters, quotes and escapes resolved.
        plain: Whether it was written without quotes and not as a block.
        tag: The explicit tag in its long form, "" without one.

    Raises:
        ScalarError: The tag cannot be applied, or the value is no JSON (``.inf``).
    """
    value = _resolve(text, plain=plain, tag=tag)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ScalarError("is no number that JSON can hold")
        return wire_number(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -_INT64 <= value < _INT64 else float(value)
    return value


def key_text(text: str, *, plain: bool, tag: str = "") -> str | None:
    """Return the text that a key becomes in JSON, or None where kubectl refuses the key."""
    try:
        value = _resolve(text, plain=plain, tag=tag)
    except ScalarError:
        return None
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if -_INT64 <= value < _INT64 else None
        case float():
            return _float_key(value)
        case _:
            return value


def is_text(text: str) -> bool:
    """Tell whether a plain scalar is a text to kubectl: no number, boolean or null."""
    return isinstance(_plain_value(text), str)


def wire_number(value: float) -> int | float:
    """Return a float as it comes out of JSON at the API server: whole numbers are integers.

    On its way it is written with the fewest digits that tell it from its neighbours, and zeros
    after them.
    """
    if not value.is_integer() or not -_INT64 <= value < _INT64:
        return value
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return int(value)
    digits, _, fraction = mantissa.partition(".")
    whole = int(digits + fraction) * 10 ** (int(exponent) - len(fraction))
    return whole if -_INT64 <= whole < _INT64 else value


def surprise(text: str) -> tuple[str, str] | None:
    """Say why a plain scalar is not safe to write: (what is wrong, what to do instead).

    None for all that YAML 1.1, YAML 1.2 and kubectl read alike.
    """
    if not text or text[0] not in _SUSPECT:
        return None
    if text in _WORDS:
        return _odd_word(text)
    if _TIMESTAMP.fullmatch(text):
        return f"{shown(text)} is a date to some YAML readers and text to others", _quoted(text)
    if _BASE_60.fullmatch(text):
        message = f"{shown(text)} is a base 60 number to some YAML readers and text to others"
        return message, _quoted(text)
    return _odd_number(text)


def _odd_word(text: str) -> tuple[str, str] | None:
    value = _WORDS[text]
    if isinstance(value, float):
        return f"{text} is no number that JSON can hold", _quoted(text)
    if text not in _ODD_BOOLEANS:
        return None
    word = "true" if value else "false"
    return f"{text} is read as {word}", f"{_quoted(text)}, or {word}"


def _odd_number(text: str) -> tuple[str, str] | None:
    number = _number(text)
    if number is None:
        huge = _FLOAT.fullmatch(text) or _HEXADECIMAL.fullmatch(text)
        return (f"{shown(text)} is too large for a number", _quoted(text)) if huge else None
    if _EVERYBODYS_NUMBER.fullmatch(text):
        exact = "." in text or (isinstance(number, int) and -_INT64 <= number < _INT64)
        rounded = f"{shown(text)} does not fit 64 bits and is rounded"
        return None if exact else (rounded, _quoted(text))
    plain = wire_number(number) if isinstance(number, float) else number
    instead = f"{_quoted(text)}, or {plain}"
    if re.search("[eE]", text) and not _HEXADECIMAL.fullmatch(text):
        return f"{shown(text)} is a number to some YAML readers and text to others", instead
    return f"{shown(text)} is read as {plain}", instead


def _quoted(text: str) -> str:
    return f'write "{shown(text)}" in quotes'


def shown(text: str) -> str:
    """Return a text fit for a message: one line, at most 60 characters."""
    line = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    return line if len(line) <= 60 else line[:57] + "..."  # noqa: PLR2004


def _resolve(text: str, *, plain: bool, tag: str) -> Plain:
    """Return go-yaml's own value; floats may be infinite, integers have up to 64 bits."""
    if not tag:
        return _plain_value(text) if plain else text
    if tag == f"{_TAGS}binary":
        return _binary(text)
    if tag not in _RESOLVED_TAGS:
        return text
    value = _plain_value(text)
    kind = tag.removeprefix(_TAGS)
    if kind == "timestamp" and _TIMESTAMP.fullmatch(text):
        return text
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind != _kind(value):
        raise ScalarError(f"cannot be read as !!{kind}")
    return value


def _kind(value: Plain) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case _:
            return "str"


def _plain_value(text: str) -> Plain:
    if text and text[0] not in _SUSPECT:
        return text
    if text in _WORDS:
        return _WORDS[text]
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | float | None:
    """Return the number that go-yaml sees in a plain scalar, None where it sees text."""
    if text.startswith("."):
        return _finite(text) if _DOT_FLOAT.fullmatch(text) else None
    if text[0] not in "+-0123456789":
        return None
    digits = text.replace("_", "")
    whole = _whole(digits)
    if whole is not None:
        return whole
    return _finite(digits) if _FLOAT.fullmatch(digits) else None


def _whole(digits: str) -> int | None:
    match = _DIGITS.fullmatch(digits)
    if match is None:
        signed = _SIGNED_BINARY.fullmatch(digits)
        value = int(signed[1], 2) if signed else None
        return value if value is None or -_INT64 <= value < _INT64 else None
    sign, *groups = match.groups()
    (value,) = (int(g, base) for g, base in zip(groups, (16, 2, 8, 10), strict=True) if g)
    value = -value if sign == "-" else value
    # Above the signed range only a number without a sign is still an integer.
    return value if -_INT64 <= value < (_INT64 if sign else _UINT64) else None


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _binary(text: str) -> str:
    try:
        data = base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        raise ScalarError("is no base64 and cannot be read as !!binary") from None
    return data.decode("utf-8", "replace")


def _float_key(value: float) -> str:
    """Return a float as go-yaml prints it in 32 bits: the shortest digits that read back."""
    if math.isnan(value):
        return ".nan"
    try:
        narrow = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        narrow = math.copysign(math.inf, value)
    if math.isinf(narrow):
        return ".inf" if narrow > 0 else "-.inf"
    digits = next(
        text
        for text in (f"{narrow:.{precision}e}" for precision in range(9))
        if struct.pack("f", float(text)) == struct.pack("f", narrow)
    )
    mantissa, _, exponent = digits.partition("e")
    if not -5 < int(exponent) < 6:  # noqa: PLR2004
        return digits
    decimals = len(mantissa.lstrip("-").replace(".", "")) - 1 - int(exponent)
    return f"{narrow:.{max(decimals, 0)}f}"
