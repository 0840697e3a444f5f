"""What the cluster has of each row right now, where that is known (semantics D7, C3).

Whoever builds it has already left out what is stale: nothing here knows the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RowStatus:
    """Counts of one row: devices on its nodes, and the most usable ones on a single node.

    Usable means healthy, occupied or not.
    """

    devices: int
    most_usable_on_a_node: int


@dataclass(frozen=True, slots=True)
class Availability:
    """The live status of rows by row id; a row that is not in it is not known.

    ``missing_classes`` are DeviceClasses that a row asks for and the cluster does not have (C3).
    """

    rows: Mapping[str, RowStatus] = field(default_factory=dict)
    missing_classes: frozenset[str] = frozenset()

    def lacks(self, row_id: str, need: int) -> bool:
        """Tell whether a row has devices, but no node with ``need`` usable ones."""
        status = self.rows.get(row_id)
        return status is not None and status.devices > 0 and status.most_usable_on_a_node < need

    def is_empty(self, row_id: str) -> bool:
        """Tell whether a row is known to have no devices at all."""
        status = self.rows.get(row_id)
        return status is not None and status.devices == 0
