"""What an API server is and has."""

from __future__ import annotations

import re

from webhook.kube.cluster import Cluster

_NUMBER = re.compile(r"[0-9]+", re.ASCII)


def server_version(cluster: Cluster) -> tuple[int, ...]:
    """Return major and minor version: ``(1, 37)``; clouds append something to the numbers.

    Raises:
        ClusterError: It does not say.
    """
    version = cluster.get("/version")
    numbers = (_NUMBER.match(str(version.get(part))) for part in ("major", "minor"))
    return tuple(int(one[0]) for one in numbers if one)


def served_path(
    cluster: Cluster, group: str, versions: tuple[str, ...], resource: str
) -> str | None:
    """Return where a cluster-scoped resource is served, by the first of the versions that has it.

    None where none has. KEPs move through versions, and clusters turn some of them off.

    Raises:
        ClusterError: The API server does not say.
    """
    groups = cluster.get("/apis")
    served = {
        one.get("version")
        for each in groups.get("groups") or ()
        if each.get("name") == group
        for one in each.get("versions") or ()
    }
    for version in versions:
        if version in served:
            base = f"/apis/{group}/{version}"
            names = {one.get("name") for one in cluster.get(base).get("resources") or ()}
            if resource in names:
                return f"{base}/{resource}"
    return None
