"""What is to be done, as values: the shell does it, and nothing else (semantics H7, H8)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from selection_spec.health import Mode
from webhook.health.cases import Mark
from webhook.health.subjects import Subject
from webhook.inventory.pod_facts import PodFacts


class Doing(StrEnum):
    """What an action does; also a value of a metric's label."""

    TAINT = "taint"
    UNTAINT = "untaint"
    RULE = "rule"
    UNRULE = "unrule"
    EVICT = "evict"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do.

    Attributes:
        subject: For which subject.
        mode: The mode that allows it.
        pod: Whom to evict, or which dead Pod to remove.
        effect: Of a rule: ``None`` first, ``NoSchedule`` once that was read back.
        fence: Of an eviction: the mark of ours that keeps others away, if one does.
        why: The evidence, for people.
    """

    doing: Doing
    subject: Subject
    mode: Mode
    pod: PodFacts | None = None
    effect: str = ""
    fence: Mark = Mark.NONE
    why: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """Tells it from other actions: what is the same for two subjects is done once."""
        match self.doing:
            case Doing.TAINT | Doing.UNTAINT:
                return self.doing, self.subject.node
            case Doing.RULE | Doing.UNRULE:
                return self.doing, self.subject.name, self.effect
            case Doing.EVICT | Doing.REMOVE:
                return self.doing, self.pod.uid if self.pod is not None else ""
