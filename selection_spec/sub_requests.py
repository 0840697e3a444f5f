"""The alternatives that a claim names for a list of rows (semantics C2): values, no objects yet."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from selection_spec.cel import added_bytes, any_of, frame_bytes, selectors
from selection_spec.laws import MAX_EXPRESSION_BYTES
from selection_spec.rows import Row

MAX_ALTERNATIVES: Final = 8
"""Sub-requests of one request; the API server refuses more."""

_MAX_NAME: Final = 63
_HASH_CHARACTERS: Final = 8


@dataclass(frozen=True, slots=True)
class SubRequest:
    """One alternative: devices of one DeviceClass that a row means, or several of one cost.

    Attributes:
        name: The row's id, or what tells several apart; a DNS label.
        selectors: CEL expressions, all of which a device fulfils.
    """

    name: str
    device_class: str
    selectors: tuple[str, ...]
    rows: tuple[Row, ...]


def sub_requests(rows: Sequence[Row]) -> tuple[SubRequest, ...]:
    """Return the alternatives for rows in their order: one a row where that is not too many.

    Else rows of the same DeviceClass, driver and cost become one; there may still be more than
    ``MAX_ALTERNATIVES``.

    Args:
        rows: Rows of output ResourceClaim in D8 order.
    """
    if len(rows) <= MAX_ALTERNATIVES:
        return tuple(_request((row,)) for row in rows)
    alike: dict[object, list[Row]] = {}
    for row in rows:
        claim = row.claim
        if claim is not None:
            alike.setdefault((row.cost, claim.device_class, claim.driver), []).append(row)
    return tuple(_request(part) for group in alike.values() for part in _parts(group))


def _parts(rows: Sequence[Row]) -> Iterator[tuple[Row, ...]]:
    """Split rows where one expression for all of them would be longer than Kubernetes allows."""
    part: list[Row] = []
    size = 0
    for row in rows:
        added = added_bytes(row)
        if part and size + added > MAX_EXPRESSION_BYTES:
            yield tuple(part)
            part = []
        size = added + (size if part else frame_bytes(row))
        part.append(row)
    yield tuple(part)


def _request(rows: tuple[Row, ...]) -> SubRequest:
    claim = rows[0].claim
    if claim is None:
        raise AssertionError(rows[0].id)  # only rows with claims get here
    if len(rows) == 1:
        return SubRequest(rows[0].id, claim.device_class, selectors(rows[0]), rows)
    return SubRequest(_name_of(rows), claim.device_class, (any_of(rows),), rows)


def _name_of(rows: Sequence[Row]) -> str:
    """Name several rows after the first; no row's id ends like it."""
    name = f"{rows[0].id}-and-{len(rows) - 1}-more"
    if len(name) <= _MAX_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: _MAX_NAME - _HASH_CHARACTERS - 1]}-{digest}"
