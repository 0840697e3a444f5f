"""What is to be done about failed subjects, within the budget (semantics H6 to H9).

In ``Observe`` the same is worked out as ``Evict`` would do it, counted apart, and only said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import islice

from selection_spec.health import Mode
from webhook.health.actions import Action, Doing
from webhook.health.breaker import Breakers
from webhook.health.budget import Budget
from webhook.health.cases import Case, Look, Mark, Verdict
from webhook.health.decisions import Decision, HeldBack
from webhook.health.fences import (
    NO_EFFECT,
    NO_SCHEDULE,
    UNHEALTHY,
    Fence,
    Fencing,
    counted_as,
    fencing,
    rule_of,
)
from webhook.health.holders import rejected
from webhook.health.ledger import Ledger
from webhook.health.marks import is_going, is_marked, settled
from webhook.health.moment import Moment
from webhook.health.permits import is_removable
from webhook.health.stays import Stays
from webhook.health.subjects import Subject
from webhook.inventory.pod_facts import PodFacts

# Dead Pods that are removed for one subject at a time.
_DEAD = 50

# A mark that could not be taken back is tried to be for so long before that is noted anew.
_TRIED_FOR_S = 60.0

# Marks that are placed in one step; others have their turn in the next ones.
_MARKS = 100


class Planner:
    """Plans for all subjects of one moment, the longest failed first.

    Args:
        moment: What there is, and what may be done.
        ledger: What was done.
        breakers: What is stopped.
    """

    def __init__(self, moment: Moment, ledger: Ledger, breakers: Breakers) -> None:
        self._moment = moment
        self._observed = moment.observed
        self._breakers = breakers
        self._now = moment.now
        self._budget = Budget(ledger, moment.observed, moment.policy)
        self._imagined = self._budget.imagined()
        self._stays = Stays(moment)
        self._marks = 0
        # Nodes that have our taint for something that we know of.
        self._tainting: set[str] = set()

    @property
    def budget(self) -> Budget:
        """What is left, and the ledger of what was decided."""
        return self._budget

    @property
    def imagined(self) -> Budget:
        """What would be left of it, were what is only observed done."""
        return self._imagined

    def decisions(self, looks: Iterable[Look]) -> tuple[Decision, ...]:
        """Decide about every subject; those that are acted upon come before those that are not."""
        in_order = sorted(
            looks,
            key=lambda look: (self._mode(look.case) is Mode.OBSERVE, *_turn(look.case)),
        )
        settled_ = [replace(one, case=self._settled(one.case)) for one in in_order]
        freed = {
            after.case.subject.node
            for before, after in zip(in_order, settled_, strict=True)
            if before.case.mark is Mark.TAINT and after.case.is_waived
        }
        self._tainting = {
            one.case.subject.node
            for one in settled_
            if one.case.mark is Mark.TAINT and not one.case.is_waived
        }
        decided = [self._decide(_waived(one) if _node(one) in freed else one) for one in settled_]
        kept = {one.case.subject.node for one in decided if _needs_taint(one)}
        return tuple(_keeping(one, kept) for one in decided)

    def _settled(self, case: Case) -> Case:
        return settled(case, self._observed, self._now)

    def _mode(self, case: Case) -> Mode:
        return self._moment.mode(case.subject.node)

    def _decide(self, look: Look) -> Decision:
        case, mode = look.case, self._mode(look.case)
        if case.held is not Verdict.FAILED:
            return self._unmarking(Decision(look, mode))
        fence = fencing(case, self._observed)
        found = Decision(look, mode, fence, self._stays.holders(case))
        if not look.is_bad:
            return self._resting(found)
        if self._breakers.stops(self._moment.rows(case.subject.node)):
            return replace(found, held_back=HeldBack.BREAKER)
        if case.is_waived and not self._is_others(case.subject, fence):
            return replace(found, held_back=HeldBack.WAIVED)
        return self._evicting(self._fencing(found))

    def _is_others(self, subject: Subject, fence: Fencing) -> bool:
        """Tell whether Pods are kept away by others than us, a person with our taint among them.

        A taint that we have placed for something else of the node is ours.
        """
        is_ours = fence.mark is Mark.TAINT and subject.node in self._tainting
        return fence.is_in_place and not is_ours

    def _resting(self, found: Decision) -> Decision:
        """Do nothing about what is not bad, or not to be judged, at this moment.

        Only a taint of ours makes way all the same for whoever keeps Pods from the device by now:
        once its Pod has left, nobody tells of a device that a kubelet withholds.
        """
        case, fence = found.case, found.fence
        why = HeldBack.UNKNOWN if case.is_blind else HeldBack.RECOVERING
        resting = replace(found, held_back=why)
        is_kept = fence is not None and _is_replaced(case.mark, fence)
        is_fresh = self._observed.nodes[case.subject.node].ready
        return self._relieving(resting) if is_kept and is_fresh else resting

    def _fencing(self, found: Decision) -> Decision:
        """Add the mark that keeps new Pods away, where one is needed and allowed."""
        case, fence = found.case, found.fence
        if fence is None or fence.mark is Mark.NONE or _is_replaced(case.mark, fence):
            return self._relieving(found)
        if fence.is_in_place and not is_going(case, self._now):
            return self._adopting(found, fence.mark)
        is_imagined = found.mode is Mode.OBSERVE
        self._marks += not is_imagined
        if self._marks > _MARKS:
            return found
        budget = self._imagined if is_imagined else self._budget
        if budget.quarantine(counted_as(case.subject, fence.mark), self._now):
            return replace(found, held_back=HeldBack.ROW)
        action = Action(
            Doing.RULE if fence.mark is Mark.RULE else Doing.TAINT,
            case.subject,
            found.mode,
            effect=self._effect(case) if fence.mark is Mark.RULE else NO_SCHEDULE,
            why="; ".join(found.look.said),
        )
        # A node's taint stays ours to take back until the rule that takes its place is there.
        is_kept = is_imagined or case.mark is Mark.TAINT
        marked = case if is_kept else replace(case, mark=fence.mark)
        return replace(
            found,
            look=replace(found.look, case=marked),
            locked_out=self._locked_out(case) if fence.by is Fence.TAINT else (),
            actions=(action,),
        )

    def _relieving(self, found: Decision) -> Decision:
        """Take our mark back where something smaller keeps Pods away by now (H7)."""
        case = found.case
        if case.mark is Mark.NONE or found.mode is Mode.OBSERVE or self._wavers(case):
            return found
        if not is_marked(case, self._observed):
            unmarked = replace(case, mark=Mark.NONE, is_seen=False)
            return replace(found, look=replace(found.look, case=unmarked))
        by = found.fence.by.value if found.fence is not None else ""
        return self._taking_back(found, f"Pods are kept from the device by {by}")

    def _wavers(self, case: Case) -> bool:
        """Tell whether a kubelet may hand a device out again at once, as one that flaps does."""
        policy = self._moment.policy
        stands_s = policy.observe_every_s * policy.good_observations
        return case.withheld > 0 and self._now - case.withheld < stands_s

    def _adopting(self, found: Decision, mark: Mark) -> Decision:
        """Take a mark for ours that another controller has placed: the ledger knows of it."""
        case = found.case
        since = self._budget.quarantined_at(counted_as(case.subject, mark))
        if case.mark is not Mark.NONE or since is None:
            return found
        return replace(found, look=replace(found.look, case=replace(case, mark=mark)))

    def _effect(self, case: Case) -> str:
        """Return a rule's next effect: none at first, until the rule was read back (H7)."""
        return NO_EFFECT if rule_of(case.subject, self._observed) is None else NO_SCHEDULE

    def _evicting(self, found: Decision) -> Decision:
        """Add evictions of those who hold the subject, where it is fenced and they may go."""
        if found.fence is None or found.held_back or found.mode is Mode.QUARANTINE:
            return found
        is_imagined = found.mode is Mode.OBSERVE
        is_due = self._now - found.case.failed >= self._moment.policy.evict_after_s
        if not is_imagined and not (found.fence.is_in_place and is_due):
            return found
        budget = self._imagined if is_imagined else self._budget
        actions, spent = list(found.actions), None
        holders_ = []
        for holder in found.holders or ():
            pod = holder.pod
            # Once more: another Pod of its Job may have been decided upon meanwhile.
            why = holder.why or self._stays.why(found.case, pod)
            why = why or self._stays.returns(found.case.subject, found.fence, pod, budget)
            holders_.append(replace(holder, why=why))
            no = None if why else budget.evict(pod, self._now, self._stays.newest(pod))
            spent = no or spent
            if not (why or no):
                self._stays.moved(pod)
                actions.append(self._action(Doing.EVICT, found, pod))
        dead = (
            pod
            for pod in rejected(found.case.subject, self._observed)
            if not pod.leaves and pod.uid not in self._moment.paused and self._goes(found.case, pod)
        )
        actions += [self._action(Doing.REMOVE, found, pod) for pod in islice(dead, _DEAD)]
        kept = found.holders if found.holders is None else tuple(holders_)
        return replace(found, holders=kept, actions=tuple(actions), spent=spent)

    def _goes(self, case: Case, pod: PodFacts) -> bool:
        return is_removable(pod, self._observed.jobs, case.failed, self._now)

    def _action(self, doing: Doing, found: Decision, pod: PodFacts) -> Action:
        why = "; ".join(found.look.said)
        mark = found.fence.mark if found.fence is not None else Mark.NONE
        return Action(doing, found.case.subject, found.mode, pod=pod, fence=mark, why=why)

    def _unmarking(self, found: Decision) -> Decision:
        """Take our mark back: only when healthy, and never in Observe (H10)."""
        case = found.case
        is_over = case.held is not Verdict.FAILED and not case.is_blind
        if not is_over or found.mode is Mode.OBSERVE or case.mark is Mark.NONE:
            return found
        if not is_marked(case, self._observed):
            return found
        return self._taking_back(found, "it is healthy again")

    def _taking_back(self, found: Decision, why: str) -> Decision:
        case = found.case
        doing = Doing.UNRULE if case.mark is Mark.RULE else Doing.UNTAINT
        action = Action(doing, case.subject, found.mode, why=why)
        # What is gone from now on was taken by us: should it fail again at once, no person did it.
        is_new = self._now - case.unmarked >= _TRIED_FOR_S
        at = self._now if is_new else case.unmarked
        unseen = replace(case, is_seen=False, unmarked=at)
        return replace(found, look=replace(found.look, case=unseen), actions=(action,))

    def _locked_out(self, case: Case) -> tuple[str, ...]:
        node = self._observed.nodes[case.subject.node]
        out = (
            one.key
            for one in self._observed.daemons
            if not one.tolerates(UNHEALTHY) and one.runs_on(node)
        )
        return tuple(sorted(out))


def _is_replaced(mark: Mark, fence: Fencing) -> bool:
    """Tell whether something else than our mark keeps Pods away by now."""
    return mark is not Mark.NONE and fence.is_in_place and fence.mark is not mark


def _node(look: Look) -> str:
    return look.case.subject.node


def _waived(look: Look) -> Look:
    """Return it as a person who removed a node's taint has it: for whatever is wrong there."""
    case = look.case
    if case.held is not Verdict.FAILED or case.mark is not Mark.NONE:
        return look
    return replace(look, case=replace(case, waived=case.digest))


def _turn(case: Case) -> tuple[float, Subject]:
    """Return whose turn comes first: who failed first."""
    return case.failed, case.subject


def _needs_taint(decision: Decision) -> bool:
    """Tell whether a node's taint keeps Pods off a subject, whoever of the node it is for."""
    case, fence = decision.case, decision.fence
    is_by_other = fence is not None and _is_replaced(Mark.TAINT, fence)
    is_ours = case.mark is Mark.TAINT and case.held is Verdict.FAILED
    return is_ours and not is_by_other and not case.is_waived


def _keeping(decision: Decision, kept: Collection[str]) -> Decision:
    """Leave a node's taint there while another subject of the node needs it."""
    needed = tuple(one for one in decision.actions if one.doing is not Doing.UNTAINT)
    if decision.case.subject.node not in kept or needed == decision.actions:
        return decision
    # It is not taken back, so that it was not even tried.
    look = replace(decision.look, case=replace(decision.case, is_seen=True, unmarked=0.0))
    return replace(decision, look=look, actions=needed)
