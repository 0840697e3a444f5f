"""The one entry to everything that is done to a Pod: HTTP, command line and tests call it.

``translate`` takes a Pod and returns what would be changed and why; nothing is written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from selection_spec.errors import Level, Problem
from selection_spec.resolution import Resolution
from selection_spec.resolve import PolicyChoice, choose_policy
from selection_spec.rows import Policy
from webhook.admission.reasons import Reason, reason_of_rule
from webhook.jsonpatch import Edit
from webhook.mutators import gpu
from webhook.placement.claim import PodClaim
from webhook.placement.node import NodePlacement
from webhook.pods import PodRequest, daemon_set_of, is_mirror, is_queued, read
from webhook.shapes import unreadable
from webhook.snapshot import Snapshot


class Verdict(StrEnum):
    """What becomes of a Pod."""

    PATCHED = "patched"
    UNCHANGED = "unchanged"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of a Pod beside itself.

    Attributes:
        is_template: It is a workload's template, so that no owner has made a Pod of it yet.
        daemon_set: The name of the DaemonSet whose template it is, where that is to be judged as
            admission judges the Pods made from it (N8).
        priority_class: Stands in for ``spec.priorityClassName``.
        priority: Stands in for ``spec.priority``.
        policy: Judge by this policy, whatever the priority says.
        refusal: Why the API server refuses the Pod before it asks us; admission never sees one.
        kueue: Whether the Pod's namespace is Kueue's; its queue label says the same (C5).
        nodes_first: Whether its nodes are chosen by the template, as a DaemonSet does: then the
            devices of a claim cannot decide the node, and C4 does not hold (N8).
    """

    is_template: bool = False
    daemon_set: str | None = None
    priority_class: str | None = None
    priority: int | None = None
    policy: Policy | None = None
    refusal: Problem | None = None
    kueue: bool = False
    nodes_first: bool = False


ADMISSION = Context()
KUEUE = Context(kueue=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a Pod, and why.

    Attributes:
        edits: What to change; empty unless patched.
        problems: Why it is denied, each with its field path and rule; empty unless denied.
        warnings: What the user should know all the same.
        request: What was found in the Pod, None where it was not read.
        choice: Its policy, None where it was not read.
        resolution: Every step of the resolution, None where it asks for nothing that resolves.
        placement: What was asked of the node, None where nothing was.
        claims: The claims that it got (C1).
    """

    verdict: Verdict
    reason: Reason
    edits: tuple[Edit, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    request: PodRequest | None = None
    choice: PolicyChoice | None = None
    resolution: Resolution | None = None
    placement: NodePlacement | None = None
    claims: tuple[PodClaim, ...] = ()


def translate(pod: object, context: Context, snapshot: Snapshot) -> Outcome:
    """Decide what becomes of a Pod; never raises on any JSON value."""
    if not isinstance(pod, dict):
        return _left_as_is("object")
    if where := unreadable(pod):
        return _left_as_is(where)
    request = read(pod, snapshot.table)
    if request.is_empty:
        return Outcome(Verdict.UNCHANGED, Reason.NO_SPEC, warnings=tuple(request.warnings))
    if is_mirror(pod):
        text = "a mirror Pod is left as it is: the kubelet has already started it"
        return Outcome(Verdict.UNCHANGED, Reason.MIRROR_POD, warnings=(_warning(text, "N7"),))
    if context.refusal is not None:
        reason = reason_of_rule(context.refusal.rule)
        return Outcome(Verdict.DENIED, reason, problems=(context.refusal,), request=request)
    choice = _policy(pod["spec"], context, snapshot)
    owner = context.daemon_set if context.is_template else daemon_set_of(pod)
    request.queued = context.kueue or is_queued(pod)
    request.nodes_first = context.nodes_first
    mutation = gpu.mutate(pod, request, choice, snapshot, daemon_set=owner)
    if mutation.problems:
        verdict, reason = Verdict.DENIED, reason_of_rule(mutation.problems[0].rule)
    elif mutation.resolution is None:
        verdict, reason = Verdict.PATCHED, Reason.ZERO_REMOVED
    else:
        verdict, reason = Verdict.PATCHED, Reason.TRANSLATED
    return Outcome(
        verdict=verdict,
        reason=reason,
        edits=mutation.edits,
        problems=mutation.problems,
        # What else a denied Pod's author has to mend is told at once.
        warnings=mutation.warnings or tuple(request.warnings),
        request=request,
        choice=choice,
        resolution=mutation.resolution,
        placement=mutation.placement,
        claims=mutation.claims,
    )


def _left_as_is(where: str) -> Outcome:
    text = f"left as it is: invalid {where}"
    return Outcome(Verdict.UNCHANGED, Reason.LEFT_AS_IS, warnings=(_warning(text, "R6"),))


def _policy(spec: dict[str, Any], context: Context, snapshot: Snapshot) -> PolicyChoice:
    """D3: what the context says stands in for what the Pod says."""
    if context.policy is not None:
        return PolicyChoice(context.policy, "given")
    name, number = spec.get("priorityClassName"), spec.get("priority")
    if context.priority_class is not None or context.priority is not None:
        return choose_policy(snapshot.table, context.priority_class, context.priority)
    return choose_policy(
        snapshot.table,
        name if isinstance(name, str) and name else None,
        number if isinstance(number, int) and not isinstance(number, bool) else None,
    )


def _warning(text: str, rule: str) -> Problem:
    return Problem(text, rule=rule, level=Level.WARNING)
