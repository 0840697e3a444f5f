"""Taints of ours on nodes, and nobody else's touched (semantics H7)."""

from __future__ import annotations

from webhook.inventory.facts import Taint, mapping, mappings
from webhook.kube.cluster import Cluster, Json
from webhook.kube.errors import ApiError

# A heartbeat or a cordon may come between reading and writing, but not so often in a row.
_ATTEMPTS = 5


def set_taint(cluster: Cluster, node: str, key: str, wanted: Taint | None) -> bool:
    """Give a node one taint of a key of ours, or none; tell whether anything was changed.

    A node's taints are one atomic list. So it is written whole, as just read, with the version that
    it was read at: whoever has changed the node meanwhile makes the write fail, and it is read
    again. Server-side apply would drop everybody else's taints.

    Raises:
        ApiError: The API server refuses, or the node changes all the time.
        UnreachableError: It does not answer.
    """
    path = f"/api/v1/nodes/{node}"
    for attempt in range(1, _ATTEMPTS + 1):
        found = cluster.get(path)
        taints = list(mappings(mapping(found.get("spec")).get("taints")))
        kept = [taint for taint in taints if taint.get("key") != key]
        ours = [taint for taint in taints if taint.get("key") == key]
        new = [] if wanted is None else [_json(wanted)]
        if [_bare(taint) for taint in ours] == new:
            return False
        version = found["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version}, "spec": {"taints": kept + new}}
        try:
            cluster.patch(path, body)
        except ApiError as error:
            if not error.is_conflict or attempt == _ATTEMPTS:
                raise
        else:
            return True
    return False


def _json(taint: Taint) -> Json:
    return _bare({"key": taint.key, "value": taint.value, "effect": taint.effect})


def _bare(taint: Json) -> Json:
    """Return a taint without the time at which it was added, or an empty value."""
    return {part: taint[part] for part in ("key", "value", "effect") if taint.get(part)}
