"""An admin's own CEL about a device, evaluated as Kubernetes evaluates it for ResourceClaims.

What Kubernetes offers beyond quantities, versions (``cel_functions``) and the common extensions
(optionals, strings, ``cel.bind``) is an expression that cannot be read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from webhook.inventory.cel_functions import functions, quantity
from webhook.inventory.slice_facts import QUANTITY, VERSION, Detail

ALL: Final = frozenset({"*"})
"""What an expression reads that goes through an attribute map as a whole."""

# Whoever iterates a map, or compares it, may read any of its attributes.
_ITERATING = frozenset({"all", "exists", "exists_one", "existsOne", "filter", "map", "size"})
_WHOLE_MAP = re.compile(r"\b(?:attributes|capacity)\b(?!\s*\[)", re.ASCII)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LITERAL = re.compile(r'"([^"\\]*)"|' r"'([^'\\]*)'")
# What the library says beside what is wrong: its codes, places and containers.
_NOISE = re.compile(
    r"^(?:[A-Z_]+: )*(?:<input>:[0-9:]+ )?|\s*\(in container ''\)|\s*\[[A-Z_]+\]$", re.ASCII
)
# An evaluation takes some microseconds. Those that take far longer have so many seconds together,
# and some come back with time: whoever waits for a table's status waits no longer.
_SLOW_S = 0.002
_PATIENCE_S = 5.0
_REGAINED = 1 / 60


class CelError(ValueError):
    """An expression cannot be read, or fails on a device; the message is one line."""


class SlowError(CelError):
    """An expression takes too long to be judged here."""


def standing_still() -> float:
    """Return a time that does not pass: nothing is slow to whoever has nobody waiting."""
    return 0.0


class _Patience:
    """For how long slow expressions may still be evaluated; times are seconds of a clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left = _PATIENCE_S
        self._since = clock()

    def now(self) -> float:
        return self._clock()

    def is_over(self) -> bool:
        now = self._clock()
        self._left = min(_PATIENCE_S, self._left + (now - self._since) * _REGAINED)
        self._since = now
        return self._left <= 0

    def spend(self, seconds: float) -> None:
        self._left -= seconds


class Expressions:
    """Compiles expressions; made once for a table, for loading the library takes memory.

    Args:
        clock: Seconds, by which it is told which expressions take too long.
    """

    def __init__(self, clock: Callable[[], float] = standing_still) -> None:
        # Twenty megabytes that a table without CEL of its own does not need.
        from cel_expr_python import cel  # type: ignore[import-untyped] # noqa: PLC0415
        from cel_expr_python.ext import (  # type: ignore[import-untyped] # noqa: PLC0415
            ext_bindings,
            ext_optional,
            ext_strings,
        )

        self._patience = _Patience(clock)
        self._error_type = cel.Type.ERROR
        self._env = cel.NewEnv(
            variables={"device": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
            extensions=[
                ext_optional.ExtOptional(),
                ext_strings.ExtStrings(),
                ext_bindings.ExtBindings(),
            ],
            functions=functions(cel),
        )

    def compiled(self, expression: str) -> Expression:
        """Compile one expression.

        Raises:
            CelError: It is no CEL, or uses what is not known here.
        """
        try:
            program = self._env.compile(expression)
        except Exception as error:  # noqa: BLE001 -- the library raises what it likes
            raise CelError(_first_line(error)) from None
        return Expression(expression, program, self._error_type, self._patience)


class Expression:
    """One compiled expression.

    Attributes:
        reads: Names of all attributes and capacities that it can depend on, without their domain;
            ``ALL`` where that cannot be told.
    """

    def __init__(
        self,
        text: str,
        program: Any,  # noqa: ANN401 -- the library has no types of its own
        error_type: Any,  # noqa: ANN401
        patience: _Patience,
    ) -> None:
        self._program = program
        self._error_type = error_type
        self._patience = patience
        self._is_slow = False
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
            SlowError: It has taken so long on others that it is not evaluated any more.
            CelError: It fails on this device, which ends the scheduling of a Pod (Kubernetes).
        """
        if self._is_slow and self._patience.is_over():
            raise SlowError("it takes too long to evaluate")
        try:
            device = _device(driver, details, multiple=multiple)
        except ValueError as error:  # an amount that no API server would take
            raise CelError(str(error)) from None
        started = self._patience.now()
        is_error, value = self._found(device)
        if is_error:
            # A domain that a device has nothing of is an empty map to Kubernetes.
            for part in ("attributes", "capacity"):
                device[part] = {one: {} for one in self._literals} | device[part]
            is_error, value = self._found(device)
        seconds = self._patience.now() - started
        if seconds > _SLOW_S:
            self._is_slow = True
            self._patience.spend(seconds)
        if is_error:
            raise CelError(_first_line(value))
        if not isinstance(value, bool):
            raise CelError("it is neither true nor false")
        return value

    def _found(self, device: dict[str, Any]) -> tuple[bool, object]:
        """Return whether an evaluation fails, and why or else what it gives."""
        try:
            found = self._program.eval(data={"device": device})
            return found.type() == self._error_type, found.plain_value()
        except Exception as error:  # noqa: BLE001 -- the library raises what it likes
            return True, error


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
        return quantity(value)
    if kind == VERSION:
        return {VERSION: value}
    return list(value) if isinstance(value, tuple) else value


def _first_line(error: object) -> str:
    """Return what the library says, without its codes and places."""
    line = str(error).partition("\n")[0]
    return _NOISE.sub("", line).strip().rstrip(".")
