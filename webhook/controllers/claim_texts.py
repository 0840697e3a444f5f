"""What Pods bring along for ResourceClaimTemplates, read when one is to be made of it (C3).

It is a user's text, and may be as long as the API server lets it be. So nothing of it is kept: it
is asked for, looked at, and only what became of that is remembered.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from webhook.controllers.pod_events import writable
from webhook.inventory.facts import mapping
from webhook.inventory.pod_facts import PodFacts
from webhook.kube.cluster import Cluster, Json
from webhook.placement.templates import malformed, refusal, wanted
from webhook.terms import CLAIMS_ANNOTATION, MAX_CLAIMS_BYTES


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no template may be made of what a Pod brings along.

    Attributes:
        what: A clause, as ``templates.refusal`` has it.
        classes: The DeviceClasses of all tables, where one that it asks for is not among them;
            None where it may not be made whatever tables say.
    """

    what: str
    classes: frozenset[str] | None = None


class Texts:
    """Reads what the Pods of a namespace bring along, each as it is now.

    Args:
        cluster: Where they are.
        namespace: Theirs.
    """

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._at = f"/api/v1/namespaces/{namespace}/pods"
        self._last: tuple[PodFacts | None, dict[str, Json] | None] = None, None

    def of(self, pod: PodFacts) -> dict[str, Json] | None:
        """Return by template name what a Pod brings along, None where the Pod is gone.

        Raises:
            ClusterError: It cannot be read.
        """
        if self._last[0] is not pod:
            found = self._cluster.items(self._at, fieldSelector=f"metadata.name={pod.name}")
            self._last = pod, next(map(_brought, found), None)
        return self._last[1]


def judged(spec: Json, classes: Collection[str]) -> Refusal | None:
    """Return why no template may be made of a ResourceClaimSpec, None if it may.

    Args:
        spec: From ``Texts``.
        classes: The DeviceClasses of all tables.
    """
    try:
        what = refusal(spec, classes)
        is_of_classes = what and not malformed(spec)
    except Exception as bug:  # noqa: BLE001 -- a user wrote it; it must hold up nobody else
        return Refusal(f"it cannot be read: {type(bug).__name__}")
    if not what:
        return None
    return Refusal(writable(what), frozenset(classes) if is_of_classes else None)


def _brought(pod: Json) -> dict[str, Json]:
    annotations = mapping(mapping(pod.get("metadata")).get("annotations"))
    if len(str(annotations.get(CLAIMS_ANNOTATION))) > MAX_CLAIMS_BYTES:
        return {}  # admission writes none so long
    try:
        return wanted(pod)
    except Exception:  # noqa: BLE001 -- a user wrote it; it must hold up nobody else
        return {}
