"""How many devices a key asks for, and what is wrong where it is no number (semantics A2 to A4)."""

from __future__ import annotations

from selection_spec.demand import Need
from selection_spec.denial import path_of, who
from selection_spec.errors import Problem, QuantityError
from selection_spec.quantity import Quantity, parse_quantity
from selection_spec.table import Table

_JSON_WORDS = {None: "null", True: "true", False: "false"}
_SHOWN_CHARACTERS = 40
_LONG = 10**_SHOWN_CHARACTERS


def count_of(need: Need, amounts: dict[str, object], table: Table) -> int:
    """Return how many devices a key asks for, 0 where it asks for none (A2 to A4).

    Raises:
        QuantityError: With one problem whose text names container, key and amount.
    """
    subject, path = f"{who(need)}: {table.domain}/{need.spec}", path_of(table, need)
    read: dict[str, Quantity] = {}
    for side, amount in amounts.items():
        try:
            read[side] = parse_quantity(amount)
        except QuantityError as error:
            raise _amount_error(subject, path, amount, error) from None
    if all(quantity.is_zero for quantity in read.values()):
        return 0
    if len(set(read.values())) > 1:
        limits, requests = _shown(amounts["limits"]), _shown(amounts["requests"])
        both = f"limits say {limits}, requests say {requests}"
        hint = "write the same amount, or only limits"
        raise QuantityError(Problem(f"{subject}: {both}", path, hint, "A4"))
    if "limits" not in read:
        hint = "put it under limits"
        raise QuantityError(Problem(f"{subject} stands only under requests", path, hint, "A4"))
    try:
        return read["limits"].count()
    except QuantityError as error:
        raise _amount_error(subject, path, amounts["limits"], error) from None


def _amount_error(subject: str, path: str, amount: object, error: QuantityError) -> QuantityError:
    wrong = error.problems[0]
    return QuantityError(
        Problem(f"{subject}: {_shown(amount)} {wrong.message}", path, wrong.hint, wrong.rule)
    )


def _shown(amount: object) -> str:
    """Write an amount as a message needs it: quoted, and only as much as tells what it is."""
    match amount:
        case None | True | False:
            return _JSON_WORDS[amount]
        case dict():
            return "an object"
        case list():
            return "a list"
        case int() if abs(amount) >= _LONG:
            return "an integer of more than 40 digits"
        case _:
            text = str(amount)
            more = "…" if len(text) > _SHOWN_CHARACTERS else ""
            return f'"{text[:_SHOWN_CHARACTERS]}{more}"'


def raw_amount(amount: object) -> int:
    """Return a raw amount, 1 where the API server is going to refuse it anyway."""
    try:
        quantity = parse_quantity(amount)
        return 0 if quantity.is_zero else quantity.count()
    except QuantityError:
        return 1
