"""Nominal gigabytes, as on a card's box, and the MiB that its driver reports (G3)."""

from __future__ import annotations

from typing import Final

MIB: Final = 1 << 20

# Real cards have a little less than their data sheets say; 1.5 % takes in every card that is known
# and keeps an 11 GiB card out of the 12 GB ones.
TOLERANCE_PER_MILLE: Final = 985


def least_mib(gigabytes: int) -> int:
    """Return the MiB that a card of so many nominal gigabytes has at least: 24 → 22544."""
    return gigabytes * 10**9 * TOLERANCE_PER_MILLE // (1000 * MIB)
