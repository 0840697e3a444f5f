"""DeviceTaintRules, mirrored wherever this Kubernetes serves them, if it does (semantics H7)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from webhook.inventory.rule_facts import RuleFacts, rule_facts
from webhook.kube.cluster import Cluster
from webhook.kube.errors import ClusterError
from webhook.kube.reflector import Collection, Reflector
from webhook.kube.versions import served_path
from webhook.terms import DRA_GROUP, RULE_VERSIONS, RULES_RESOURCE

# An API that was turned on, or came with a new version of Kubernetes, is found within that time.
_LOOK_S = 60.0
# An API server that does not answer is asked again after that.
_AGAIN_S = 2.0


class RulesMirror:
    """Finds out where the rules are served, and follows them there.

    Args:
        cluster: Where to look.
        changed: Called after every change; must not block.
        troubled: Told why they cannot be read.
    """

    path = f"/apis/{DRA_GROUP}/*/{RULES_RESOURCE}"

    def __init__(
        self, cluster: Cluster, changed: Callable[[], None], troubled: Callable[[str], None]
    ) -> None:
        self._cluster = cluster
        self._changed = changed
        self._troubled = troubled
        self._looked = False
        self._trouble = ""
        self._rules: Reflector[RuleFacts] | None = None

    @property
    def synced(self) -> bool:
        """Whether the rules were seen, or it was seen that there are none to be had."""
        return self._looked and (self._rules is None or self._rules.synced)

    @property
    def trouble(self) -> str:
        """Why they cannot be read right now; "" while they can, or are not served."""
        return self._trouble if self._rules is None else self._rules.trouble

    @property
    def served_at(self) -> str | None:
        """The path of the collection; None where it is not served."""
        is_served = self._rules is not None and not self._rules.absent
        return self._rules.path if self._rules is not None and is_served else None

    @property
    def changes(self) -> int:
        """How often what is held has changed."""
        return 0 if self._rules is None else self._rules.changes

    def held(self) -> Sequence[RuleFacts] | None:
        """Return the rules; None where they are not served."""
        if self.served_at is None or self._rules is None:
            return None
        return tuple(self._rules.held().values())

    def run(self, stopping: threading.Event) -> None:
        """Look for them until they are found, then follow them until told to stop."""
        while not stopping.is_set():
            try:
                path = served_path(self._cluster, DRA_GROUP, RULE_VERSIONS, RULES_RESOURCE)
            except ClusterError as error:
                if str(error) != self._trouble:
                    self._trouble = str(error)
                    self._troubled(self._trouble)
                stopping.wait(_AGAIN_S)
                continue
            self._trouble = ""
            if path is None:
                self._found_none()
                stopping.wait(_LOOK_S)
                continue
            self._rules = Reflector(
                self._cluster,
                Collection(path),
                rule_facts,
                changed=self._changed,
                troubled=self._troubled,
            )
            self._looked = True
            self._rules.run(stopping)

    def _found_none(self) -> None:
        is_new, self._looked = not self._looked, True
        if is_new:
            self._changed()
