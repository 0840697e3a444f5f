"""An admin's own CEL about a device, evaluated as Kubernetes evaluates it for ResourceClaims.

Quantities and versions are maps of one entry, ``{"quantity": "25769803776"}``, so that neither
compares with a number or with the other; what Kubernetes offers beyond them and the common
extensions (optionals, strings, ``cel.bind``) is an expression that cannot be read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from functools import partial
from typing import Any, Final

from selection_spec.errors import QuantityError
from selection_spec.quantity import parse_quantity
from webhook.inventory.slice_facts import QUANTITY, VERSION, Detail

ALL: Final = frozenset({"*"})
"""What an expression reads that goes through an attribute map as a whole."""

# Whoever iterates a map, or compares it, may read any of its attributes.
_ITERATING = frozenset({"all", "exists", "exists_one", "existsOne", "filter", "map", "size"})
_WHOLE_MAP = re.compile(r"\b(?:attributes|capacity)\b(?!\s*\[)", re.ASCII)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LITERAL = re.compile(r'"([^"\\]*)"|' r"'([^'\\]*)'")
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?",
    re.ASCII,
)
# What the library says beside what is wrong: its codes, places and containers.
_NOISE = re.compile(
    r"^(?:[A-Z_]+: )*(?:<input>:[0-9:]+ )?|\s*\(in container ''\)|\s*\[[A-Z_]+\]$", re.ASCII
)
# Sums of quantities are exact to far more digits than any of them has.
_EXACT = Context(prec=1000)

_Wrapped = dict[str, str]


class CelError(ValueError):
    """An expression cannot be read, or fails on a device; the message is one line."""


class Expressions:
    """Compiles expressions; made once, for loading the library takes memory."""

    def __init__(self) -> None:
        # Twenty megabytes that a table without CEL of its own does not need.
        from cel_expr_python import cel  # type: ignore[import-untyped] # noqa: PLC0415
        from cel_expr_python.ext import (  # type: ignore[import-untyped] # noqa: PLC0415
            ext_bindings,
            ext_optional,
            ext_strings,
        )

        self._error_type = cel.Type.ERROR
        self._env = cel.NewEnv(
            variables={"device": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
            extensions=[
                ext_optional.ExtOptional(),
                ext_strings.ExtStrings(),
                ext_bindings.ExtBindings(),
            ],
            functions=_functions(cel),
        )

    def compiled(self, expression: str) -> Expression:
        """Compile one expression.

        Raises:
            CelError: It is no CEL, or uses what is not known here.
        """
        try:
            return Expression(expression, self._env.compile(expression), self._error_type)
        except RuntimeError as error:
            raise CelError(_first_line(error)) from None


class Expression:
    """One compiled expression.

    Attributes:
        reads: Names of all attributes and capacities that it can depend on, without their domain;
            ``ALL`` where that cannot be told.
    """

    def __init__(self, text: str, program: Any, error_type: Any) -> None:  # noqa: ANN401
        self._program = program
        self._error_type = error_type
        self._literals = {one or other for one, other in _LITERAL.findall(text)}
        words = frozenset(_WORD.findall(text))
        is_open = words & _ITERATING or _WHOLE_MAP.search(text) or "\\" in text
        self.reads = ALL if is_open else words

    def holds(self, driver: str, details: Iterable[Detail], *, multiple: bool) -> bool:
        """Tell whether a device fulfils it.

        Args:
            driver: Whose device it is; attributes without a domain are in this one.
            details: Its attributes and capacities, at least those that are read.
            multiple: Whether several claims may share it.

        Raises:
            CelError: It fails on this device, which ends the scheduling of a Pod (Kubernetes).
        """
        try:
            device = _device(driver, details, multiple=multiple)
        except ValueError as error:  # an amount that no API server would take
            raise CelError(str(error)) from None
        found = self._program.eval(data={"device": device})
        if found.type() == self._error_type:
            # A domain that a device has nothing of is an empty map to Kubernetes.
            for part in ("attributes", "capacity"):
                device[part] = {one: {} for one in self._literals} | device[part]
            found = self._program.eval(data={"device": device})
        value = found.plain_value()
        if found.type() == self._error_type:
            raise CelError(_first_line(value))
        if not isinstance(value, bool):
            raise CelError("it is neither true nor false")
        return value


def _device(driver: str, details: Iterable[Detail], *, multiple: bool) -> dict[str, Any]:
    attributes: dict[str, dict[str, Any]] = {}
    capacity: dict[str, dict[str, Any]] = {}
    for name, kind, value in details:
        domain, slash, plain = name.rpartition("/")
        of = capacity if kind == QUANTITY else attributes
        of.setdefault(domain if slash else driver, {})[plain] = _value(kind, value)
    return {
        "driver": driver,
        "allowMultipleAllocations": multiple,
        "attributes": attributes,
        "capacity": capacity,
    }


def _value(kind: str, value: Any) -> Any:  # noqa: ANN401 -- whatever an attribute holds
    if kind == QUANTITY:
        return _quantity(value)
    if kind == VERSION:
        return {VERSION: value}
    return list(value) if isinstance(value, tuple) else value


def _quantity(text: object) -> _Wrapped:
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


def _number(quantity: _Wrapped) -> Decimal:
    if QUANTITY not in quantity:
        raise ValueError("a version is no quantity")
    return Decimal(quantity[QUANTITY])


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


def _functions(cel: Any) -> list[Any]:  # noqa: ANN401 -- the library has no types of its own
    """Declare what DRA's environment has beyond CEL's own functions: member, name, types, what."""
    text, number, truth, real = (
        *(cel.Type.STRING, cel.Type.INT),
        *(cel.Type.BOOL, cel.Type.DOUBLE),
    )
    wrapped = cel.Type.Map(text, text)
    known: list[tuple[bool, str, list[Any], Any, Callable[..., Any]]] = [
        (False, "quantity", [text], wrapped, _quantity),
        (False, "isQuantity", [text], truth, partial(_is, _quantity)),
        (False, "semver", [text], wrapped, _version),
        (False, "isSemver", [text], truth, partial(_is, _version)),
        (True, "compareTo", [wrapped, wrapped], number, _compared),
        (True, "isGreaterThan", [wrapped, wrapped], truth, lambda a, b: _compared(a, b) > 0),
        (True, "isLessThan", [wrapped, wrapped], truth, lambda a, b: _compared(a, b) < 0),
        (True, "sign", [wrapped], number, lambda a: _compared(a, _quantity("0"))),
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


def _first_line(error: object) -> str:
    """Return what the library says, without its codes and places."""
    line = str(error).partition("\n")[0]
    return _NOISE.sub("", line).strip().rstrip(".")
