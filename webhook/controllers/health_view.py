"""What the health loop sees: mirrors as facts to judge by, and Jobs, looked up when needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webhook.controllers.world import World
from webhook.health.cases import Verdict
from webhook.health.decisions import Decision
from webhook.health.gather import Facts, devices_of
from webhook.health.observed import Devices, Holdings
from webhook.health.permits import jobs_needed
from webhook.inventory.facts import Json
from webhook.inventory.job_facts import JobFacts
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ClusterError
from webhook.kube.jobs import job_of

# A Job that was looked at counts for that long: its Pods fail meanwhile. One that could not be
# looked at is not asked for again sooner than that, so that others have their turn.
_FRESH_S = 5.0
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

    def jobs(self, decisions: Iterable[Decision], steady: float) -> Mapping[str, JobFacts]:
        """Return the Jobs of Pods that hold what has failed, by uid; some may not be known yet.

        Args:
            decisions: What has failed, and who holds it.
            steady: Seconds of a steady clock.
        """
        pods = tuple(
            holder.pod
            for one in decisions
            if one.case.held is Verdict.FAILED
            for holder in one.holders or ()
        )
        needed = {uid: (namespace, name) for namespace, name, uid in jobs_needed(pods)}
        self._jobs = {uid: one for uid, one in self._jobs.items() if uid in needed}
        due = sorted(uid for uid in needed if self._is_due(uid, steady))
        for uid in due[:_JOBS]:
            self._jobs[uid] = steady, job_of(self._get, *needed[uid], uid)
        return {uid: facts for uid, (_, facts) in self._jobs.items() if facts is not None}

    def forget(self, uid: str) -> None:
        """Look at a Job again before anything else is decided about it."""
        self._jobs.pop(uid, None)

    def _is_due(self, uid: str, steady: float) -> bool:
        if uid not in self._jobs:
            return True
        at, facts = self._jobs[uid]
        return steady - at > (_UNKNOWN_S if facts is None else _FRESH_S)

    def _get(self, path: str) -> Json | None:
        try:
            return self._cluster.get(path)
        except ClusterError:
            return None
