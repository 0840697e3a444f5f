"""Put Nodes into a cluster, quickly, and wait until the scheduler may use them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.cluster.api import Api, Json, path, wait_until

NODES = path("v1", "nodes")

_PARALLEL = 16
_READY_SECONDS = 60.0
_POLL_SECONDS = 0.25
_OF_THE_LIFECYCLE = "node.kubernetes.io/"


def create_nodes(api: Api, nodes: Sequence[Json]) -> None:
    """Create all nodes and wait until each is ready.

    A new node has the taint ``node.kubernetes.io/not-ready`` until KWOK reports it ready and the
    controller manager has seen that.
    """
    if not nodes:
        return
    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(lambda node: api.create(NODES, node), nodes))
    wait_nodes_ready(api, [node["metadata"]["name"] for node in nodes])


def wait_nodes_ready(api: Api, names: Sequence[str], *, timeout: float = _READY_SECONDS) -> None:
    """Wait until these nodes are Ready and carry no taint of the node lifecycle controller."""

    def waiting() -> set[str]:
        return set(names) - {n["metadata"]["name"] for n in api.list(NODES) if is_usable(n)}

    wait_until(
        lambda: not waiting(),
        timeout=timeout,
        what=f"{len(names)} nodes to be ready",
        state=lambda: "not ready: " + ", ".join(sorted(waiting())),
        poll=_POLL_SECONDS,
    )


def is_usable(node: Json) -> bool:
    """Whether the node is Ready and Kubernetes itself keeps nobody off it."""
    conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", ())}
    taints = node["spec"].get("taints", ())
    return conditions.get("Ready") == "True" and not any(
        taint["key"].startswith(_OF_THE_LIFECYCLE) for taint in taints
    )
