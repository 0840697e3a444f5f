"""What the loops look at: collections of the cluster, mirrored while this process leads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from sys import intern
from typing import Protocol

from webhook.controllers.rules_mirror import RulesMirror
from webhook.controllers.tables import TableHeld, table_held
from webhook.inventory.claim_facts import ClaimFacts, claim_facts, served_resource
from webhook.inventory.claim_needs import TemplateFacts
from webhook.inventory.daemon_facts import DaemonFacts, daemon_facts
from webhook.inventory.facts import NodeFacts, mapping, node_facts
from webhook.inventory.pod_facts import PodFacts, pod_facts
from webhook.inventory.slice_facts import SliceFacts, slice_facts
from webhook.kube.cluster import Cluster, Json
from webhook.kube.errors import UnreachableError
from webhook.kube.reflector import Collection, Reflector
from webhook.placement.templates import template_name
from webhook.terms import (
    CLAIMS_PATH,
    CLASSES_PATH,
    NODES_PATH,
    SLICES_PATH,
    TABLES_PATH,
    TEMPLATE_LABEL,
    TEMPLATES_PATH,
    is_template_name,
)


class Mirror(Protocol):
    """What a mirror of any kind of object says of itself."""

    path: str

    @property
    def synced(self) -> bool:
        """Whether it was complete at least once."""

    @property
    def trouble(self) -> str:
        """Why it cannot be followed; "" while it is."""

    def run(self, stopping: threading.Event) -> None:
        """Follow until told to stop."""


class World:
    """The mirrors, and whether they are complete.

    Args:
        cluster: What is mirrored.
        changed: Called after every change of anything; must not block.
        troubled: Told why a collection cannot be read.
    """

    def __init__(
        self, cluster: Cluster, changed: Callable[[], None], troubled: Callable[[str], None]
    ) -> None:
        self.tables: Reflector[TableHeld] = Reflector(
            cluster, Collection(TABLES_PATH), table_held, changed=changed, troubled=troubled
        )
        self.nodes: Reflector[NodeFacts] = Reflector(
            cluster, Collection(NODES_PATH), node_facts, changed=changed, troubled=troubled
        )
        self.pods: Reflector[PodFacts] = Reflector(
            cluster, Collection("/api/v1/pods"), _pod, changed=changed, troubled=troubled
        )
        self.slices: Reflector[SliceFacts] = Reflector(
            cluster,
            Collection(SLICES_PATH),
            slice_facts,
            changed=changed,
            troubled=troubled,
        )
        self.classes: Reflector[str] = Reflector(
            cluster, Collection(CLASSES_PATH), served_resource, changed=changed, troubled=troubled
        )
        self.claims: Reflector[ClaimFacts] = Reflector(
            cluster, Collection(CLAIMS_PATH), claim_facts, changed=changed, troubled=troubled
        )
        # Those without our label, too: one of our names may not be made beside it.
        self.templates: Reflector[TemplateFacts] = Reflector(
            cluster,
            Collection(TEMPLATES_PATH),
            _template,
            changed=changed,
            troubled=troubled,
        )
        self.daemons: Reflector[DaemonFacts] = Reflector(
            cluster,
            Collection("/apis/apps/v1/daemonsets"),
            daemon_facts,
            changed=changed,
            troubled=troubled,
        )

        self.rules = RulesMirror(cluster, changed, troubled)

    def ready(self, *mirrors: Mirror) -> bool:
        """Tell whether mirrors were seen completely; nothing is judged before.

        Raises:
            UnreachableError: One of them was not, and cannot be.
        """
        missing = [one for one in mirrors if not one.synced]
        for one in missing:
            if one.trouble:
                raise UnreachableError(f"not everything was seen yet: {one.trouble}")
        return not missing

    @staticmethod
    def never_seen(*mirrors: Mirror) -> str:
        """Return why mirrors were not seen completely even once; "" where they were, or may be."""
        return next((one.trouble for one in mirrors if one.trouble and not one.synced), "")

    @staticmethod
    def blind(*mirrors: Mirror) -> str:
        """Return why mirrors no longer show what is there; "" while they do."""
        return next((one.trouble for one in mirrors if one.trouble), "")

    def start(self, stopping: threading.Event, *others: Mirror) -> None:
        """Follow all collections, and others that belong to a single loop, until told to stop."""
        mirrors: tuple[Mirror, ...] = (
            *(self.tables, self.nodes, self.pods, self.daemons),
            *(self.slices, self.classes, self.claims, self.templates, self.rules),
            *others,
        )
        for one in mirrors:
            threading.Thread(target=one.run, args=(stopping,), name=one.path, daemon=True).start()


def _template(one: Json) -> TemplateFacts | None:
    """Keep the templates that are called as ours are."""
    metadata = mapping(one.get("metadata"))
    namespace, name = str(metadata.get("namespace")), str(metadata.get("name"))
    if not is_template_name(name):
        return None
    spec = mapping(mapping(one.get("spec")).get("spec"))
    is_ours = TEMPLATE_LABEL in mapping(metadata.get("labels"))
    return TemplateFacts((intern(namespace), name), is_ours, template_name(spec) == name)


def _pod(pod: Json) -> PodFacts | None:
    """Keep the Pods that hold or wait for devices: a few of all the Pods of a cluster.

    Of those that are done only such as tell of trouble with a device (H2).
    """
    facts = pod_facts(pod)
    holds = facts.devices or facts.candidates or facts.has_claims
    is_over = facts.finished and facts.trouble is None
    return facts if holds and not is_over else None
