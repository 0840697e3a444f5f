"""CEL for ResourceClaims: which devices of a DRA driver a row means (semantics C2, C3).

Every expression asks for the driver first and reads no attribute that a device may lack without
saying what then: an error in an expression aborts the scheduling of the Pod (Kubernetes).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from selection_spec.drivers import DEFAULT_PRODUCT_ATTRIBUTE, PRODUCT_ATTRIBUTES, WHOLE_TYPES
from selection_spec.nominal import least_mib
from selection_spec.rows import Claim, Row

_AND: Final = " && "
_COMMA: Final = ", "
# All that stands between the parts of a disjunction, and around them.
_BRACKETS: Final = 32


def selectors(row: Row) -> tuple[str, ...]:
    """Return the expressions that a device of a row fulfils, all of them, the guard first.

    Args:
        row: A row with a claim.
    """
    claim = _claim(row)
    if claim.selectors and not claim.products:
        return (_guard(claim), *claim.selectors)
    return (f"{_guard(claim)} && {_whole(claim)} && {_known_by(row, claim)}", *claim.selectors)


def any_of(rows: Iterable[Row]) -> str:
    """Return one expression that a device of any of the rows fulfils.

    Args:
        rows: At least one, all with claims on the same driver.
    """
    alike = list(rows)
    claims = [_claim(row) for row in alike]
    products = [product for claim in claims if not claim.selectors for product in claim.products]
    sizes = [
        least_mib(row.vram_gb)
        for row, claim in zip(alike, claims, strict=True)
        if not claim.products and not claim.selectors
    ]
    known = [_has_product(claims[0], products)] if products else []
    known += [_has_memory(claims[0], min(sizes))] if sizes else []
    found = [f"{_whole(claims[0])} && {_either(known)}"] if known else []
    found += [" && ".join(map(_enclosed, _own(claim))) for claim in claims if claim.selectors]
    return f"{_guard(claims[0])} && {_either(found)}"


def frame_bytes(row: Row) -> int:
    """Return how many bytes ``any_of`` has at most beside what each row adds to it."""
    claim = _claim(row)
    known = (_guard(claim), _whole(claim), _has_product(claim, ()), _has_memory(claim, 10**9))
    return sum(len(one.encode()) for one in known) + _BRACKETS


def added_bytes(row: Row) -> int:
    """Return how many bytes a row adds to ``any_of`` at most."""
    claim = _claim(row)
    if claim.selectors:
        return sum(len(_enclosed(one).encode()) + len(_AND) for one in _own(claim))
    return sum(len(_text(one).encode()) + len(_COMMA) for one in claim.products)


def _own(claim: Claim) -> tuple[str, ...]:
    """Return the conditions of a claim with selectors of the admin's."""
    if not claim.products:
        return claim.selectors
    return (f"{_whole(claim)} && {_has_product(claim, claim.products)}", *claim.selectors)


def _enclosed(expression: str) -> str:
    # A comment would reach to the end of its line, and the bracket with it.
    return f"({expression}\n)" if "//" in expression else f"({expression})"


def _either(conditions: list[str]) -> str:
    return conditions[0] if len(conditions) == 1 else f"({' || '.join(conditions)})"


def _claim(row: Row) -> Claim:
    if row.claim is None:
        raise AssertionError(row.id)  # only rows with claims get here
    return row.claim


def _guard(claim: Claim) -> str:
    return f"device.driver == {_text(claim.driver)}"


def _whole(claim: Claim) -> str:
    attribute = f"device.attributes[{_text(claim.driver)}].?type.orValue({_text(WHOLE_TYPES[0])})"
    return f"{attribute} in {_texts(WHOLE_TYPES)}"


def _known_by(row: Row, claim: Claim) -> str:
    if claim.products:
        return _has_product(claim, claim.products)
    return _has_memory(claim, least_mib(row.vram_gb))


def _has_product(claim: Claim, products: Iterable[str]) -> str:
    name = PRODUCT_ATTRIBUTES.get(claim.driver, DEFAULT_PRODUCT_ATTRIBUTE)
    attribute = f'device.attributes[{_text(claim.driver)}].?{name}.orValue("")'
    return f"{attribute} in {_texts(products)}"


def _has_memory(claim: Claim, mib: int) -> str:
    memory = f'device.capacity[{_text(claim.driver)}].?memory.orValue(quantity("0"))'
    return f'{memory}.compareTo(quantity("{mib}Mi")) >= 0'


def _texts(values: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, dict.fromkeys(values)))}]"


def _text(value: str) -> str:
    # What JSON escapes, CEL reads alike; other characters stand as they are.
    return json.dumps(value, ensure_ascii=False)
