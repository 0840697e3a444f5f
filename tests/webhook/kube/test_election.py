"""Of several candidates one acts, and another when that one is gone."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from tests.cluster.api import wait_until
from tests.webhook.kube.leases import Clock, Leases
from webhook.kube.cluster import Cluster
from webhook.kube.election import Clocks, Election, Seat, Timing
from webhook.kube.errors import ApiError, UnreachableError

QUICK = Timing(lease_s=15.0, deadline_s=10.0, retry_s=0.002)


class Candidate:
    """One process' part, in a thread."""

    def __init__(self, name: str, leases: Leases, clock: Clock) -> None:
        self.leading = threading.Event()
        self.stopping = threading.Event()
        self.terms = 0
        self.said: list[str] = []
        election = Election(
            cast("Cluster", leases),
            Seat("system", "lease", name),
            clocks=Clocks(clock.now, clock.monotonic),
            said=self.said.append,
            timing=QUICK,
        )
        self._thread = threading.Thread(
            target=election.run, args=(self.stopping, self._lead), daemon=True
        )

    def start(self) -> Candidate:
        self._thread.start()
        return self

    def stop(self) -> None:
        self.stopping.set()
        self._thread.join(10)
        assert not self._thread.is_alive()

    def _lead(self, lost: threading.Event) -> None:
        self.terms += 1
        self.leading.set()
        lost.wait()
        self.leading.clear()


@pytest.fixture
def leases() -> Leases:
    return Leases()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def candidate(name: str, leases: Leases, clock: Clock) -> Candidate:
    return Candidate(name, leases, clock).start()


def leads(one: Candidate) -> None:
    wait_until(one.leading.is_set, timeout=10, what="it to lead", poll=0.001)


def stands_by(one: Candidate) -> None:
    assert not one.leading.wait(0.1)


def test_the_first_leads_and_the_second_stands_by(leases: Leases, clock: Clock) -> None:
    one = candidate("one", leases, clock)
    leads(one)
    two = candidate("two", leases, clock)
    stands_by(two)
    assert leases.holder == "one"
    assert leases.lease is not None
    assert leases.lease["spec"]["leaseDurationSeconds"] == 15
    assert leases.lease["spec"]["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    one.stop()
    leads(two)  # at once: the clock has not moved
    assert leases.lease["spec"]["leaseTransitions"] == 1
    two.stop()
    assert leases.holder == ""


def test_a_holder_that_is_gone_is_followed_when_its_lease_has_run_out(
    leases: Leases, clock: Clock
) -> None:
    one = candidate("one", leases, clock)
    leads(one)
    one.stop()
    leases.lease = {
        "metadata": {"resourceVersion": "9"},
        "spec": {"holderIdentity": "gone", "renewTime": "2026-01-01T00:00:00.000000Z"},
    }
    two = candidate("two", leases, clock)
    clock.passed = 14.0
    stands_by(two)
    clock.passed = 16.0
    leads(two)
    two.stop()


@pytest.mark.parametrize("hours", [-24, 24], ids=["set back", "set forward"])
def test_a_wall_clock_that_is_set_moves_nobody(leases: Leases, clock: Clock, hours: int) -> None:
    one = candidate("one", leases, clock)
    two = candidate("two", leases, clock)
    wait_until(lambda: one.leading.is_set() or two.leading.is_set(), timeout=10, what="a leader")
    first, second = (one, two) if one.leading.is_set() else (two, one)
    clock.wall_set_by *= 0
    clock.wall_set_by += type(clock.wall_set_by)(hours=hours)
    stands_by(second)
    assert first.leading.is_set()
    assert first.terms == 1
    first.stop()
    leads(second)
    second.stop()


def test_a_short_outage_is_sat_out_and_told_once(leases: Leases, clock: Clock) -> None:
    one = candidate("one", leases, clock)
    leads(one)
    leases.failing = UnreachableError("nobody listens")
    clock.passed = 9.0
    wait_until(lambda: one.said, timeout=10, what="it to notice")
    assert one.leading.is_set()
    leases.failing = None
    version = leases.lease["metadata"]["resourceVersion"] if leases.lease else ""
    wait_until(
        lambda: leases.lease and leases.lease["metadata"]["resourceVersion"] != version,
        timeout=10,
        what="a renewal",
    )
    assert one.said == ["nobody listens"]
    assert one.terms == 1
    one.stop()


def test_a_long_outage_ends_the_term_before_anybody_else_can_begin_one(
    leases: Leases, clock: Clock
) -> None:
    one = candidate("one", leases, clock)
    leads(one)
    leases.failing = UnreachableError("nobody listens")
    clock.passed = 10.5
    wait_until(lambda: not one.leading.is_set(), timeout=10, what="the term to end")
    leases.failing = None
    leads(one)
    assert one.terms == 2
    one.stop()


def test_a_lease_taken_by_somebody_else_ends_the_term(leases: Leases, clock: Clock) -> None:
    one = candidate("one", leases, clock)
    leads(one)
    with leases._lock:
        assert leases.lease is not None
        leases.lease["spec"]["holderIdentity"] = "usurper"
        leases.lease["metadata"]["resourceVersion"] = "1000"
    wait_until(lambda: not one.leading.is_set(), timeout=10, what="the term to end")
    stands_by(one)
    assert leases.holder == "usurper"
    one.stop()
    assert leases.holder == "usurper"


def test_a_missing_permission_is_told(leases: Leases, clock: Clock) -> None:
    leases.failing = ApiError("GET /lease", 403, "Forbidden", "cannot get leases")
    one = candidate("one", leases, clock)
    wait_until(lambda: one.said, timeout=10, what="it to say so")
    assert one.said == ["GET /lease: 403 Forbidden: cannot get leases"]
    stands_by(one)
    one.stop()


def test_a_term_that_ends_by_itself_is_followed_by_another_election(
    leases: Leases, clock: Clock
) -> None:
    stopping = threading.Event()
    terms: list[int] = []

    def lead(_: threading.Event) -> None:
        terms.append(len(terms))
        if len(terms) == 2:
            stopping.set()

    Election(
        cast("Cluster", leases),
        Seat("system", "lease", "one"),
        clocks=Clocks(clock.now, clock.monotonic),
        timing=QUICK,
    ).run(stopping, lead)
    assert terms == [0, 1]
    assert leases.holder == ""
