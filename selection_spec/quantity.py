"""Kubernetes quantities, exactly (semantics A1).

Grammar, as ``k8s.io/apimachinery/pkg/api/resource`` reads it (more generous than its documentation:
``.``, ``1.`` and ``k`` are quantities there, so they are here; ``Ei`` and ``e-30`` are not)::

    quantity = [sign] digits* ["." digits*] suffix
    suffix   = "" | "n" | "u" | "m" | "k" | "M" | "G" | "T" | "P" | "E"
             | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei" | ("e" | "E") [sign] digits+

A quantity is held as ``mantissa × 10^exponent`` with integers only, so that ``1e400`` is a value
like any other and never a number of 400 digits in memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from selection_spec.errors import Problem, QuantityError

_DECIMAL_EXPONENTS = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_FACTORS = {
    "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
}  # fmt: skip

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?P<suffix>[numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]+)",
    re.ASCII,
)

# A quantity of more digits is no amount of anything: 2^63 has 19, a fraction to the nano 9 more.
# The bound keeps hostile input from costing time; Python itself stops at 4,300 digits.
_MAX_DIGITS = 400

# Kubernetes counts in int64.
_MAX_COUNT = 2**63 - 1
_COUNT_DIGITS = 19

# Exponents are compared, never computed with, so they only need to be finite. Kubernetes refuses
# those that do not fit int64, too, and mistakes those that do not fit int32 for smaller ones.
_HUGE = 10**6
_LONGEST = 10**_MAX_DIGITS

# Kubernetes keeps nothing finer and rounds away from zero.
_NANO = -9

# No digits at all are zero to Kubernetes, except for suffixes that need more than its int64 path.
_LONG_WAY = _BINARY_FACTORS["Pi"]

# What Kubernetes trims: JSON writes all other white space as an escape, which no quantity has.
_SPACES = " \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"

_UNEXPANDED = re.compile(r"\$|\{\{|\}\}|%\(|<[A-Za-z_]")


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact number, ``mantissa × 10^exponent``; the mantissa has no trailing zeros."""

    mantissa: int
    exponent: int = 0

    @property
    def is_zero(self) -> bool:
        """Whether the amount is nothing at all (``0``, ``0m``, ``-0``)."""
        return self.mantissa == 0

    @property
    def is_whole(self) -> bool:
        """Whether the amount is an integer."""
        return self.exponent >= 0

    def count(self) -> int:
        """Return the amount as a number of devices (semantics A2).

        Raises:
            QuantityError: It is no integer, below one, or more than Kubernetes can count.
        """
        if self.mantissa < 0:
            raise QuantityError(Problem("is negative", hint="ask for 1 or more", rule="A2"))
        if not self.is_whole:
            raise QuantityError(
                Problem("is not a whole number", hint="devices come whole: 1 or more", rule="A2")
            )
        if self.is_zero:
            raise QuantityError(Problem("is zero", hint="ask for 1 or more", rule="A2"))
        # A larger power is above 2^63 by itself and is never built.
        number: int = self.mantissa * 10 ** min(self.exponent, _COUNT_DIGITS)
        if number > _MAX_COUNT:
            raise QuantityError(
                Problem("is more than Kubernetes can count", hint="ask for fewer", rule="A2")
            )
        return number


def _normalised(mantissa: int, exponent: int) -> Quantity:
    """Round up to the nano; move trailing zeros into the exponent, so that equals are equal."""
    if mantissa == 0:
        return Quantity(0)
    if exponent < _NANO:
        # Beyond the longest number all that is left is the last nano.
        divisor = 10 ** min(_NANO - exponent, 2 * _MAX_DIGITS)
        mantissa = (abs(mantissa) + divisor - 1) // divisor * (1 if mantissa > 0 else -1)
        exponent = _NANO
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    return Quantity(mantissa, exponent)


def parse_quantity(value: object) -> Quantity:
    """Read a quantity as it stands in JSON or YAML: a string, a number or null (semantics A1).

    Null is zero (A3). ``true`` is not 1 (A2).

    Raises:
        QuantityError: The value is no quantity; the message names it and says why.
    """
    if value is None:
        return Quantity(0)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _no_quantity(value)
    if isinstance(value, int):
        # Only as many digits as a quantity may have are ever turned into text.
        if abs(value) >= _LONGEST:
            raise _too_long()
        return _normalised(value, 0)
    return _parse_text(value.strip(_SPACES) if isinstance(value, str) else repr(value))


def _parse_text(text: str) -> Quantity:
    match = _QUANTITY.fullmatch(text) if text else None
    if match is None:
        raise _no_quantity(text)
    whole = match["whole"].lstrip("0")
    fraction = (match["fraction"] or "").rstrip("0")
    suffix = match["suffix"]
    factor = _BINARY_FACTORS.get(suffix, 1)
    exponent = 0 if suffix in _BINARY_FACTORS else _exponent(suffix)
    if not (match["whole"] or match["fraction"]) and (factor >= _LONG_WAY or exponent < _NANO):
        raise _no_quantity(text)
    if len(whole) + len(fraction) > _MAX_DIGITS:
        raise _too_long()
    mantissa = int(whole + fraction or "0") * factor
    return _normalised(-mantissa if match["sign"] == "-" else mantissa, exponent - len(fraction))


def _exponent(suffix: str) -> int:
    """Return the power of ten that a decimal suffix stands for, bounded to stay a small number."""
    if suffix in _DECIMAL_EXPONENTS:
        return _DECIMAL_EXPONENTS[suffix]
    digits = suffix[1:].lstrip("+-").lstrip("0") or "0"
    if len(digits) > _COUNT_DIGITS or int(digits) > _MAX_COUNT:
        raise _no_quantity(suffix)
    power = min(int(digits), _HUGE)
    return -power if suffix[1] == "-" else power


def _too_long() -> QuantityError:
    return QuantityError(
        Problem(f"has more than {_MAX_DIGITS} digits", hint="write 1 or more", rule="A1")
    )


def _no_quantity(value: object) -> QuantityError:
    if isinstance(value, str) and _UNEXPANDED.search(value):
        return QuantityError(
            Problem(
                "looks like a variable that nothing has filled in",
                hint="render the template before it is applied",
                rule="A2",
            )
        )
    return QuantityError(
        Problem("is not a Kubernetes quantity", hint="write a whole number such as 1", rule="A1")
    )
