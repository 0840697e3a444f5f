"""What was decided about a subject: what is done, who holds it, and why no more is done (H11)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from selection_spec.health import Mode
from webhook.health.actions import Action
from webhook.health.budget import Spent
from webhook.health.cases import Case, Look
from webhook.health.fences import Fencing
from webhook.inventory.pod_facts import PodFacts

REFUSED: Final = "its eviction was refused and is tried again"
"""Why a Pod stays for now: PodDisruptionBudgets, of which it has Events of their own (H9)."""


class HeldBack(StrEnum):
    """Why nothing more is done about a failed subject."""

    NOTHING = ""
    BREAKER = "the breaker stopped its row"
    WAIVED = "a person removed our mark, and there is no new evidence since"
    ROW = "the share of its row that may be quarantined is spent"
    UNKNOWN = "data is missing or stale"
    RECOVERING = "what it failed for is not to be seen at this moment"


@dataclass(frozen=True, slots=True)
class Holder:
    """A Pod that holds a failed subject, and what becomes of it: "" where it is to go now."""

    pod: PodFacts
    why: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is known of a subject, done about it, or would be.

    Attributes:
        look: The verdict.
        mode: How far we may go with it.
        fence: How new Pods are kept away, or are to be; None where it has not failed.
        holders: Who holds it; None where that cannot be told.
        held_back: Why nothing more is done.
        spent: Which of the budgets for evictions is spent.
        locked_out: DaemonSets whose Pods would not come back to the node (H7).
        actions: What is to be done now; in ``Observe`` what would be.
    """

    look: Look
    mode: Mode
    fence: Fencing | None = None
    holders: tuple[Holder, ...] | None = ()
    held_back: HeldBack = HeldBack.NOTHING
    spent: Spent | None = None
    locked_out: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()

    @property
    def case(self) -> Case:
        """The case that was judged."""
        return self.look.case

    @property
    def is_for_want_of_budget(self) -> bool:
        """Whether more would be done, were there budget left (H4)."""
        is_spent = self.held_back is HeldBack.ROW or self.spent is not None
        return is_spent and self.mode is not Mode.OBSERVE
