"""What to write instead of a name that no row has (semantics G5)."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from selection_spec.grammar import ANY, MAX_NAME, Spec
from selection_spec.table import Table

_NEAREST = 3

# Leaves room in the 1,000 bytes of a message (R4) for the other problems of the Pod.
_NAMES_BYTES = 240

# What stands at the end of a name that is none and was meant as memory: any24gb, anny-24, all24mb.
_MEMORY_AT_END = re.compile(r"(.*?)(-?)([1-9][0-9]{0,8})(?:(gb|gi|gib|mb)|g)?", re.ASCII)

# How much of "any" a text has to share to be taken for it: "ani" and "nay" do, "a" does not.
_LIKE_ANY = 0.6


def with_memory(table: Table, spec: Spec) -> tuple[str, int | None]:
    """Return an unknown name without the memory at its end, and the memory that was meant.

    ``any24gb`` is any with 24 GB and ``h200-24`` an h200 with 24 GB, but ``a10g`` is a name, and so
    is ``rtx-4090`` where no device has that many gigabytes.
    """
    found = _MEMORY_AT_END.fullmatch(spec.name) if spec.min_gb is None else None
    if found is None:
        return spec.name, spec.min_gb
    stem, dash, number, unit = found.groups()
    is_memory = unit or _like_any(stem) >= _LIKE_ANY or (dash and table.index.vram(int(number)))
    return (stem, int(number)) if is_memory else (spec.name, None)


def all_names(table: Table) -> list[str]:
    """Return all that may stand after ``gpu-``: ``any`` first, then the names in their order."""
    return [*_any_of(table), *sorted(table.names)]


def any_that_fits(table: Table, least: int | None, count: int) -> Spec | None:
    """Return the spec of whatever has that much memory and so many on a node, None if nothing."""
    index = table.index
    fits = index.open_to_any & index.per_node(count) & index.vram(least or 0)
    return Spec(ANY, least) if fits else None


def nearest(table: Table, text: str, stem: str) -> list[str]:
    """Return the names that are most like a text, which is compared as far as a name may go.

    ``any`` has no digits and is compared with the text's stem.
    """
    matcher = SequenceMatcher(b=text[: MAX_NAME + 1])
    likeness = {name: _like_any(stem) for name in _any_of(table)}
    for name in table.names:
        matcher.set_seq1(name)
        likeness[name] = matcher.ratio()
    # gpu-1080 means gtx-1080, however much it looks like a100.
    return sorted(likeness, key=lambda name: (text not in name.split("-"), -likeness[name], name))[
        :_NEAREST
    ]


def fitting(names: list[str]) -> str:
    """Join names while they fit; say where the rest can be seen."""
    shown: list[str] = []
    size = 0
    for name in names:
        size += len(name) + 2
        if size > _NAMES_BYTES:
            rest = f'{len(names) - len(shown)} more ("gpuspec explain any --all")'
            return f"{', '.join(shown)} and {rest}"
        shown.append(name)
    return ", ".join(shown)


def _any_of(table: Table) -> list[str]:
    """Return ``any`` where the table opens a row to it."""
    return [ANY] if table.index.open_to_any else []


def _like_any(text: str) -> float:
    """Return how much of ``any`` is in a text, 0 to 1."""
    return SequenceMatcher(None, ANY, text[: MAX_NAME + 1]).ratio()
