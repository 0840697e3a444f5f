"""Finds the devices that the rows of a table recognise in what DRA drivers offer.

They are recognised as ``selection_spec.cel`` describes them to Kubernetes: a whole GPU of the
claim's driver, by its product or its memory, and by CEL of the admin's own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from selection_spec.drivers import WHOLE_TYPES
from selection_spec.nominal import least_mib
from selection_spec.rows import Claim, Row
from webhook.inventory.claims import Here, Offered, Recognised
from webhook.inventory.device_cel import (
    ALL,
    CelError,
    Expression,
    Expressions,
    SlowError,
    standing_still,
)
from webhook.inventory.slice_facts import Detail, DeviceFacts, SliceFacts
from webhook.inventory.taints import keeps_pods_away

# Some drivers publish a new attribute value all the time.
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The rows that recognise a device, and by row why a selector fails on it.

    ``slow`` are rows whose selectors take too long: they are not asked any more.
    """

    rows: tuple[str, ...]
    failing: tuple[tuple[str, str], ...] = ()
    slow: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Group:
    """Devices of one slice that are alike to a table; ``blocked`` ones have a taint."""

    verdict: _Verdict
    blocked: bool
    whole: str | None
    names: frozenset[str]


_NOBODYS = _Verdict(())
_Groups = tuple[_Group, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """A row with its claim, and the claim's own selectors, compiled."""

    row: Row
    claim: Claim
    own: tuple[Expression, ...]

    def has(self, device: DeviceFacts, details: tuple[Detail, ...]) -> bool:
        """Tell whether a device of its driver is one of the row's.

        Raises:
            CelError: A selector of the admin's fails on it.
        """
        claim = self.claim
        if claim.products or not claim.selectors:
            if device.type not in WHOLE_TYPES:
                return False
            if claim.products and device.product not in claim.products:
                return False
            if not claim.products and device.memory_mib < least_mib(self.row.vram_gb):
                return False
        return all(one.holds(claim.driver, details, multiple=device.multiple) for one in self.own)


class Recogniser:
    """Finds the devices of a table's rows, again and again; one for each table.

    A slice that did not change is not judged again, and devices that are alike in all that rows
    ask of them are judged once.

    Args:
        rows: Those of the table.
        clock: Seconds, by which it is told which selectors of the admin's take too long.
    """

    def __init__(self, rows: Iterable[Row], clock: Callable[[], float] = standing_still) -> None:
        self._known: dict[str, list[_Known]] = defaultdict(list)
        self._drivers: dict[str, str] = {}
        self._unread: dict[str, str] = {}
        library: Expressions | None = None
        for row in rows:
            if row.claim is None:
                continue
            self._drivers[row.id] = row.claim.driver
            own: tuple[Expression, ...] = ()
            try:
                if row.claim.selectors:
                    library = library or Expressions(clock)
                    own = tuple(map(library.compiled, row.claim.selectors))
            except CelError as error:
                self._unread[row.id] = str(error)
            else:
                self._known[row.claim.driver].append(_Known(row, row.claim, own))
        self._reads = {
            driver: frozenset[str]().union(*(one.reads for row in known for one in row.own))
            for driver, known in self._known.items()
        }
        self._verdicts: dict[object, _Verdict] = {}
        self._alike: dict[_Groups, _Groups] = {}
        self._seen: dict[str, tuple[SliceFacts, _Groups]] = {}

    def recognised(
        self, offers: Offered, can_start: Callable[[str], bool]
    ) -> dict[str, Recognised]:
        """Return by row id what each row with a claim recognises.

        Args:
            offers: What there is.
            can_start: Tells of a node whether a Pod could start there now (D7).
        """
        found = {row_id: Recognised() for row_id in self._drivers}
        together: Counter[tuple[str, ...]] = Counter()
        whole: dict[str, Counter[str]] = defaultdict(Counter)
        for one, groups in self._sorted(offers.slices) if found else ():
            place = one.node or f"pool {one.pool} of {one.driver}"
            is_fine = not one.node or can_start(one.node)
            held = offers.held.get((one.driver, one.pool), frozenset())
            for group in groups:
                count = len(group.names)
                usable = count if is_fine and not group.blocked else 0
                free = len(group.names - held) if usable else 0
                together[group.verdict.rows] += count
                if group.whole is not None:
                    whole[one.driver][group.whole] += count
                for row_id in group.verdict.rows:
                    here = found[row_id].places.setdefault(place, Here())
                    here.devices += count
                    here.usable += usable
                    here.free += free
                for row_id, reason in group.verdict.failing:
                    found[row_id].failing[reason] += count
        for rows, count in together.items():
            for row_id in rows:
                found[row_id].beside.update({other: count for other in rows if other != row_id})
        for row_id, driver in self._drivers.items():
            found[row_id].whole = whole[driver]
        for row_id, reason in self._unread.items():
            found[row_id].unread = reason
        return found

    @property
    def unread(self) -> Mapping[str, str]:
        """By row, why no device of it can be told: a selector of the admin's cannot be judged."""
        return self._unread

    def alike(
        self, slices: Iterable[SliceFacts]
    ) -> Iterator[tuple[SliceFacts, tuple[str, ...], bool, frozenset[str]]]:
        """Yield devices that the same rows recognise.

        Yields:
            Their slice, the ids of the rows, at least one, whether a taint is on them, and their
            names.
        """
        for one, groups in self._sorted(slices):
            for group in groups:
                if group.verdict.rows:
                    yield one, group.verdict.rows, group.blocked, group.names

    def _sorted(self, slices: Iterable[SliceFacts]) -> Iterable[tuple[SliceFacts, _Groups]]:
        """Return slices with their devices by what they are to the table."""
        if len(self._verdicts) > _REMEMBERED or len(self._alike) > _REMEMBERED:
            self._verdicts.clear()
            self._alike.clear()
        seen: dict[str, tuple[SliceFacts, _Groups]] = {}
        for one in slices:
            entry = self._seen.get(one.name)
            if entry is None or entry[0] is not one:
                groups = self._groups(one)
                entry = one, self._alike.setdefault(groups, groups)
            seen[one.name] = entry
        self._seen = seen
        return seen.values()

    def _groups(self, one: SliceFacts) -> _Groups:
        alike: dict[tuple[_Verdict, bool, str | None], list[str]] = defaultdict(list)
        for device in one.devices:
            blocked = any(map(keeps_pods_away, device.taints))
            product = device.product if device.type in WHOLE_TYPES else None
            alike[self._verdict(one.driver, device), blocked, product].append(device.name)
        return tuple(_Group(*key, frozenset(names)) for key, names in alike.items())

    def _verdict(self, driver: str, device: DeviceFacts) -> _Verdict:
        known = self._known.get(driver)
        if not known:
            return _NOBODYS
        reads = self._reads[driver]
        details = device.details
        if reads and not reads >= ALL:
            details = tuple(one for one in details if one[0].rpartition("/")[2] in reads)
        look = driver, device.product, device.type, device.memory_mib
        key = (*look, details, device.multiple) if reads else look
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._verdicts[key] = _judged(known, device, details)
            for row_id, reason in verdict.slow:
                self._unread[row_id] = reason
                self._known[driver] = [one for one in known if one.row.id not in self._unread]
        return verdict


def _judged(known: Iterable[_Known], device: DeviceFacts, details: tuple[Detail, ...]) -> _Verdict:
    """Ask all rows of its driver for a device, of which they read only some details."""
    rows: list[str] = []
    failing: list[tuple[str, str]] = []
    slow: list[tuple[str, str]] = []
    for one in known:
        try:
            if one.has(device, details):
                rows.append(one.row.id)
        except SlowError as error:
            slow.append((one.row.id, str(error)))
        except CelError as error:
            failing.append((one.row.id, str(error)))
    return _Verdict(tuple(rows), tuple(failing), tuple(slow))
