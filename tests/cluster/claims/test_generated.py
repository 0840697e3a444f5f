"""Random Pods, each held against the same wishes written as claims by hand, on the real scheduler.

What is admitted gets what it may have; what is refused could not run on any node of the fleet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pytest

from tests.builders import Json
from tests.cluster.api import Api, ApiError, path
from tests.cluster.claims.allocated import Given, given, wait_claims_gone, wait_judged
from tests.cluster.claims.fleet import DRA
from tests.cluster.claims.generated import Generated, generated, template, template_name
from tests.cluster.claims.running import Gpuspec
from tests.cluster.pods import create_pod
from tests.cluster.product.installation import WEBHOOK
from tests.cluster.product.places import fresh_namespace, in_parallel, model_of
from tests.cluster.versions import ON_NEWEST

SEED = 11
PODS = 160
AT_ONCE = 60
"""So few that none waits for the devices of another."""

REFUSED = "refused"
Verdict = tuple[Given, ...] | None
"""What a Pod was given, nothing where it waits; None where it was refused."""


# No version decides otherwise, and 1.35 takes long to find that several claims fit no node.
@ON_NEWEST
@pytest.mark.rule("A7", "C1", "C2", "D1", "D2", "D4", "D5", "N4")
def test_what_is_admitted_is_allowed_and_what_is_refused_could_not_run(
    gpuspec: Gpuspec, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = generated(SEED, PODS)
    ours = verdicts(gpuspec.api, pods, lambda pod: pod.body)
    by_hand = verdicts(gpuspec.api, pods, Generated.by_hand)
    for pod in pods:
        # On the one node that it names, others may have come first: alone, none does.
        if pod.host and ours[pod.name] == () and by_hand[pod.name]:
            ours |= verdicts(gpuspec.api, [pod], lambda one: one.body)
    counts = Counter(kind(ours[pod.name]) for pod in pods)
    with capsys.disabled():
        print(f"\nKubernetes {gpuspec.plane.version}, seed {SEED}: {dict(counts)}")
    assert [fault for pod in pods for fault in faults(pod, ours[pod.name], by_hand[pod.name])] == []
    assert min(counts["bound"], counts[REFUSED]) >= PODS // 10  # else nothing was tried


def kind(verdict: Verdict) -> str:
    return REFUSED if verdict is None else "bound" if verdict else "waits"


def faults(pod: Generated, ours: Verdict, by_hand: Verdict) -> list[str]:
    """What is wrong about the verdict on a Pod."""
    assert by_hand is not None
    if ours is None:
        return [f"{pod} was refused, and {by_hand} is a place for it"] if by_hand else []
    if not ours:
        # The product does not know which model a node named by the Pod has.
        fine = pod.host and (pod.high or not by_hand)
        return [] if fine else [f"{pod} was admitted and waits; by hand: {by_hand}"]
    (node,) = {one.node for one in ours}
    found = [] if model_of(node) in pod.rows else [f"{pod} is on {node}"]
    if pod.host not in ("", node):
        found.append(f"{pod} is not on its node but on {node}")
    if sorted(len(one.devices) for one in ours) != sorted(count for _, count in pod.claims):
        found.append(f"{pod} has {ours}")
    return found


def verdicts(
    api: Api, pods: Sequence[Generated], write: Callable[[Generated], Json]
) -> dict[str, Verdict]:
    """What becomes of Pods on a fleet that is as good as empty."""
    found: dict[str, Verdict] = {}
    for first in range(0, len(pods), AT_ONCE):
        some = pods[first : first + AT_ONCE]
        with fresh_namespace(api) as namespace:
            create_templates(api, namespace, some)
            found |= _verdicts(api, namespace, {pod.name: write(pod) for pod in some})
        wait_claims_gone(api, namespace)
    return found


def create_templates(api: Api, namespace: str, pods: Sequence[Generated]) -> None:
    """Create what the claims by hand are made from."""
    wanted = {template_name(claim): template(claim) for pod in pods for claim in pod.claims}
    at = path(DRA, "resourceclaimtemplates", namespace=namespace)
    in_parallel(lambda name: api.create(at, wanted[name]), wanted)


def _verdicts(api: Api, namespace: str, bodies: Mapping[str, Json]) -> dict[str, Verdict]:
    refused: set[str] = set()

    def create(name: str) -> None:
        try:
            create_pod(api, namespace, bodies[name])
        except ApiError as error:
            if f'webhook "{WEBHOOK}" denied the request' not in error.message:
                raise
            refused.add(name)

    in_parallel(create, bodies)
    wait_judged(api, namespace, set(bodies) - refused)
    held = given(api, namespace)
    return {name: None if name in refused else held[name] for name in bodies}
