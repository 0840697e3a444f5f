"""Everything that admission may know, in one value that is swapped as a whole (design §2)."""

from __future__ import annotations

from dataclasses import dataclass, field

from selection_spec.availability import Availability
from selection_spec.resolve import NOTHING_KNOWN
from selection_spec.table import Table
from webhook.memo import Memo


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A table and what is known of its rows right now; immutable.

    The memo holds answers that were already worked out from this snapshot. It changes the time
    that an answer takes and nothing else, and it goes when the snapshot does.
    """

    table: Table
    availability: Availability = NOTHING_KNOWN
    memo: Memo = field(default_factory=Memo, compare=False, repr=False)

    @property
    def digest(self) -> str:
        """The digest of the table: the same digest and the same Pod give the same bytes (D8)."""
        return self.table.digest
