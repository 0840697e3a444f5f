"""The loop that makes the ResourceClaimTemplates which Pods bring along, and sweeps them (C3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from webhook.controllers.board import Board, Part
from webhook.controllers.claim_jobs import Done, Job, Jobs
from webhook.controllers.claim_metrics import ClaimTemplateMetrics
from webhook.controllers.claim_sources import Judged, Sources
from webhook.controllers.claim_tries import Tries
from webhook.controllers.claim_words import (
    Stuck,
    Why,
    blind,
    condition,
    nudge,
    odd,
    stuck,
    told,
)
from webhook.controllers.pod_events import event_name, warning_event
from webhook.controllers.world import World
from webhook.inventory.claim_needs import ClaimNeeds, Past, TemplateFacts, claim_needs
from webhook.inventory.pod_facts import PodFacts
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ClusterError
from webhook.kube.versions import server_version
from webhook.logs import Log
from webhook.terms import TEMPLATE_MISSING

_LOOK_S = 30.0
# While somebody waits: what was refused is tried again, and Kubernetes' pauses are ended.
_BUSY_S = 0.5

# A Pod that has waited for so long is told why; before, its template is just being made.
_TOLD_AFTER_S = 5.0

# Pods to read for templates, statuses and Events, of each, in one job; the next ones have the rest.
_PORTION = 100

# The last version of Kubernetes that pauses before it looks for a template again.
_PAUSING = (1, 35)


class _Drafts(dict[str, Job]):
    """The jobs that are to be started, by namespace."""

    def __missing__(self, namespace: str) -> Job:
        self[namespace] = Job(namespace)
        return self[namespace]


class ClaimTemplateLoop:
    """Makes what Pods need, sweeps what none needs, and tells Pods that wait for long.

    Admission writes nothing but the Pod; this follows from what is stored. Nothing is remembered
    that the next leader would need: whatever was cut off is made good by the next look.

    Args:
        cluster: Asked for its version.
        world: What is looked at.
        jobs: Write.
        in_use: The name of the table that serves.
        board: Told how many Pods wait for what.
        log: Told of every template that is made or swept, and of what cannot be.
        metrics: Told the same in numbers.
        monotonic: Seconds that nobody can set, by which waits are counted.
        grace_s: How long a template stays that no Pod names.
    """

    name = "claim-templates"

    def __init__(  # noqa: PLR0913 -- each is a thing of its own, named where it is given
        self,
        cluster: Cluster,
        world: World,
        jobs: Jobs,
        *,
        in_use: str,
        board: Board,
        log: Log,
        metrics: ClaimTemplateMetrics,
        monotonic: Callable[[], float],
        grace_s: float,
    ) -> None:
        self._cluster = cluster
        self._world = world
        self._jobs = jobs
        self._board = board
        self._log = log
        self._metrics = metrics
        self._monotonic = monotonic
        self._grace_s = grace_s
        self._past = Past()
        self._tries = Tries()
        self._sources = Sources(in_use)
        self._nudged: set[str] = set()
        self._told: set[str] = set()
        self._logged: dict[str, frozenset[str]] = {}
        self._pausing: bool | None = None

    def run(self, now: datetime) -> float:
        """Take back what was done in each namespace, and start what is to be done there."""
        world = self._world
        steady = self._monotonic()
        for done in self._jobs.results():
            self._note(done, steady)
        looked_at = world.pods, world.templates
        if trouble := world.blind(*looked_at) or world.never_seen(world.tables):
            # What is not seen is not judged. After an outage everything is tried again at once.
            self._tries = Tries()
            self._board.post(self.name, Part((blind(trouble),)))
            return 1.0
        if not world.ready(world.tables, *looked_at):
            return 1.0
        needs = self._needs(steady)
        judged = self._sources.judge(
            needs.missing, world.tables.held(), self._tries.why(needs.missing, steady)
        )
        waiting = [stuck(one, judged.causes) for one in needs.waiting]
        waiting += [
            Stuck(pod, _TOLD_AFTER_S, name, odd())
            for (_, name), pods in needs.odd.items()
            for pod in pods
        ]
        long = [one for one in waiting if one.seconds >= _TOLD_AFTER_S]
        self._metrics.waits(one.cause for one in waiting)
        said = condition(one for one in long if one.cause.why is not Why.LEAVING)
        self._board.post(self.name, Part((said,)))
        jobs = _Drafts()
        self._draft_makes(judged, jobs, steady)
        for namespace, name in needs.idle:
            jobs[namespace].sweeps.append(name)
        self._draft_nudges(needs.late, jobs, now)
        self._draft_events(long, jobs, now)
        for namespace, job in jobs.items():
            if not self._jobs.is_busy(namespace) and self._tries.may_work(namespace, steady):
                self._jobs.start(job, is_slow=self._tries.is_slow(namespace))
        nudges = needs.past.late.keys() - self._nudged if self._pausing is not False else ()
        if needs.missing or nudges:
            return _BUSY_S
        return max(_BUSY_S, min(_LOOK_S, self._grace_s, self._tries.seconds_assumed(steady)))

    def _needs(self, steady: float) -> ClaimNeeds:
        """Look at Pods and templates, and forget what is about none of them any more."""
        seen = self._world.templates.held().values()
        unseen = self._tries.unseen({one.key for one in seen}, steady)
        needs = claim_needs(
            self._world.pods.held().values(),
            [*seen, *(TemplateFacts(key, is_ours=False) for key in unseen)],
            self._past,
            now=steady,
            grace_s=self._grace_s,
        )
        self._past = needs.past
        self._tries.keep(needs.missing.keys(), needs.namespaces)
        self._logged = {key: one for key, one in self._logged.items() if key in needs.namespaces}
        return needs

    def _draft_makes(self, judged: Judged, jobs: _Drafts, steady: float) -> None:
        """Ask for what is due, of as many Pods as one job may read."""
        left: dict[str, int] = {}
        for key in self._tries.due(judged.askable, steady):
            namespace, name = key
            pods = judged.askable[key][: left.get(namespace, _PORTION)]
            if pods:
                job = jobs[namespace]
                job.makes[name], job.classes = pods, judged.classes
                left[namespace] = left.get(namespace, _PORTION) - len(pods)

    def _draft_nudges(self, late: Iterable[PodFacts], jobs: _Drafts, now: datetime) -> None:
        """Touch each Pod once for which Kubernetes pauses though its templates are there."""
        self._nudged &= self._past.late.keys()
        for pod in late:
            if pod.uid in self._nudged or not self._is_pausing():
                continue
            nudges = jobs[pod.namespace].nudges
            if len(nudges) < _PORTION:
                nudges[pod.uid] = nudge(pod, now)

    def _draft_events(self, long: Iterable[Stuck], jobs: _Drafts, now: datetime) -> None:
        """Tell each Pod once about each cause for which it waits."""
        named = {
            event_name(one.pod, f"{one.template} {one.cause.kind}"): one
            for one in long
            if one.cause.why not in {Why.LEAVING, Why.UNANSWERED}
        }
        self._told &= named.keys()
        for name, one in named.items():
            if name in self._told:
                continue
            events = jobs[one.pod.namespace].events
            if len(events) < _PORTION:
                events[name] = warning_event(name, one.pod, TEMPLATE_MISSING, told(one), now)

    def _is_pausing(self) -> bool:
        """Tell whether this Kubernetes looks for a template again only after a pause."""
        if self._pausing is None:
            try:
                self._pausing = server_version(self._cluster) <= _PAUSING
            except ClusterError:
                return False  # the next look asks again
        return self._pausing

    def _note(self, done: Done, steady: float) -> None:
        """Remember what came of a job, count it and log it."""
        self._complain(done)
        self._tries.note(done, steady)
        if not done.problems and not self._tries.is_refused(done.namespace):
            self._logged.pop(done.namespace, None)
        self._sources.note(done)
        used = {(done.namespace, name) for name in (*done.swept, *done.used)}
        self._past = self._past.used_just_now(used)
        self._nudged |= set(done.nudged)
        self._told |= set(done.told)
        self._metrics.wrote(done)
        for what, names in (("made", done.made), ("swept", done.swept)):
            for name in names:
                self._log.info(f"claim template {what}", namespace=done.namespace, template=name)

    def _complain(self, done: Done) -> None:
        """Log what went wrong in a namespace: every new reason once, until all went well again."""
        for name, failure in done.failed.items():
            former = self._tries.failures.get((done.namespace, name))
            if not failure.leaving and (former is None or former.kind != failure.kind):
                said = {"namespace": done.namespace, "template": name, "why": failure.text}
                self._log.warning("claim template not made", **said)
        problems = frozenset(done.problems)
        for problem in sorted(problems - self._logged.get(done.namespace, frozenset())):
            self._log.warning("claim templates", namespace=done.namespace, problem=problem)
        if problems:
            self._logged[done.namespace] = problems
