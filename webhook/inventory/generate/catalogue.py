"""Which card a text of a node means, and its nominal memory (G3).

The shipped table is the catalogue of cards: it lists the products by the labels of their vendors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from selection_spec.grammar import MAX_NAME, name_problem
from selection_spec.labels import Operator
from selection_spec.nominal import least_mib
from selection_spec.rows import Row
from selection_spec.table import Table
from webhook.inventory.memory import most_gb, nominal_gb
from webhook.inventory.vendors import PRODUCT_LABELS

_SLICE = re.compile(
    r"-MIG-(?:([1-9][0-9]?)g\.([1-9][0-9]{0,4})gb((?:[.+-][a-z]{1,8}){0,2})|INVALID)(?=-SHARED|$)"
)
_SHARED = "-SHARED"
_PART = re.compile(r"[a-z0-9]+")
_MEMORY = re.compile(r"([1-9][0-9]{0,4})g(?:i?b)?", re.ASCII)
_MAKERS = frozenset({"nvidia", "amd", "intel", "tesla", "geforce", "instinct"})
_UNKNOWN: Final = "unknown"

# What Google's label leaves out: its cards of these names have one size.
_GOOGLE = {
    "nvidia-tesla-a100": "a100-40gb",
    "nvidia-tesla-p100": "p100-16gb",
    "nvidia-tesla-v100": "v100-16gb",
}


@dataclass(frozen=True, slots=True)
class Card:
    """A kind of device as a row would name it.

    Attributes:
        row: The shipped table's row of the same product, None where it has none.
        doubts: What a person should look at, since nothing tells.
        is_whole: Whether it is a card and no slice or share of one.
    """

    name: str
    vram_gb: int
    row: Row | None = None
    doubts: tuple[str, ...] = ()
    is_whole: bool = True

    @property
    def id(self) -> str:
        """The id that its row would have."""
        return f"{self.name}-{self.vram_gb}gb"


class Catalogue:
    """Knows cards by the rows of a table that lists products by their vendors' labels."""

    def __init__(self, table: Table) -> None:
        self.rows = table.rows
        self._by_id = {row.id: row for row in table.rows}
        self._products = dict(_products(table))
        self._named: dict[str, list[Row]] = {}
        for row in table.rows:
            for name in {row.name, *row.aliases}:
                self._named.setdefault(name, []).append(row)

    def card(self, text: str, memory_mib: int = 0, shares: int = 1) -> Card:
        """Return the card that a label's value or a driver's product name means.

        Args:
            text: Such as ``NVIDIA-A100-SXM4-40GB-MIG-1g.5gb``, ``nvidia-l4`` or ``a30-24gb``.
            memory_mib: What the driver says the device has, 0 where it says nothing.
            shares: How many Pods share a device.
        """
        whole, _, shared = text.replace(" ", "-").partition(_SHARED)
        sliced = _SLICE.search(f"{whole}{shared}")
        if sliced:
            return _shared(_slice(self._whole(whole[: sliced.start()], 0), sliced), shares)
        return _shared(self._whole(whole, memory_mib), shares)

    def knows(self, text: str) -> bool:
        """Tell whether a text names a card, or its memory."""
        card = self.card(text)
        return card.row is not None or card.vram_gb > 1

    def _whole(self, text: str, memory_mib: int) -> Card:
        row = self._products.get(text) or self._by_id.get(_GOOGLE.get(text, ""))
        if row is None:
            return self._spelt(text, memory_mib)
        if 0 < memory_mib < least_mib(row.vram_gb):
            size = nominal_gb(memory_mib)
            doubt = f"its memory is {memory_mib} MiB, less than a {row.id} has"
            return Card(row.name, size, row, (doubt,))
        return Card(row.name, row.vram_gb, row)

    def _spelt(self, text: str, memory_mib: int) -> Card:
        """Read a text that is no product's exact name."""
        parts = [part for part in _PART.findall(text.lower()) if part not in _MAKERS]
        sizes = [int(size[1]) for part in parts if (size := _MEMORY.fullmatch(part))]
        words = [part for part in parts if not _MEMORY.fullmatch(part)]
        alike = self._alike(words)
        name = alike[0].name if alike else usable_name("-".join(words))
        if sizes:
            row = next((row for row in alike if row.vram_gb == sizes[0]), None)
            return Card(name, sizes[0], row or (alike[0] if alike else None))
        if memory_mib:
            most = most_gb(memory_mib)
            row = max(
                (row for row in alike if row.vram_gb <= most),
                key=lambda row: row.vram_gb,
                default=None,
            )
            return Card(name, row.vram_gb if row else nominal_gb(memory_mib), row)
        if not alike:
            return Card(name, 1, doubts=("nothing tells its memory, so vram is 1gb",))
        smallest = min(alike, key=lambda row: row.vram_gb)
        others = sorted({row.vram_gb for row in alike} - {smallest.vram_gb})
        doubts = [f"{name} is sold with {size} GB too; the smaller is assumed" for size in others]
        return Card(name, smallest.vram_gb, smallest, tuple(doubts))

    def _alike(self, words: list[str]) -> list[Row]:
        """Return the rows of the longest run of words that names one kind of card."""
        for length in range(len(words), 0, -1):
            for start in range(len(words) - length + 1):
                rows = self._named.get("-".join(words[start : start + length]), [])
                if len({row.name for row in rows}) == 1:
                    return rows
        return []


def usable_name(text: str) -> str:
    """Return a text as a name that users can write after ``gpu-`` (G6)."""
    name = "-".join(_PART.findall(text.lower()))[:MAX_NAME].rstrip("-")
    if name and name_problem(name):
        name = suffixed(name, "card")
    return name or _UNKNOWN


def suffixed(name: str, suffix: str) -> str:
    """Return a name with something behind it that tells it from others, cut to fit (G6)."""
    return f"{name[: MAX_NAME - len(suffix) - 1].rstrip('-')}-{suffix}"


def _products(table: Table) -> Iterator[tuple[str, Row]]:
    for row in table.rows:
        for one in row.nodes:
            if one.operator is Operator.IN and one.key in PRODUCT_LABELS:
                yield from ((value, row) for value in one.values)


def _slice(card: Card, found: re.Match[str]) -> Card:
    """Return a MIG slice of a card: ``1g.5gb`` of an A100 is ``a100-mig1`` with 5 GB."""
    compute, memory, extra = found.groups()
    if compute is None:
        doubt = "its node is split in a way that the driver does not support"
        name = suffixed(card.name, "mig")
        return replace(card, name=name, doubts=(*card.doubts, doubt), is_whole=False)
    kind = "-".join([f"mig{compute}", *_PART.findall(extra.lower())])
    return Card(suffixed(card.name, kind), int(memory), card.row, card.doubts, is_whole=False)


def _shared(card: Card, shares: int) -> Card:
    """Return what one of several Pods on a card can count on: its share of the memory."""
    if shares <= 1:
        return card
    doubt = f"{shares} Pods share {card.vram_gb} GB; see what vram you want to promise each"
    size = max(1, card.vram_gb // shares)
    name = suffixed(card.name, "shared")
    return Card(name, size, card.row, (*card.doubts, doubt), is_whole=False)
