"""From an AdmissionReview to the answer (semantics R1 to R8): ``translate`` in its envelope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import orjson

from webhook.admission import messages
from webhook.admission.essence import essence_of
from webhook.admission.reasons import Reason
from webhook.admission.review import (
    Review,
    allowed,
    denied,
    encode_patch,
    read_review,
    unwritable,
)
from webhook.admission.translate import ADMISSION, Context, Verdict, translate
from webhook.jsonpatch import write
from webhook.shapes import unreadable
from webhook.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to a review, and what a log line may say of it; never the Pod itself.

    Attributes:
        answer: The AdmissionReview document to send.
        outcome: ``patched``, ``unchanged`` or ``denied``.
        reason: One of a closed set.
        name: The Pod's name or generateName.
    """

    answer: dict[str, Any]
    outcome: Verdict
    reason: Reason
    uid: str
    namespace: str
    name: str
    dry_run: bool


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What was made of a Pod, without anything of the review that asked."""

    verdict: Verdict
    reason: Reason
    patch: str
    message: str
    warnings: list[str]

    @property
    def size(self) -> int:
        return len(self.patch) + len(self.message) + sum(map(len, self.warnings))


_OTHER_OPERATION = _Judgement(Verdict.UNCHANGED, Reason.OTHER_OPERATION, "", "", [])


def decide(document: object, snapshot: Snapshot, context: Context = ADMISSION) -> Decision:
    """Answer an AdmissionReview; the same review, context and table give the same bytes.

    Args:
        document: The review.
        snapshot: The table, and what is known of its rows.
        context: What the path that it came by says of the Pod: ``ADMISSION`` or ``KUEUE``.

    Raises:
        Undecidable: It is no AdmissionReview that can be answered, or its Pod is nested deeper than
            JSON can be written (R6).
    """
    review = read_review(document)
    if not review.is_pod_create:
        return _decision(review, _OTHER_OPERATION)
    pod = review.pod
    if not isinstance(pod, dict) or unreadable(pod):
        return _decision(review, _judge(pod, context, snapshot))
    essence = essence_of(pod)
    try:
        key = orjson.dumps(essence)
        if context.kueue:
            key = b"kueue " + key
    except orjson.JSONEncodeError as error:
        raise unwritable(error) from error
    judgement = cast("_Judgement | None", snapshot.memo.get(key))
    if judgement is None:
        judgement = _judge(essence, context, snapshot)
        snapshot.memo.put(key, judgement, judgement.size)
    return _decision(review, judgement)


def _judge(pod: object, context: Context, snapshot: Snapshot) -> _Judgement:
    outcome = translate(pod, context, snapshot)
    operations = (
        write(pod, outcome.edits).operations if outcome.edits and isinstance(pod, dict) else []
    )
    return _Judgement(
        verdict=outcome.verdict,
        reason=outcome.reason,
        patch=encode_patch(operations) if operations else "",
        message=messages.denial(outcome.problems) if outcome.problems else "",
        warnings=messages.warnings(outcome.warnings),
    )


def _decision(review: Review, judgement: _Judgement) -> Decision:
    if judgement.verdict is Verdict.DENIED:
        answer = denied(review.uid, judgement.message, judgement.warnings)
    else:
        answer = allowed(review.uid, judgement.patch, judgement.warnings)
    return Decision(
        answer=answer,
        outcome=judgement.verdict,
        reason=judgement.reason,
        uid=review.uid,
        namespace=review.namespace,
        name=review.name,
        dry_run=review.dry_run,
    )
