"""What the scheduler gave to Pods, told from their claims' status and nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tests.cluster.api import Api, Json, WaitError, path, wait_until
from tests.cluster.claims.fleet import DRA
from tests.cluster.pods import events_about, node_of
from tests.cluster.product.places import model_of

_SECONDS = 60.0
_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"


@dataclass(frozen=True)
class Given:
    """The devices of one claim.

    Attributes:
        name: What the Pod calls the claim.
        node: The node whose devices they are.
        devices: Their names, in order.
        row: The row that the request which was met is called after, "" where there was one only.
    """

    name: str
    node: str
    devices: tuple[str, ...]
    row: str


def claims_in(api: Api, namespace: str) -> list[Json]:
    """The ResourceClaims of a namespace."""
    return api.list(path(DRA, "resourceclaims", namespace=namespace))


def given(api: Api, namespace: str) -> dict[str, tuple[Given, ...]]:
    """By Pod the devices of its claims, in the order of its spec; no two hold the same one.

    Pods that hold nothing have none; a Pod that is bound holds all its claims.
    """
    pods = api.list(path("v1", "pods", namespace=namespace))  # first: claims come before Pods
    claims = {_owner(one): one for one in claims_in(api, namespace)}
    held = {pod["metadata"]["name"]: tuple(_given(pod, claims)) for pod in pods}
    devices = [
        (one.node, device) for ones in held.values() for one in ones for device in one.devices
    ]
    assert len(devices) == len(set(devices)), "a device is allocated twice"
    return held


def by_claim(api: Api, namespace: str) -> dict[str, int]:
    """How many devices each bound Pod holds by claims."""
    return {
        name: sum(len(one.devices) for one in ones)
        for name, ones in given(api, namespace).items()
        if ones
    }


def _owner(claim: Json) -> tuple[str, str]:
    """Of which Pod it is, and what that calls it.

    The Pod's own status says the same, but not at every moment.
    """
    metadata = claim["metadata"]
    (owner,) = metadata["ownerReferences"]
    return owner["name"], metadata.get("annotations", {}).get(_CLAIM_NAME, "")


def _given(pod: Json, claims: Mapping[tuple[str, str], Json]) -> list[Given]:
    node = node_of(pod)
    if node is None:
        return []
    return [
        _of_claim(one["name"], claims[pod["metadata"]["name"], one["name"]], node)
        for one in pod["spec"].get("resourceClaims", ())
    ]


def _of_claim(name: str, claim: Json, node: str) -> Given:
    results = claim["status"]["allocation"]["devices"]["results"]
    (pool,) = {one["pool"] for one in results}
    (request,) = {one["request"] for one in results}
    assert pool == node, f"{claim['metadata']['name']}: devices of {pool} for a Pod on {node}"
    return Given(
        name, node, tuple(sorted(one["device"] for one in results)), request.partition("/")[2]
    )


def is_judged(pod: Json) -> bool:
    """Whether the scheduler has found a node for the Pod, or has looked at every node in vain.

    Before, it may have said that the Pod's claims are not there yet.
    """
    conditions = pod["status"].get("conditions", ())
    return node_of(pod) is not None or any(
        one["type"] == "PodScheduled" and one.get("message", "").startswith("0/")
        for one in conditions
    )


def rows_given(api: Api, namespace: str) -> dict[str, str | None]:
    """The row of each Pod's devices by its claims; None where the scheduler found nothing.

    Every Pod that was judged is told; devices of another row than the request that was met is
    called after fail the test at once.
    """
    pods = api.list(path("v1", "pods", namespace=namespace))
    judged = [pod["metadata"]["name"] for pod in pods if is_judged(pod)]
    held = given(api, namespace)
    return {name: row_of(held[name]) if held[name] else None for name in judged if name in held}


def wait_judged(api: Api, namespace: str, names: Collection[str]) -> None:
    """Wait until the scheduler has judged these Pods."""

    def waiting() -> set[str]:
        pods = api.list(path("v1", "pods", namespace=namespace))
        return set(names) - {pod["metadata"]["name"] for pod in pods if is_judged(pod)}

    wait_until(
        lambda: not waiting(),
        timeout=_SECONDS,
        what=f"the scheduler's verdict on {len(names)} Pods",
        state=lambda: f"none on {', '.join(sorted(waiting()))}",
        poll=0.3,
    )


def wait_claims_gone(api: Api, namespace: str) -> None:
    """Wait until nothing is allocated to a namespace any more."""
    wait_until(
        lambda: not claims_in(api, namespace),
        timeout=_SECONDS,
        what=f"the claims of {namespace} to be gone",
        poll=0.2,
    )


def row_of(ones: tuple[Given, ...]) -> str:
    """The row of all the devices of a Pod on a node of the fleet."""
    (node,) = {one.node for one in ones}
    model = model_of(node)
    assert model is not None
    assert {one.row or model for one in ones} == {model}
    return model


def wait_rows(
    api: Api, namespace: str, expected: Mapping[str, str | None]
) -> Mapping[str, str | None]:
    """The rows as soon as they are the expected ones, else what they are in the end."""
    with contextlib.suppress(WaitError):  # the caller's assertion shows the difference
        wait_until(
            lambda: rows_given(api, namespace) == expected,
            timeout=_SECONDS,
            what="the Pods to have their devices",
            poll=0.3,
        )
    return rows_given(api, namespace)


def wait_given(api: Api, namespace: str, pod: str) -> tuple[Given, ...]:
    """The devices of a Pod's claims once it is bound."""
    found = wait_until(
        lambda: given(api, namespace).get(pod),
        timeout=_SECONDS,
        what=f"{pod} to have its devices",
        state=lambda: str([one["message"] for one in events_about(api, namespace, pod)]),
        poll=0.2,
    )
    assert found is not None
    return found
