"""A cluster's health, judged once, with nothing written: what the controller knows and would do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from selection_spec.health import Mode
from selection_spec.table import Table
from webhook.advice.health.marks_left import MarksLeft
from webhook.health.cases import Case, Mark, Verdict
from webhook.health.decisions import Decision
from webhook.health.moment import Moment
from webhook.health.records import State
from webhook.health.step import Step, step
from webhook.health.subjects import Subject
from webhook.health.words import reported
from webhook.inventory.pod_facts import PodFacts

NO_ROW = "of no row"
"""What stands for the rows of a node that is of none."""


@dataclass(frozen=True, slots=True)
class About:
    """Where all this was read.

    Attributes:
        server: The API server's address.
        kubernetes: Its version, as it says it.
        namespace: Where gpuspec is installed.
        missing: Signals that this Kubernetes drops by default (H2).
        unseen: What could not be looked at, and why: a sentence each.
    """

    server: str
    kubernetes: str
    namespace: str
    missing: Sequence[str] = ()
    unseen: Sequence[str] = ()


@dataclass(frozen=True)
class Judged:
    """One step, and what it was made from.

    Attributes:
        remembered: What the controller has written down.
        marks: Our marks that are there, by node.
        refusals: By uid of Pods why a PodDisruptionBudget would refuse their eviction now.
    """

    about: About
    table: Table
    moment: Moment
    remembered: State
    step: Step
    marks: Sequence[MarksLeft] = field(default=())
    refusals: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        about: About,
        table: Table,
        moment: Moment,
        remembered: State,
        marks: Sequence[MarksLeft] = (),
    ) -> Judged:
        """Judge a moment."""
        return cls(about, table, moment, remembered, step(moment, remembered), marks)

    @property
    def holders(self) -> tuple[PodFacts, ...]:
        """The Pods that hold what has failed, as far as that can be told."""
        found = {one.pod.uid: one.pod for each in self.step.decisions for one in each.holders or ()}
        return tuple(found.values())

    @property
    def now(self) -> float:
        """The present, in seconds since 1970."""
        return self.moment.now

    @property
    def reported(self) -> tuple[Decision, ...]:
        """What people are told of: the worst first, then by name."""
        return tuple(
            sorted(
                reported(self.step.decisions, self.now),
                key=lambda one: (_TURN[one.case.held], one.case.subject),
            )
        )

    @property
    def by_row(self) -> Mapping[str, Sequence[Decision]]:
        """The same by the rows of the nodes; nodes of no row come last."""
        found: dict[str, list[Decision]] = defaultdict(list)
        for one in self.reported:
            found[", ".join(self.moment.rows(one.case.subject.node))].append(one)
        names = sorted(found, key=lambda name: (not name, name))
        return {name or NO_ROW: found[name] for name in names}

    @property
    def is_bad(self) -> bool:
        """Whether anything has failed, or a breaker has stopped a row."""
        failed = (one for one in self.reported if one.case.held is Verdict.FAILED)
        return bool(self.step.breakers.rows) or any(failed)

    @property
    def left_behind(self) -> tuple[MarksLeft, ...]:
        """Marks that keep Pods away from nodes that are only observed."""
        return tuple(
            one
            for one in self.marks
            if one.keep_away and one.node and self.moment.mode(one.node) is Mode.OBSERVE
            if one.label or one.rules or one.node not in self.tainted_by_hand
        )

    @cached_property
    def tainted_by_hand(self) -> frozenset[str]:
        """Nodes with our taint that nothing remembers placing: a person did, and has to remove it.

        What we have not placed we do not remove (H10).
        """
        cases = (case for record in self.remembered.records.values() for case in record.cases)
        known = {case.subject.node for case in cases if case.mark is Mark.TAINT}
        decided = (one.case for one in self.step.decisions)
        known |= {case.subject.node for case in decided if case.mark is Mark.TAINT}
        known |= {one.node for one in self.remembered.ledger.quarantined if one.is_node}
        return frozenset(one.node for one in self.marks if one.taint and one.node not in known)

    @property
    def out_for_nothing(self) -> tuple[str, ...]:
        """Those of them on which nothing has failed, by name: healthy, and out of service."""
        cases = (one.case for one in self.step.decisions)
        failed = {case.subject.node for case in cases if case.held is Verdict.FAILED}
        return tuple(sorted(self.tainted_by_hand - failed))

    def case_of(self, subject: Subject) -> Case | None:
        """Return what is known of a subject; None where nothing speaks against it."""
        found = (one.case for one in self.step.decisions if one.case.subject == subject)
        return next(found, None)

    def remembered_case(self, subject: Subject) -> Case | None:
        """Return what the controller has written down of a subject; None where it has nothing."""
        record = self.remembered.records.get(subject.node)
        cases = () if record is None else record.cases
        return next((case for case in cases if case.subject == subject), None)


_TURN = {
    Verdict.FAILED: 0,
    Verdict.SUSPECT: 1,
    Verdict.UNKNOWN: 2,
    Verdict.HEALTHY: 3,
}
