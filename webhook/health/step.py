"""One step: from what there is and what is remembered to verdicts, actions and what to remember.

A function of values: the same input gives the same output, and a process that was restarted in
between goes on as if nothing had happened (semantics §9).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from selection_spec.health import Mode
from webhook.health.actions import Action
from webhook.health.breaker import Breakers, breakers_of, with_breakers
from webhook.health.budget import Budget
from webhook.health.cases import Case, Evidence, Look, Mark
from webhook.health.decisions import Decision
from webhook.health.marks import adopted
from webhook.health.mishaps import Mishap, by_node
from webhook.health.moment import Moment
from webhook.health.observed import DeviceKey, Devices
from webhook.health.plan import Planner
from webhook.health.readings import Grade, Reading, Source
from webhook.health.records import Record, State, labelled, of_boot, until
from webhook.health.signals import (
    allocatable,
    conditions,
    crashes,
    device_taints,
    marks,
    pod_status,
    rejected,
)
from webhook.health.subjects import Subject
from webhook.health.sweep import swept
from webhook.health.verdicts import Instant, judged
from webhook.health.withholding import Withholding, is_handed_out, noted, withholding


@dataclass(frozen=True, slots=True)
class Step:
    """What one step came to.

    Attributes:
        state: What to remember.
        decisions: About every subject that is remembered.
        notes: What is worth knowing and no subject's fault.
        budget: What is left.
        imagined: What would be left, were what is only observed done.
        breakers: What is stopped.
    """

    state: State
    decisions: tuple[Decision, ...]
    notes: tuple[str, ...]
    budget: Budget
    imagined: Budget
    breakers: Breakers

    @property
    def actions(self) -> tuple[Action, ...]:
        """What is to be done now, each thing once; nothing of what is only observed."""
        found = {
            action.key: action
            for decision in self.decisions
            if decision.mode is not Mode.OBSERVE
            for action in decision.actions
        }
        return tuple(found.values())


def step(moment: Moment, state: State) -> Step:
    """Judge everything and plan what to do.

    Args:
        moment: What there is right now.
        state: What the last step left, or what was written down of it.
    """
    nodes, policy = moment.observed.nodes, moment.policy
    window_s = policy.crash_window_s
    former = {
        name: of_boot(until(record, moment.now), nodes[name].boot, moment.now, window_s)
        for name, record in state.records.items()
        if name in nodes and nodes[name].uid == record.uid
    }
    remembered = {name: record.mishaps for name, record in former.items()}
    booted = {name: record.booted for name, record in former.items()}
    befallen = by_node(remembered, moment.observed, moment.now, window_s, booted)
    devices = moment.observed.devices
    known = {
        case.subject: case
        for record in former.values()
        for case in record.cases
        if not _is_elsewhere(case.subject, devices)
    }
    held = withholding(moment.observed, known, moment.now)
    looks = list(_looks(moment, known, _by_subject(moment, befallen, held), held))
    cases = [look.case for look in looks]
    ledger = state.ledger.recent(moment.now, policy.eviction_window_s)
    ledger = swept(ledger, cases, moment)
    ledger = with_breakers(ledger, cases, moment.observed, moment.now)
    breakers = breakers_of(ledger, moment.observed)
    planner = Planner(moment, ledger, breakers)
    decisions = planner.decisions(looks)
    records = _records(moment, former, decisions, befallen)
    return Step(
        State(records, planner.budget.ledger),
        decisions,
        tuple(crashes.notes(one for those in befallen.values() for one in those)),
        planner.budget,
        planner.imagined,
        breakers,
    )


def _by_subject(
    moment: Moment, befallen: Mapping[str, tuple[Mishap, ...]], held: Withholding
) -> Mapping[Subject, list[Reading]]:
    found: dict[Subject, list[Reading]] = defaultdict(list)
    for one in _readings(moment, befallen, held):
        found[one.subject].append(one)
    return found


def _readings(
    moment: Moment, befallen: Mapping[str, tuple[Mishap, ...]], held: Withholding
) -> Iterator[Reading]:
    """Yield what all signals say, but for nodes that are not Ready: theirs is stale (H3)."""
    observed, heard = moment.observed, moment.heard
    for node in observed.nodes.values():
        if node.ready:
            yield from conditions.read(node, heard, moment.now)
            yield from marks.read(node, heard)
            yield from allocatable.read(node, observed.resources)
    others = [device_taints.read(observed.devices), pod_status.read(observed, held)]
    for those in befallen.values():
        others += [crashes.read(those), rejected.read(those)]
    for one in chain.from_iterable(others):
        is_ours = observed.judges(one.subject) and not _is_elsewhere(one.subject, observed.devices)
        if is_ours and observed.nodes[one.subject.node].ready:
            yield one


def _looks(
    moment: Moment,
    known: Mapping[Subject, Case],
    readings: Mapping[Subject, list[Reading]],
    held: Withholding,
) -> Iterator[Look]:
    cases = {**known, **{case.subject: case for case in adopted(moment.observed, known)}}
    for subject in sorted({*cases, *readings}):
        node = moment.node(subject.node)
        said = readings.get(subject, []) if node.ready else [_stale(subject)]
        if subject in cases and _is_unseen(cases[subject], moment.observed.devices):
            said = [*said, _unseen(subject)]
        again = partial(_again, moment, subject, held)
        instant = Instant(moment.now, node.boot, moment.policy)
        look = judged(subject, cases.get(subject), said, again, instant)
        if look is not None:
            yield replace(look, case=noted(look.case, held, node))


def _is_elsewhere(subject: Subject, devices: Devices) -> bool:
    """Tell whether its driver offers a device on another node.

    It was moved, or whoever may write on one node speaks of what is on another one: a rule for it
    is that node's matter.
    """
    return devices.nodes.get(_device(subject), subject.node) != subject.node


def _is_unseen(case: Case, devices: Devices) -> bool:
    """Tell whether nobody offers a device for which there may be a rule of ours.

    On which node it is, and so whose matter the rule is, cannot be told until somebody does.
    """
    return case.mark is Mark.RULE and _device(case.subject) not in devices.nodes


def _unseen(subject: Subject) -> Reading:
    said = f"{subject.driver} does not offer {subject.pool}/{subject.device} at present"
    return Reading(subject, Source.DEVICE_TAINT, "Offered", Grade.UNKNOWN, said)


def _device(subject: Subject) -> DeviceKey:
    return subject.driver, subject.pool, subject.device


def _stale(subject: Subject) -> Reading:
    said = f"node {subject.node} is not Ready, so nothing that it says is new"
    return Reading(subject, Source.CONDITION, "Ready", Grade.UNKNOWN, said)


def _again(moment: Moment, subject: Subject, held: Withholding, evidence: Evidence) -> Grade:
    """Return how evidence reads that no signal repeats: good, or unknown where data is missing."""
    node, observed = moment.node(subject.node), moment.observed
    match evidence.source:
        case Source.CONDITION | Source.PROBE:
            return conditions.again(node, moment.heard, evidence.name)
        case Source.ALLOCATABLE:
            return allocatable.again(node, evidence.name)
        case Source.DEVICE_TAINT:
            return device_taints.again(observed.devices, _device(subject))
        case Source.POD_STATUS:
            is_well = bool(subject.resource) and is_handed_out(subject, evidence.at, held)
            return Grade.GOOD if is_well else pod_status.again(observed, subject)
        case Source.TAINT | Source.LABEL | Source.REJECTED | Source.CRASHES:
            return Grade.GOOD


def _records(
    moment: Moment,
    former: Mapping[str, Record],
    decisions: tuple[Decision, ...],
    befallen: Mapping[str, tuple[Mishap, ...]],
) -> dict[str, Record]:
    cases: dict[str, list[Case]] = defaultdict(list)
    for one in decisions:
        cases[one.case.subject.node].append(one.case)
    found = {}
    for name in sorted({*former, *cases, *befallen}):
        node = moment.node(name)
        record = replace(
            former.get(name, Record(node.uid, boot=node.boot)),
            cases=tuple(sorted(cases.get(name, ()), key=lambda case: case.subject)),
            mishaps=befallen.get(name, ()),
        )
        record = labelled(record, node, is_allowed=moment.mode(name) is not Mode.OBSERVE)
        if not record.is_empty:
            found[name] = record
    return found
