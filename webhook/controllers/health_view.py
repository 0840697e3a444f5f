"""What the health loop sees: mirrors as facts to judge by, and Jobs, looked up when needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import chain

from selection_spec.health import Mode
from webhook.controllers.world import World
from webhook.health.cases import Verdict
from webhook.health.decisions import Decision, HeldBack
from webhook.health.gather import Facts, devices_of
from webhook.health.holders import rejected
from webhook.health.observed import Devices, Holdings, Observed
from webhook.health.permits import jobs_needed
from webhook.inventory.facts import Json
from webhook.inventory.job_facts import JobFacts
from webhook.inventory.pod_facts import PodFacts
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ApiError, UnreachableError
from webhook.kube.jobs import job_of

# A Job that was looked at counts for that long: its Pods fail meanwhile. Where nothing is evicted,
# and it is only told what would be, for longer. One that could not be looked at is not asked for
# again sooner than that.
_FRESH_S = 5.0
_TOLD_S = 60.0
_UNKNOWN_S = 60.0
# Jobs that are looked up in one run.
_JOBS = 50


class HealthView:
    """Makes facts of what is mirrored; what did not change is not made again.

    Args:
        cluster: Where Jobs are looked up.
        world: The mirrors.
    """

    def __init__(self, cluster: Cluster, world: World) -> None:
        self._cluster = cluster
        self._world = world
        self._devices = -1, Devices()
        self._holdings = -1, Holdings()
        self._jobs: dict[str, tuple[float, JobFacts | None]] = {}

    def facts(self) -> Facts:
        """Return what there is now."""
        world = self._world
        # Counted before it is read: what comes in between is looked at again.
        if self._devices[0] != (changes := world.slices.changes):
            self._devices = changes, devices_of(world.slices.held().values())
        if self._holdings[0] != (changes := world.claims.changes):
            self._holdings = changes, Holdings(world.claims.held().values())
        return Facts(
            nodes=world.nodes.held(),
            pods=world.pods.held().values(),
            devices=self._devices[1],
            holdings=self._holdings[1],
            rules=world.rules.held(),
            daemons=tuple(world.daemons.held().values()),
        )

    def jobs(
        self, decisions: Iterable[Decision], observed: Observed, steady: float
    ) -> Mapping[str, JobFacts]:
        """Return the Jobs of Pods that may be to go, by uid; some may not be known yet.

        Args:
            decisions: What has failed, and who holds it.
            observed: What was decided upon: it has the Pods that are dead.
            steady: Seconds of a steady clock.
        """
        needed: dict[str, tuple[str, str]] = {}
        fresh: dict[str, float] = {}
        for one in decisions:
            for namespace, name, uid in jobs_needed(_concerned(one, observed)):
                needed[uid] = namespace, name
                fresh[uid] = min(fresh.get(uid, _TOLD_S), _fresh_s(one))
        self._jobs = {uid: one for uid, one in self._jobs.items() if uid in needed}
        due = [uid for uid in needed if self._is_due(uid, fresh[uid], steady)]
        for uid in sorted(due, key=lambda uid: (self._looked(uid), uid))[:_JOBS]:
            self._jobs[uid] = steady, None
            try:
                self._jobs[uid] = steady, job_of(self._get, *needed[uid], uid)
            except UnreachableError:
                break  # the next ones would take as long
        return {uid: facts for uid, (_, facts) in self._jobs.items() if facts is not None}

    def forget(self, uid: str) -> None:
        """Look at a Job again before anything else is decided about it."""
        self._jobs.pop(uid, None)

    def _is_due(self, uid: str, fresh_s: float, steady: float) -> bool:
        _, facts = self._jobs.get(uid, (0.0, None))
        is_unknown = uid in self._jobs and facts is None
        return steady - self._looked(uid) > (_UNKNOWN_S if is_unknown else fresh_s)

    def _looked(self, uid: str) -> float:
        """Return when a Job was looked at: whoever waits longest comes first."""
        return self._jobs[uid][0] if uid in self._jobs else -math.inf

    def _get(self, path: str) -> Json | None:
        try:
            return self._cluster.get(path)
        except ApiError:
            return None


def _concerned(decision: Decision, observed: Observed) -> Iterable[PodFacts]:
    """Return the Pods that may be to go; under a breaker nobody is, and nobody asks."""
    case = decision.case
    if case.held is not Verdict.FAILED or decision.held_back is HeldBack.BREAKER:
        return ()
    holding = (holder.pod for holder in decision.holders or ())
    return chain(holding, rejected(case.subject, observed))


def _fresh_s(decision: Decision) -> float:
    is_acting = decision.mode is Mode.EVICT and not decision.held_back
    return _FRESH_S if is_acting else _TOLD_S
