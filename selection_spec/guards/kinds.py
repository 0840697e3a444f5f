"""The kinds of a device's attributes, as they are documented or were seen (C3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import get_close_matches

from selection_spec.guards.documented import ATTRIBUTES
from selection_spec.guards.reads import WHOLE, Path

Seen = Mapping[Path, AbstractSet[str]]
"""By path, the kinds of an attribute or a capacity that devices of one driver have."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """What is known of attributes; ``seen`` is None where no devices are."""

    seen: Seen | None = None

    def of(self, path: Path) -> str:
        """Return the kind of an attribute or a capacity, "" where it is not known."""
        part, *name = path
        if part == "capacity":
            return "quantity"
        if self.seen and path in self.seen:
            kinds = self.seen[path]
            return next(iter(kinds)) if len(kinds) == 1 else ""
        domain, plain = name
        return ATTRIBUTES.get((domain, plain), "")

    def lacks(self, path: Path) -> bool:
        """Tell whether devices are known, and none of them has it."""
        return bool(self.seen) and path not in (self.seen or ())

    def is_documented(self, path: Path) -> bool:
        """Tell whether a device may have it, even where none has."""
        return path[0] == "attributes" and path[1:] in ATTRIBUTES

    def near(self, path: Path) -> Path:
        """Return what devices have that reads most like it, () where nothing does."""
        names = {known[-1].lower(): known for known in self._beside(path)}
        close = get_close_matches(path[-1].lower(), sorted(names), n=1)
        return names[close[0]] if close else ()

    def _beside(self, path: Path) -> Iterator[Path]:
        for known in self.seen or ():
            if len(known) == WHOLE and known[1] == path[1]:
                yield known
