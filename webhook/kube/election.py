"""Who of several controllers acts: the holder of a Lease (``coordination.k8s.io/v1``).

The official client has an election, too. It goes by the wall clock, so that a clock which is set
back leaves a cluster without a leader for as long; it gives up when the API server does not answer;
and it never hands over. This one measures by a clock that cannot be set, and does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from webhook.kube.cluster import Cluster, Json
from webhook.kube.errors import ApiError, ClusterError


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of an election, in the proportions of Kubernetes' own controllers.

    Attributes:
        lease_s: A holder that has not renewed for so long is taken for gone.
        deadline_s: A holder that could not renew for so long stops acting; shorter, so that two
            never act at once.
        retry_s: Between two attempts to take or renew.
    """

    lease_s: float = 15.0
    deadline_s: float = 10.0
    retry_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Clocks:
    """Two clocks.

    Attributes:
        now: The present, for the Lease's times, which are for people.
        monotonic: Seconds that nobody can set, for every decision.
    """

    now: Callable[[], datetime]
    monotonic: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Seat:
    """What is contended for, and by whom: the Lease's place and the candidate's own name."""

    namespace: str
    name: str
    identity: str

    @property
    def path(self) -> str:
        """The Lease."""
        return f"{self.collection}/{self.name}"

    @property
    def collection(self) -> str:
        """The Leases of the namespace."""
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"


class Election:
    """One candidate.

    Args:
        cluster: Where the Lease is.
        seat: Which Lease, and who we are; no two candidates share an identity.
        clocks: What it measures by.
        said: Told why the Lease cannot be read or written, once for every new reason.
        timing: How patient to be.
    """

    def __init__(
        self,
        cluster: Cluster,
        seat: Seat,
        *,
        clocks: Clocks,
        said: Callable[[str], None] = lambda _: None,
        timing: Timing = Timing(),
    ) -> None:
        self._cluster = cluster
        self._seat = seat
        self._clock = clocks.now
        self._monotonic = clocks.monotonic
        self._timing = timing
        self._seen: tuple[object, ...] = ()
        self._seen_at = 0.0
        self._said = said
        self._trouble = ""

    def run(self, stopping: threading.Event, lead: Callable[[threading.Event], None]) -> None:
        """Take part until ``stopping`` is set.

        Args:
            stopping: Ends it; a lease that is held is handed over.
            lead: Called in a thread of its own when the lease was won, with an event that is set
                when it is lost; has to return soon after.
        """
        while not stopping.is_set():
            asked = self._monotonic()
            if self._try():
                self._lead(asked, stopping, lead)
            else:
                stopping.wait(self._timing.retry_s)

    def _lead(
        self,
        renewed: float,
        stopping: threading.Event,
        lead: Callable[[threading.Event], None],
    ) -> None:
        """Act until the lease is lost, which was asked for at ``renewed`` and won."""
        lost = threading.Event()
        leading = threading.Thread(target=lead, args=(lost,), name="leading", daemon=True)
        leading.start()
        while leading.is_alive() and not stopping.wait(self._timing.retry_s):
            asked = self._monotonic()
            if self._try():
                renewed = asked
            elif self._monotonic() - renewed > self._timing.deadline_s or not self._may_be_ours():
                break
        lost.set()
        leading.join()
        if self._may_be_ours():
            self._hand_over()

    def _may_be_ours(self) -> bool:
        return not self._seen or self._seen[0] == self._seat.identity

    def _try(self) -> bool:
        """Take or renew the lease; tell whether it is ours now."""
        try:
            return self._take()
        except ApiError as error:
            # Somebody else was quicker, or there is something to repair: an absent permission.
            if not error.is_conflict:
                self._say(str(error))
        except ClusterError as error:
            self._say(str(error))
        return False

    def _say(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            self._said(trouble)
        self._trouble = trouble

    def _take(self) -> bool:
        try:
            lease = self._cluster.get(self._seat.path)
        except ApiError as error:
            if not error.is_not_found:
                raise
            self._noted(self._cluster.create(self._seat.collection, self._lease({})))
            return True
        self._noted(lease)
        holder = self._seen[0]
        waited = self._monotonic() - self._seen_at
        if holder not in {self._seat.identity, ""} and waited < self._timing.lease_s:
            return False
        self._noted(self._cluster.replace(self._seat.path, self._lease(lease)))
        return True

    def _noted(self, lease: Json) -> None:
        """Remember who holds it, and since when it has not changed."""
        self._say("")
        spec = lease.get("spec") or {}
        seen = (spec.get("holderIdentity") or "", spec.get("renewTime"))
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._monotonic()

    def _lease(self, former: Json) -> Json:
        """Return the Lease as ours from now on; its version makes the write fail on a conflict."""
        spec = former.get("spec") or {}
        now = self._clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        ours = spec.get("holderIdentity") == self._seat.identity
        turns = int(spec.get("leaseTransitions") or 0)
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": former.get("metadata") or {"name": self._seat.name},
            "spec": {
                "holderIdentity": self._seat.identity,
                "leaseDurationSeconds": max(1, round(self._timing.lease_s)),
                "acquireTime": (ours and spec.get("acquireTime")) or now,
                "renewTime": now,
                "leaseTransitions": turns if ours or not former else turns + 1,
            },
        }

    def _hand_over(self) -> None:
        """Give the lease back, so that the next one need not wait for its end."""
        try:
            lease = self._cluster.get(self._seat.path)
            if (lease.get("spec") or {}).get("holderIdentity") == self._seat.identity:
                lease["spec"]["holderIdentity"] = ""
                self._cluster.replace(self._seat.path, lease)
        except ClusterError as error:
            self._say(str(error))  # it ends by itself after lease_s
        self._seen = ()
