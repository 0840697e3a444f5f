"""What is said about Pods that wait for ResourceClaimTemplates, to them and to admins (C3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    """Why a template is not there, or (``ODD``) is not what it should be."""

    REFUSED = "refused"
    FAILED = "failed"
    LEAVING = "leaving"
    ODD = "odd"
    UNANSWERED = "unanswered"


_MATTERS = {Why.REFUSED: "is not made", Why.ODD: "is not what its name says"}


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


def unknown_class(what: str, unread: Collection[str]) -> Cause:
    """Say that no table asks for a DeviceClass; ``unread`` tables may, for all that is known."""
    if not unread:
        return Cause(Why.REFUSED, what, f"{what}; it is made as soon as one does")
    whose = f"{few(sorted(unread))} cannot be read: gpuspec doctor tells why; it is tried again"
    return Cause(Why.FAILED, f"{what} unread", f"{what}, and {whose}")


def odd() -> Cause:
    """Say that a template holds something else than its name is the hash of."""
    said = "somebody made it with other content; delete it, and it is made as it should be"
    return Cause(Why.ODD, "odd", said)


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
    matter = _MATTERS.get(one.cause.why, "cannot be made")
    return f"ResourceClaimTemplate {one.template} {matter}: {one.cause.clause}"


def blind(trouble: str) -> Condition:
    """Return that nobody can tell whether Pods wait, and why."""
    said = f"what cannot be seen is neither made nor swept: {trouble}"
    return Condition(CLAIM_TEMPLATES, "Unknown", "CannotFollow", said)


def condition(waiting: Iterable[Stuck]) -> Condition:
    """Return whether any Pod waits for templates, and how many for what."""
    groups: dict[tuple[str, str], list[Stuck]] = defaultdict(list)
    for one in waiting:
        groups[one.pod.namespace, one.cause.kind].append(one)
    if not groups:
        said = "no Pod waits for a ResourceClaimTemplate"
        return Condition(CLAIM_TEMPLATES, "True", "NothingWaits", said)
    lines = (
        f"namespace {namespace}: {_said(group)}"
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


def _said(alike: Sequence[Stuck]) -> str:
    first = alike[0]
    if first.cause.why is Why.ODD:
        return told(first)
    return f"{_pods(len(alike))}, {first.cause.clause[:_CUT]}"


def _pods(count: int) -> str:
    return "1 Pod waits" if count == 1 else f"{count} Pods wait"
