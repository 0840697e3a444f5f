"""What is known of a subject that was not healthy (semantics H3)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from enum import StrEnum

from webhook.health.readings import Grade, Reading, Source
from webhook.health.subjects import Subject

# Beyond these, more evidence about one subject tells nobody anything.
_MOST_EVIDENCE = 16
_SAID = 240


class Verdict(StrEnum):
    """How a subject fares."""

    HEALTHY = "Healthy"
    SUSPECT = "Suspect"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class Mark(StrEnum):
    """What we have placed for a subject so that no Pod comes to it (H7)."""

    NONE = ""
    TAINT = "taint"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A reading that counted; ``at`` is when it was read first, in seconds since 1970."""

    source: Source
    name: str
    grade: Grade
    said: str
    at: float

    @property
    def key(self) -> tuple[Source, str]:
        """Tells it from the subject's other evidence."""
        return self.source, self.name


@dataclass(frozen=True, slots=True)
class Missing:
    """How many of a resource's devices a kubelet withholds.

    Attributes:
        count: So many now.
        before: So many before the count last grew.
        fell: When that was, in seconds since 1970.
    """

    count: int
    before: int
    fell: float


@dataclass(frozen=True, slots=True)
class Case:
    """A subject that is not healthy, or was not long ago; times are seconds since 1970.

    Attributes:
        held: The last verdict that the data allowed; HEALTHY once it has recovered.
        is_blind: Whether data is missing or stale now: then the verdict is Unknown (H3).
        since: When this verdict came about.
        evidence: What speaks, or spoke, against it.
        bad: Bad observations, up to as many as are needed.
        good: Good ones in a row since, up to as many as are needed.
        looked: When an observation was last counted.
        good_since: When the good ones began; 0 where there are none.
        relapses: How often it turned bad again; the time to recover doubles with each.
        failed: When it last failed; 0 where it never did.
        recovered: When it was last found healthy; 0 where it never was since it began.
        boot: The boot of the node that all this is about.
        mark: What we have placed for it.
        is_seen: Whether the mark was seen in place.
        unmarked: When we last took it back; 0 where we never did. What is seen of it right after
            may be from before.
        missing: Of a resource without a device's id, how many its kubelet withholds.
        withheld: Of a plugin's device, since when its kubelet is known to withhold it; 0 where it
            is not.
        waived: A digest of the evidence in spite of which a person has removed our mark (H10).
    """

    subject: Subject
    held: Verdict = Verdict.HEALTHY
    is_blind: bool = False
    since: float = 0.0
    evidence: tuple[Evidence, ...] = ()
    bad: int = 0
    good: int = 0
    looked: float = 0.0
    good_since: float = 0.0
    relapses: int = 0
    failed: float = 0.0
    recovered: float = 0.0
    boot: str = ""
    mark: Mark = Mark.NONE
    is_seen: bool = False
    unmarked: float = 0.0
    missing: Missing | None = None
    withheld: float = 0.0
    waived: str = ""

    @property
    def verdict(self) -> Verdict:
        """What is said of the subject now."""
        return Verdict.UNKNOWN if self.is_blind else self.held

    @property
    def is_waived(self) -> bool:
        """Whether a person has removed our mark and nothing new was heard since."""
        return bool(self.waived) and self.waived == self.digest

    def until(self, now: float) -> Case:
        """Return it without times that are still to come: whose clock was ahead waits for nothing.

        Args:
            now: Seconds since 1970.
        """
        since = max(self.since, self.looked, self.good_since)
        fell = self.missing.fell if self.missing is not None else 0.0
        latest = max(since, self.failed, self.recovered, self.unmarked, self.withheld, fell)
        if latest <= now and all(one.at <= now for one in self.evidence):
            return self
        return replace(
            self,
            since=min(self.since, now),
            looked=min(self.looked, now),
            good_since=min(self.good_since, now),
            failed=min(self.failed, now),
            recovered=min(self.recovered, now),
            unmarked=min(self.unmarked, now),
            withheld=min(self.withheld, now),
            missing=None if self.missing is None else replace(self.missing, fell=min(fell, now)),
            evidence=tuple(replace(one, at=min(one.at, now)) for one in self.evidence),
        )

    @property
    def digest(self) -> str:
        """What tells this evidence from other evidence; how it is worded does not matter."""
        keys = sorted((*one.key, one.grade) for one in self.evidence)
        return hashlib.sha256(json.dumps(keys).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Look:
    """A case, and whether anything more than a warning speaks against its subject at this moment.

    Only what is bad now is acted upon; a case that recovers, or that cannot be judged, is not.
    """

    case: Case
    is_bad: bool = False
    said: tuple[str, ...] = field(default=())


def gathered(former: tuple[Evidence, ...], new: list[Reading], now: float) -> tuple[Evidence, ...]:
    """Return a case's evidence with new readings in the place of former ones of the same signal."""
    kept = {one.key: one for one in former}
    for reading in new:
        before = kept.get(reading.key)
        at = before.at if before is not None else now
        said = reading.said[:_SAID]
        kept[reading.key] = Evidence(*reading.key, reading.grade, said, at)
    return tuple(sorted(kept.values(), key=lambda one: (-one.grade, one.at, one.key)))[
        :_MOST_EVIDENCE
    ]
