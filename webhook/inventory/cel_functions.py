"""What DRA's CEL has beyond CEL's own functions: quantities and semantic versions.

Both are maps of one entry, ``{"quantity": "25769803776"}``, so that neither compares with a number
or with the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Context, Decimal
from functools import partial
from typing import Any

from selection_spec.errors import QuantityError
from selection_spec.quantity import parse_quantity
from webhook.inventory.slice_facts import QUANTITY, VERSION

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?",
    re.ASCII,
)
# Sums of quantities are exact to far more digits than any of them has.
_EXACT = Context(prec=1000)

_Wrapped = dict[str, str]


def quantity(text: object) -> _Wrapped:
    """Return a quantity as CEL has it.

    Raises:
        ValueError: It is none.
    """
    try:
        found = parse_quantity(text)
    except QuantityError:
        raise ValueError(f"{text!r} is no quantity") from None
    return {QUANTITY: str(Decimal(found.mantissa).scaleb(found.exponent, _EXACT))}


def _version(text: str) -> _Wrapped:
    if not _SEMVER.fullmatch(text):
        raise ValueError(f"{text!r} is no semantic version")
    return {VERSION: text}


def _is(read: Callable[[str], _Wrapped], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _compared(one: _Wrapped, other: _Wrapped) -> int:
    """Return -1, 0 or 1; quantities and versions do not compare with each other."""
    if QUANTITY in one:
        left, right = _number(one), _number(other)
        return (left > right) - (left < right)
    before, after = _precedence(one), _precedence(other)
    return (before > after) - (before < after)


def _number(amount: _Wrapped) -> Decimal:
    if QUANTITY not in amount:
        raise ValueError("a version is no quantity")
    return Decimal(amount[QUANTITY])


def _precedence(version: _Wrapped) -> tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]:
    """Return what orders semantic versions: a pre-release is before its release."""
    found = _SEMVER.fullmatch(version.get(VERSION, ""))
    if found is None:
        raise ValueError("a quantity is no version")
    major, minor, patch = map(int, found.groups()[:3])
    before = tuple(
        (False, int(part), "") if part.isdecimal() else (True, 0, part)
        for part in (found[4] or "").split(".")
        if part
    )
    return major, minor, patch, not before, before


def _part(place: int, version: _Wrapped) -> int:
    return _precedence(version)[:3][place]


def _sum(sign: int, one: _Wrapped, other: _Wrapped) -> _Wrapped:
    total = _EXACT.add(_number(one), sign * _number(other))
    return {QUANTITY: str(total.normalize(_EXACT))}


def functions(cel: Any) -> list[Any]:  # noqa: ANN401 -- the library has no types of its own
    """Declare what DRA's environment has beyond CEL's own functions: member, name, types, what."""
    text, number, truth, real = (
        *(cel.Type.STRING, cel.Type.INT),
        *(cel.Type.BOOL, cel.Type.DOUBLE),
    )
    wrapped = cel.Type.Map(text, text)
    known: list[tuple[bool, str, list[Any], Any, Callable[..., Any]]] = [
        (False, "quantity", [text], wrapped, quantity),
        (False, "isQuantity", [text], truth, partial(_is, quantity)),
        (False, "semver", [text], wrapped, _version),
        (False, "isSemver", [text], truth, partial(_is, _version)),
        (True, "compareTo", [wrapped, wrapped], number, _compared),
        (True, "isGreaterThan", [wrapped, wrapped], truth, lambda a, b: _compared(a, b) > 0),
        (True, "isLessThan", [wrapped, wrapped], truth, lambda a, b: _compared(a, b) < 0),
        (True, "sign", [wrapped], number, lambda a: _compared(a, quantity("0"))),
        (True, "isInteger", [wrapped], truth, lambda a: _number(a) % 1 == 0),
        (True, "asInteger", [wrapped], number, lambda a: int(_number(a))),
        (True, "asApproximateFloat", [wrapped], real, lambda a: float(_number(a))),
        (True, "add", [wrapped, wrapped], wrapped, partial(_sum, 1)),
        (True, "sub", [wrapped, wrapped], wrapped, partial(_sum, -1)),
        (True, "major", [wrapped], number, partial(_part, 0)),
        (True, "minor", [wrapped], number, partial(_part, 1)),
        (True, "patch", [wrapped], number, partial(_part, 2)),
    ]
    return [
        cel.FunctionDecl(
            name,
            [
                cel.Overload(
                    f"gpuspec_{name}",
                    parameters=parameters,
                    return_type=result,
                    is_member=member,
                    impl=impl,
                )
            ],
        )
        for member, name, parameters, result, impl in known
    ]
