"""What is said about Pods that wait for ResourceClaimTemplates, to them and to admins (C3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from selection_spec.denial import few
from webhook.controllers.claim_jobs import Failure
from webhook.inventory.claim_needs import TemplateKey, Waiting
from webhook.inventory.conditions import Condition
from webhook.inventory.pod_facts import PodFacts
from webhook.kube.cluster import Json
from webhook.terms import CLAIM_TEMPLATES, CLAIMS_ANNOTATION, TEMPLATES_MADE

# Of the API server's words, in a condition that lists several.
_CUT = 300


class Why(StrEnum):
    """Why a template is not there."""

    REFUSED = "refused"
    FAILED = "failed"
    LEAVING = "leaving"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a template is not there.

    Attributes:
        kind: The same for the same cause: a Pod is told once about each.
        clause: What is the matter, in words.
    """

    why: Why
    kind: str
    clause: str


@dataclass(frozen=True, slots=True)
class Stuck:
    """A Pod that waits, and for which of its templates.

    Attributes:
        seconds: For how long it was seen to wait.
    """

    pod: PodFacts
    seconds: float
    template: str
    cause: Cause


def forged() -> Cause:
    """Say that a Pod names a template that it does not bring along."""
    return refused("it has nothing whose hash is this name")


def refused(what: str) -> Cause:
    """Say what is the matter with what a Pod brings along, as ``templates.refusal`` does."""
    clause = f"the Pod's annotation {CLAIMS_ANNOTATION}: {what}; create the Pod again by its spec"
    return Cause(Why.REFUSED, what, clause)


def failed(failure: Failure) -> Cause:
    """Say that the API server does not take it."""
    why = Why.LEAVING if failure.leaving else Why.FAILED
    return Cause(why, failure.kind, f"{failure.text}; it is tried again")


def unanswered() -> Cause:
    """Say that nothing is known yet."""
    return Cause(Why.UNANSWERED, "", "the API server has not answered yet")


def stuck(waiting: Waiting, causes: Mapping[TemplateKey, Cause]) -> Stuck:
    """Return for which of its templates a Pod waits; what only takes time comes last."""
    found = [(name, causes[waiting.pod.namespace, name]) for name in waiting.missing]
    template, cause = min(found, key=lambda one: one[1].why is Why.UNANSWERED)
    return Stuck(waiting.pod, waiting.seconds, template, cause)


def told(one: Stuck) -> str:
    """Return what the Event of a Pod says."""
    made = "is not made" if one.cause.why is Why.REFUSED else "cannot be made"
    return f"ResourceClaimTemplate {one.template} {made}: {one.cause.clause}"


def condition(waiting: Iterable[Stuck]) -> Condition:
    """Return whether any Pod waits for templates, and how many for what."""
    groups: dict[tuple[str, str], list[Stuck]] = defaultdict(list)
    for one in waiting:
        groups[one.pod.namespace, one.cause.kind].append(one)
    if not groups:
        said = "no Pod waits for a ResourceClaimTemplate"
        return Condition(CLAIM_TEMPLATES, "True", "NothingWaits", said)
    lines = (
        f"namespace {namespace}: {_pods(len(group))}, {group[0].cause.clause[:_CUT]}"
        for (namespace, _), group in sorted(groups.items(), key=lambda one: -len(one[1]))
    )
    return Condition(CLAIM_TEMPLATES, "False", "PodsWait", few(lines, "\n"))


def nudge(pod: PodFacts, now: datetime) -> Json:
    """Return a status to apply to a Pod, so that Kubernetes looks at it again."""
    made = {
        "type": TEMPLATES_MADE,
        "status": "True",
        "reason": "Made",
        "message": "the ResourceClaimTemplates that this Pod waited for are there",
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "status": {"conditions": [made]},
    }


def _pods(count: int) -> str:
    return "1 Pod waits" if count == 1 else f"{count} Pods wait"
