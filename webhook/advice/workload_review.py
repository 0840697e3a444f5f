"""From the review of a workload to the answer: what will become of its Pods, told at once.

A workload is let in whatever its Pods are like, as Kubernetes itself does; where the namespace
wants that, one whose Pods would all be refused is refused itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from selection_spec.errors import Level, Problem
from webhook.admission import messages
from webhook.admission.decide import Decision
from webhook.admission.reasons import Reason, reason_of_rule
from webhook.admission.review import allowed, bad_request, denied, read_request, text_of, unwritable
from webhook.admission.translate import Context, Outcome, Verdict, translate
from webhook.advice.findings.placeholders import rests_on_placeholders
from webhook.advice.findings.strays import strays
from webhook.advice.findings.views import View, views
from webhook.inventory.facts import mapping, mappings
from webhook.snapshot import Snapshot
from webhook.terms import MAX_MESSAGE_BYTES

Json = dict[str, Any]

_REFUSED = "its Pods will be refused: "

# More than any workload has; without a bound one object would hold up everybody's.
_MOST_CONTAINERS = 500


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What was found in a workload: why its Pods would be refused, and what else is to be told.

    ``is_new`` tells whether anything of the former was not so before, or begins to matter now.
    """

    reason: Reason
    problems: Sequence[Problem] = ()
    warnings: Sequence[Problem] = ()
    is_new: bool = False


def decide_workload(document: object, snapshot: Snapshot, *, denies: bool = False) -> Decision:
    """Answer an AdmissionReview of an object that has Pod templates; any kind will do.

    Args:
        document: The review.
        snapshot: The table, and what is known of its rows.
        denies: Whether to refuse a workload whose Pods would be refused, and not only to warn.

    Raises:
        Undecidable: It is no AdmissionReview that can be answered (R6).
    """
    uid, request = read_request(document)
    workload = request.get("object")
    judgement = _judge(request, workload, snapshot)
    is_denied = denies and judgement.is_new
    name = text_of(mapping(mapping(workload).get("metadata")).get("name"))
    if is_denied:
        first, *others = (problem.text() for problem in judgement.problems)
        message = messages.bounded([f"{_REFUSED}{first}", *others], MAX_MESSAGE_BYTES)
        answer = denied(uid, message, messages.warnings(judgement.warnings))
    else:
        told = [*map(_as_warning, judgement.problems), *judgement.warnings]
        answer = allowed(uid, warnings=messages.warnings(told))
    return Decision(
        answer=answer,
        outcome=Verdict.DENIED if is_denied else Verdict.UNCHANGED,
        reason=judgement.reason,
        uid=uid,
        namespace=text_of(request.get("namespace")),
        name=name,
        dry_run=request.get("dryRun") is True,
    )


def _judge(request: Json, workload: object, snapshot: Snapshot) -> _Judgement:
    is_written = request.get("operation") in ("CREATE", "UPDATE") and not request.get("subResource")
    if not is_written or _is_made_by_another(workload):
        return _Judgement(Reason.OTHER_OPERATION)
    if not isinstance(workload, dict):
        raise bad_request("request.object is no object; send the workload")
    if not _mentions(workload, snapshot.table.domain):
        return _Judgement(Reason.GOOD_WORKLOAD)
    found, former = list(views(workload)), list(views(request.get("oldObject")))
    is_started = _ends(request.get("oldObject")) and not _ends(workload)
    if [view.pod for view in found] == [view.pod for view in former] and not is_started:
        # Whoever scales or labels it was told when the template was written.
        return _Judgement(Reason.OTHER_OPERATION)
    complete = [view for view in found if not rests_on_placeholders(view)]
    judged = list(_few(complete))
    outcomes = [_outcome(view, snapshot) for view in judged]
    problems = [one for outcome in outcomes for one in outcome.problems]
    warnings = [one for outcome in outcomes for one in outcome.warnings]
    warnings += _strays(workload, found, snapshot)
    if len(judged) < len(complete):
        text = f"only the first {len(judged)} of its {len(complete)} kinds of Pods were judged"
        warnings.append(Problem(text, level=Level.WARNING))
    reason = reason_of_rule(problems[0].rule) if problems else Reason.GOOD_WORKLOAD
    is_new = bool(problems) and (is_started or _is_news(problems, former, snapshot))
    # Nobody is to be kept from stopping what runs.
    is_stopped = request.get("operation") == "UPDATE" and _ends(workload)
    return _Judgement(reason, problems, warnings, is_new and not is_stopped)


def _few(found: Sequence[View]) -> Iterator[View]:
    """Yield the first Pods, as long as they have few enough containers."""
    containers = 0
    for view in found:
        containers += sum(1 for _ in view.containers())
        if containers > _MOST_CONTAINERS:
            return
        yield view


def _is_news(problems: Sequence[Problem], former: Sequence[View], snapshot: Snapshot) -> bool:
    """Tell whether anything is wrong that was not so before: else a change is not refused."""
    outcomes = (_outcome(view, snapshot) for view in _few(former))
    known = {(one.rule, one.message) for outcome in outcomes for one in outcome.problems}
    return any((one.rule, one.message) not in known for one in problems)


def _ends(workload: object) -> bool:
    """Tell whether a workload runs no Pods from now on."""
    value = mapping(workload)
    spec = mapping(value.get("spec"))
    is_stopped = spec.get("suspend") is True or 0 in (spec.get("replicas"), spec.get("parallelism"))
    return is_stopped or mapping(value.get("metadata")).get("deletionTimestamp") is not None


def _mentions(workload: Json, domain: str) -> bool:
    """Tell whether a key like ours is in it at all; most workloads have none."""
    try:
        text = orjson.dumps(workload)
    except orjson.JSONEncodeError as error:
        raise unwritable(error) from error
    return f"{domain}/gpu".encode() in text.lower()


def _outcome(view: View, snapshot: Snapshot) -> Outcome:
    """Judge a template as its Pods will be judged, by whichever policy lets them in.

    The number of a PriorityClass is not known before a Pod is made: what only one of the policies
    refuses, nobody is told of.
    """
    is_set = view.kind == "DaemonSet"
    context = Context(
        is_template=view.kind != "Pod",
        daemon_set=view.owner.partition("/")[2] if is_set else None,
        kueue=view.is_queued,
    )
    outcome = translate(view.pod, context, snapshot)
    is_denied = outcome.verdict is Verdict.DENIED
    if not is_denied or outcome.choice is None or outcome.choice.certain:
        return outcome
    other = translate(view.pod, replace(context, policy=outcome.choice.policy.other), snapshot)
    return outcome if other.verdict is Verdict.DENIED else other


def _strays(workload: Json, found: Sequence[View], snapshot: Snapshot) -> Iterator[Problem]:
    for spot in strays(workload, found, snapshot.table):
        if spot.rule.level is not Level.NOTE:
            yield Problem(spot.message, hint=spot.hint, level=Level.WARNING)


def _as_warning(problem: Problem) -> Problem:
    return replace(problem, message=f"{_REFUSED}{problem.message}", level=Level.WARNING)


def _is_made_by_another(workload: object) -> bool:
    """Tell whether a controller made it, of an object about which people were told already."""
    owners = mapping(mapping(workload).get("metadata")).get("ownerReferences")
    return any(one.get("controller") is True for one in mappings(owners))
