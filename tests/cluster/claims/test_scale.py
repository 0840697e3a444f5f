"""Every Pod that can run does, and none on a row that it may not have."""

from __future__ import annotations

import pytest

from tests.cluster.api import WaitError, path, wait_until
from tests.cluster.claims.allocated import by_claim
from tests.cluster.claims.mix import broken, told, wishes
from tests.cluster.claims.running import Gpuspec
from tests.cluster.pods import create_pod, node_of
from tests.cluster.product.places import in_parallel
from tests.cluster.versions import ON_NEWEST

pytestmark = ON_NEWEST

SEED = 5
PODS = 250
COUNTS = {1: 10, 2: 15, 4: 35, 6: 10, 8: 30}
"""So large that the fleet is not enough for all of them."""


@pytest.mark.rule("C2", "D4", "D5", "N6")
def test_every_pod_that_can_run_does(
    gpuspec: Gpuspec, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api, wanted = gpuspec.api, wishes(SEED, PODS, COUNTS)
    bodies = {one.name: one.body() for one in wanted}
    in_parallel(lambda name: create_pod(api, namespace, bodies[name]), bodies)

    def left() -> list[str]:
        return list(broken(api, namespace, wanted, by_claim))

    try:
        wait_until(lambda: not left(), timeout=120, what="all who can to run", poll=1)
    except WaitError:
        assert left() == []
    pods = api.list(path("v1", "pods", namespace=namespace))
    bound = [one for one in pods if node_of(one)]
    with capsys.disabled():
        print(
            f"\nKubernetes {gpuspec.plane.version}, seed {SEED}: {told(wanted)}; {len(bound)} run"
        )
    assert 0 < len(bound) < PODS
