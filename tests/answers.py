"""What became of a Pod, in the form that a test compares: the whole Pod, or the whole text."""

from __future__ import annotations

from base64 import b64decode
from copy import deepcopy
from typing import Any

import jsonpatch
import orjson

from tests.builders import Json, PodBuilder, make_review
from webhook.admission import messages
from webhook.admission.decide import decide
from webhook.admission.translate import ADMISSION, Context, Outcome, Verdict, translate
from webhook.jsonpatch import write
from webhook.snapshot import Snapshot


def outcome(pod: Json | PodBuilder, snapshot: Snapshot, context: Context = ADMISSION) -> Outcome:
    """Translate a Pod."""
    return translate(_built(pod), context, snapshot)


def admitted(pod: Json | PodBuilder, snapshot: Snapshot) -> Json:
    """Return the Pod as it is stored; it must be patched."""
    built = _built(pod)
    became = translate(built, ADMISSION, snapshot)
    assert became.verdict is Verdict.PATCHED, (became.reason, denial(became))
    return write(built, became.edits).after


def denied(pod: Json | PodBuilder, snapshot: Snapshot) -> str:
    """Return the message with which the Pod is denied; it must be."""
    became = outcome(pod, snapshot)
    assert became.verdict is Verdict.DENIED, became.reason
    assert became.edits == ()
    return denial(became)


def warned(pod: Json | PodBuilder, snapshot: Snapshot) -> list[str]:
    """Return the warnings that the user gets; the Pod must not be denied."""
    became = outcome(pod, snapshot)
    assert became.verdict is not Verdict.DENIED, denial(became)
    return messages.warnings(became.warnings)


def denial(became: Outcome) -> str:
    """Return an outcome's message, "" where it has none."""
    return messages.denial(became.problems) if became.problems else ""


def answered(pod: object, snapshot: Snapshot, **request: object) -> dict[str, Any]:
    """Return the response to the review of a Pod."""
    answer = decide(make_review(pod, **request), snapshot).answer
    response: dict[str, Any] = answer["response"]
    return response


def patch_of(response: dict[str, Any]) -> list[Json]:
    """Return the operations in a response, none where it has no patch."""
    if "patch" not in response:
        return []
    operations: list[Json] = orjson.loads(b64decode(response["patch"], validate=True))
    return operations


def applied(pod: Json, operations: list[Json]) -> Json:
    """Apply operations with a library that knows nothing of this project."""
    after: Json = jsonpatch.apply_patch(deepcopy(pod), operations)
    return after


def _built(pod: Json | PodBuilder) -> Json:
    return pod.build() if isinstance(pod, PodBuilder) else pod
