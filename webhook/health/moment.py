"""One moment: what there is, what the table says, and the time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from selection_spec.health import HealthPolicy, Mode
from webhook.health.observed import Observed
from webhook.health.shipped import Listening, listening
from webhook.inventory.facts import NodeFacts


@dataclass(frozen=True)
class Moment:
    """What a step is a function of, besides what is remembered.

    Attributes:
        observed: What there is.
        policy: What the table says.
        now: Seconds since 1970.
        paused: Pods by uid whose eviction was refused just now, and is tried again later.
    """

    observed: Observed
    policy: HealthPolicy
    now: float
    paused: Collection[str] = ()

    @cached_property
    def heard(self) -> Listening:
        """The signals of others that count."""
        return listening(self.policy)

    def node(self, name: str) -> NodeFacts:
        """Return a node that is there."""
        return self.observed.nodes[name]

    def rows(self, node: str) -> tuple[str, ...]:
        """Return the ids of a node's rows."""
        return self.observed.rows.get(node, ())

    def mode(self, node: str) -> Mode:
        """Return how far we may go with a node and what is on it (H6)."""
        return self.policy.mode_of(self.rows(node))
