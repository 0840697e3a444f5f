"""How a value is like another one: what stays, what was renamed, what has only grown."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def same(one: object, other: object) -> bool:
    """Tell whether two values are one to JSON, where true is not 1."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def alike(one: object, other: object) -> bool:
    """Tell whether a key may have been renamed: the value stays, or is the same to a reader."""
    if isinstance(one, dict | list) or isinstance(other, dict | list):
        return same(one, other)
    return str(one) == str(other)


def subsequence(before: Sequence[object], after: Sequence[object]) -> list[int] | None:
    """Return which items of a list are left in another; None where that has others, too."""
    return _found_in_order(before, after, same)


def grown_from(before: Sequence[object], after: Sequence[object]) -> list[int] | None:
    """Return of which item of a list each of another one has grown; None where there is no such."""
    return _found_in_order(before, after, _has_grown)


def _found_in_order(
    before: Sequence[object], after: Sequence[object], fits: Callable[[object, object], bool]
) -> list[int] | None:
    """Return the places of the first items that fit those of another list, one after the other."""
    places: list[int] = []
    at = 0
    for one in after:
        while at < len(before) and not fits(before[at], one):
            at += 1
        if at == len(before):
            return None
        places.append(at)
        at += 1
    return places


def _has_grown(before: object, after: object) -> bool:
    """Tell whether all of a value is still there in another one."""
    if before is after:
        return True
    if isinstance(before, dict) and isinstance(after, dict):
        return all(key in after and _has_grown(one, after[key]) for key, one in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return same(before, after[: len(before)])
    return same(before, after)
