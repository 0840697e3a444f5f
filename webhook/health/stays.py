"""Who holds what has failed, and who of them is not evicted now, and why (semantics H8, H9)."""

from __future__ import annotations

from collections import Counter

from webhook.health.budget import Budget
from webhook.health.cases import Case, Mark
from webhook.health.decisions import REFUSED, Holder
from webhook.health.fences import UNHEALTHY, Fence, Fencing, counted_as
from webhook.health.holders import holders
from webhook.health.moment import Moment
from webhook.health.permits import is_of_job, permit
from webhook.health.subjects import Subject
from webhook.inventory.pod_facts import PodFacts
from webhook.inventory.taints import keeps_pods_away, tolerated
from webhook.terms import ON_FAILURE_ANNOTATION

# A Pod is gone some seconds after the grace that it was given, if it goes at all.
_OVERDUE_S = 30.0

# A Pod made so long after a mark was placed had been seen to be kept away, was it to be.
_UNDERWAY_S = 60.0


class Stays:
    """Tells why Pods stay, while plans are made.

    Args:
        moment: What there is.
    """

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self._observed = moment.observed
        leaving = [pod for pod in self._observed.pods if pod.leaves and is_of_job(pod)]
        overdue = {pod.uid for pod in leaving if moment.now >= pod.leaves_by + _OVERDUE_S}
        # Jobs of which a Pod goes now, or went just now, or is about to be gone.
        self._jobs = {pod.owner.uid for pod in leaving if pod.uid not in overdue}
        self._jobs |= set(moment.paused)
        # What hangs in its device may never be gone; it has not counted against its Job yet.
        self._overdue = Counter(pod.owner.uid for pod in leaving if pod.uid in overdue)

    def holders(self, case: Case) -> tuple[Holder, ...] | None:
        """Return who holds a subject, each with why it stays; None where that cannot be told."""
        pods = holders(case.subject, self._observed)
        if pods is None:
            return None
        return tuple(Holder(pod, self.why(case, pod)) for pod in pods)

    def why(self, case: Case, pod: PodFacts) -> str:
        """Return why a Pod is not evicted now; "" where it may be."""
        if pod.leaves:
            return "it is being deleted"
        if pod.uid in self._moment.paused:
            return REFUSED
        why = permit(pod, self._observed.jobs, case.failed, self._moment.now).why
        return why or self._why_of_job(pod)

    def newest(self, pod: PodFacts) -> float:
        """Return when the newest of a Pod's owner's Pods on its node was created."""
        beside = self._observed.by_node.get(pod.node, ())
        return max(one.created for one in beside if one.owner.uid == pod.owner.uid)

    def moved(self, pod: PodFacts) -> None:
        """Note that a Pod goes: its Job is looked at again before another one of it does."""
        if is_of_job(pod):
            self._jobs.add(pod.owner.uid)

    def returns(self, subject: Subject, fence: Fencing, pod: PodFacts, budget: Budget) -> str:
        """Return why a Pod's replacement could come back in spite of what keeps others away (H8).

        It tolerates that, or it came here while others could not: by its node's name, or by
        another scheduler.
        """
        if fence.by is Fence.TAINT and tolerated(UNHEALTHY, pod.tolerations):
            return f"it tolerates our taint {UNHEALTHY}, so the next one could come back"
        key = subject.driver, subject.pool, subject.device
        if (pod.uid, key) in self._observed.holdings.lasting and pod.on_failure != "evict":
            return (
                "its claim was not made for it alone and keeps the device, so the next one would "
                f"get it again; delete all who use it, or say {ON_FAILURE_ANNOTATION}: evict"
            )
        if fence.by in (Fence.RULE, Fence.DRIVER) and self._claim_tolerates(subject, fence, pod):
            return "its claim tolerates the device's taint, so the next one could get it again"
        newest = budget.evicted(pod.node, pod.owner.uid) if pod.owner.uid else None
        if newest is not None and pod.created > newest:
            return "it came in the place of one that was just evicted, so the next one could, too"
        marked = None if fence.mark is Mark.NONE else counted_as(subject, fence.mark)
        since = None if marked is None else budget.quarantined_at(marked)
        if since is not None and pod.created > since + _UNDERWAY_S:
            return f"it came when {fence.by.value} kept others away, so the next one could, too"
        return ""

    def _why_of_job(self, pod: PodFacts) -> str:
        job = self._observed.jobs.get(pod.owner.uid) if is_of_job(pod) else None
        if job is None or job.ignores:
            return ""
        if pod.owner.uid in self._jobs:
            return "another Pod of its Job goes first: each counts as a failure of the Job"
        hanging = self._overdue[pod.owner.uid]
        if hanging and not job.outlives(pod, hanging):
            return f"{hanging} of its Job's Pods do not end, and one more would end the Job"
        return ""

    def _claim_tolerates(self, subject: Subject, fence: Fencing, pod: PodFacts) -> bool:
        key = subject.driver, subject.pool, subject.device
        tolerations = self._observed.holdings.tolerations.get((pod.uid, key), ())
        taints = [UNHEALTHY]
        if fence.by is Fence.DRIVER:
            taints = [
                one for one in self._observed.devices.tainted.get(key, ()) if keeps_pods_away(one)
            ]
        return bool(taints) and all(tolerated(one, tolerations) for one in taints)
