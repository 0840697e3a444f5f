"""What is remembered of one node, and written on it (semantics H11)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from webhook.health.cases import Case, Mark, Verdict
from webhook.health.ledger import Ledger
from webhook.health.mishaps import Mishap
from webhook.inventory.facts import NodeFacts
from webhook.terms import HEALTH_LABEL, SUSPECT

# A device plugin that restarts is back by then; before, nobody is told of it (H2 c).
QUIET_S = 360.0


@dataclass(frozen=True, slots=True)
class Record:
    """What is remembered of a node.

    Attributes:
        uid: The node's: another node of the same name starts afresh.
        cases: Of the node and its devices, sorted by subject.
        mishaps: What befell Pods there.
        boot: The boot of the node that these are of.
        booted: When it was seen to have booted, in seconds since 1970: what befell Pods before is
            forgotten (H3). 0 once nobody would remember it anyway.
        label: Whether we have placed our label.
        is_label_seen: Whether it was seen there.
        label_waived: A digest of the cases in spite of which a person has removed it (H10).
    """

    uid: str
    cases: tuple[Case, ...] = ()
    mishaps: tuple[Mishap, ...] = ()
    boot: str = ""
    booted: float = 0.0
    label: bool = False
    is_label_seen: bool = False
    label_waived: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remember."""
        return not (self.cases or self.mishaps or self.booted or self.label or self.label_waived)


@dataclass(frozen=True, slots=True)
class State:
    """All that is remembered from one step to the next."""

    records: Mapping[str, Record] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)


def until(record: Record, now: float) -> Record:
    """Return a record without times that are still to come (``Case.until``)."""
    cases = tuple(case.until(now) for case in record.cases)
    return replace(record, cases=cases, booted=min(record.booted, now))


def of_boot(record: Record, boot: str, now: float, window_s: float) -> Record:
    """Return a record for a node's boot: of another one, what befell Pods before is over (H3)."""
    if record.boot == boot:
        is_over = now - record.booted >= window_s
        return replace(record, booted=0.0) if is_over else record
    return replace(record, boot=boot, booted=now, mishaps=())


def is_reported(case: Case, now: float) -> bool:
    """Tell whether people are told of a case; a plugin that restarts is nothing to tell (H2 c)."""
    if case.held is not Verdict.HEALTHY:
        return True
    is_plugin = bool(case.subject.resource) and not case.subject.device
    return case.is_blind and not (is_plugin and now - case.since < QUIET_S)


def is_worth_writing(case: Case, now: float) -> bool:
    """Tell whether a case outlives this process."""
    return is_reported(case, now) or case.recovered > 0 or case.mark is not Mark.NONE


def labelled(record: Record, node: NodeFacts, *, is_allowed: bool) -> Record:
    """Return a record with what its label is to be: suspect where anything of the node is.

    Args:
        record: With the cases of now.
        node: The node as it is.
        is_allowed: Whether marks may be placed and removed; where not, the label stays as it is.
    """
    has_it = node.labels.get(HEALTH_LABEL) == SUSPECT
    wanted = any(case.held in (Verdict.SUSPECT, Verdict.FAILED) for case in record.cases)
    if record.label and record.is_label_seen and not has_it:
        waived = _digest(record.cases)
        record = replace(record, label=False, is_label_seen=False, label_waived=waived)
    if record.label and has_it and not record.is_label_seen:
        record = replace(record, is_label_seen=True)
    if record.label_waived and not (wanted and record.label_waived == _digest(record.cases)):
        record = replace(record, label_waived="")
    if not is_allowed:
        return record
    if wanted and not record.label and not record.label_waived:
        return replace(record, label=True)
    if record.label and not wanted:
        return replace(record, label=False, is_label_seen=False)
    return record


def cleared(record: Record) -> Record:
    """Return a record after a person has removed our marks, which is respected (H10)."""
    cases = tuple(
        replace(
            case,
            mark=Mark.NONE,
            is_seen=False,
            waived="" if case.held is Verdict.HEALTHY else case.digest,
        )
        for case in record.cases
    )
    digest = _digest(cases) if record.label else record.label_waived
    return replace(record, cases=cases, label=False, is_label_seen=False, label_waived=digest)


def _digest(cases: tuple[Case, ...]) -> str:
    said = " ".join(case.digest for case in cases if case.held is not Verdict.HEALTHY)
    return hashlib.sha256(said.encode()).hexdigest()[:16]
