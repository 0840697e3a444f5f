"""The API server is away for a while: replicas serve on, and one controller leads afterwards.

On a control plane of its own: Kubernetes' own parts take a minute to find back, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.api import wait_until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import small_fleet
from tests.cluster.live import tables
from tests.cluster.live.conftest import NODES
from tests.cluster.live.programs import Controller, Replica, agree
from tests.cluster.versions import ON_NEWEST
from webhook.terms import TABLES_PATH

pytestmark = ON_NEWEST

FLEETS_DIGEST = "e714847787031e18"
SECONDS = 60.0
AWAY_SECONDS = 20.0


@pytest.fixture(scope="module")
def plane(kubernetes: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    workdir = tmp_path_factory.mktemp(f"outages-{kubernetes}-")
    with ControlPlane.start(kubernetes, nodes=small_fleet(NODES), workdir=workdir) as control_plane:
        tables.install_resource(control_plane.api)
        yield control_plane


def test_an_api_server_that_goes_and_comes_back_changes_nothing(
    table: ControlPlane, replicas: list[Replica], tmp_path: Path
) -> None:
    controllers = [Controller(name, table.kubeconfig, tmp_path) for name in ("one", "two")]
    try:
        for each in controllers:
            each.start()
        agree(replicas, FLEETS_DIGEST)
        leader = the_leader(controllers)
        leader.close()
        (other,) = (one for one in controllers if one is not leader)
        wait_until(lambda: other.leads, timeout=60, what="the other to lead")

        table.processes["kube-apiserver"].crash()
        wait_until(
            lambda: all(one.metric("gpuspec_table_unreached") == 1 for one in replicas),
            timeout=SECONDS,
            what="the replicas to notice",
        )
        time.sleep(AWAY_SECONDS)
        for replica in replicas:
            assert replica.readiness()["ready"] is True
            assert replica.digest == FLEETS_DIGEST
            assert len(replica.table["problems"]) == 1
        assert not other.leads
        other.process.require_running()
        table.restart("kube-apiserver")
        wait_until(
            lambda: not any(one.table["problems"] for one in replicas),
            timeout=SECONDS,
            what="the replicas to follow again",
        )
        assert [one.digest for one in replicas] == [FLEETS_DIGEST, FLEETS_DIGEST]
        wait_until(lambda: other.leads, timeout=60, what="it to lead again")
        tables.apply(table.api, tables.with_row("a30-24gb", cost=7))
        wait_until(
            lambda: replicas[0].digest == replicas[1].digest != FLEETS_DIGEST,
            timeout=SECONDS,
            what="a table that was applied afterwards",
        )
        wait_until(
            lambda: tables.status(table.api).get("digest") == replicas[0].digest,
            timeout=SECONDS,
            what="its status",
            state=other.process.log_end,
        )
    finally:
        for each in controllers:
            each.close()


def the_leader(controllers: list[Controller]) -> Controller:
    """The one of them that acts, once one does."""
    return wait_until(
        lambda: next((one for one in controllers if one.leads), None),
        timeout=60,
        what="one of them to lead",
    )


def test_a_replica_that_starts_while_the_api_server_is_away_is_not_ready(
    table: ControlPlane, tmp_path: Path
) -> None:
    late = Replica("late", table.kubeconfig, tmp_path)
    table.processes["kube-apiserver"].crash()
    try:
        late.start_unready()
        unreached = f"{table.server}: GET {TABLES_PATH}: "

        def says_why() -> bool:
            (problem,) = late.readiness()["checks"]["table"]["problems"]
            return bool(problem.startswith(unreached))

        wait_until(
            says_why, timeout=SECONDS, what="it to say why", state=lambda: str(late.readiness())
        )
        assert late.readiness()["ready"] is False
    finally:
        table.restart("kube-apiserver")
    try:
        late.wait_ready()
        assert late.digest == FLEETS_DIGEST
    finally:
        late.close()
