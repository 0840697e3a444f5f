"""``POST /mutate`` and ``/validate``: one AdmissionReview in, one out.

This is the hot path: it is a plain ASGI application, without a framework's request and response
objects and without a model of the body, which together would cost more than the decision does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from time import perf_counter

import orjson
from starlette.types import Receive, Scope, Send

from webhook.admission.decide import Decision
from webhook.admission.review import Undecidable
from webhook.admission.translate import Verdict
from webhook.metrics import Outcome
from webhook.web.body import ClientGoneError
from webhook.web.state import WebState
from webhook.web.status import Refusal, RefusedError, status_body

Decide = Callable[[object], Decision]

_JSON = (b"content-type", b"application/json")
_CLOSE = (b"connection", b"close")

# A name or namespace ends at 253 characters; whatever is longer is none, and must not make a log
# line of megabytes.
_LOGGED_CHARACTERS = 253


class Admit:
    """Answers reviews by one decision function.

    Every request gets an answer that is JSON: the review's own, or a ``Status`` object where it
    cannot be decided (R6). A bug in the decision ends as a 500 with its traceback in the log.

    Args:
        decide: What answers a review. It may raise ``RefusedError`` where it cannot.
        state: Where to count and log.
        aside: Where to decide what may take long enough to keep others waiting; None decides at
            once.
    """

    def __init__(self, decide: Decide, state: WebState, *, aside: Executor | None = None) -> None:
        self._decide = decide
        self._state = state
        self._aside = aside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request (ASGI)."""
        started = perf_counter()
        try:
            body = await self._state.bodies.read(scope, receive)
            if self._aside is not None:
                loop = asyncio.get_running_loop()
                payload = await loop.run_in_executor(self._aside, self._answer, body, started)
            else:
                payload = self._answer(body, started)
            status = 200
        except ClientGoneError:
            return
        except RefusedError as refused:
            self._record_refusal(refused, perf_counter() - started)
            status, payload = refused.status, status_body(refused.status, str(refused))
        headers = [_JSON, (b"content-length", b"%d" % len(payload))]
        if self._state.draining.active:
            headers.append(_CLOSE)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": payload})

    def _answer(self, body: bytes | bytearray, started: float) -> bytes:
        review = _parsed(body)
        try:
            decision = self._decide(review)
            payload = orjson.dumps(decision.answer)
        except RefusedError:
            raise
        except Undecidable as undecidable:
            raise RefusedError(
                undecidable.status, Refusal.UNDECIDABLE, undecidable.message
            ) from undecidable
        except Exception as bug:
            uid = _uid(review)
            self._state.log.bug("failed to decide a review", bug, uid=uid)
            raise RefusedError(
                500,
                Refusal.INTERNAL_ERROR,
                f"gpuspec failed on review {uid} with {type(bug).__name__}; its log has more",
            ) from bug
        self._record(decision, perf_counter() - started)
        return payload

    def _record(self, decision: Decision, seconds: float) -> None:
        outcome = Outcome.DRY_RUN if decision.dry_run else decision.outcome
        self._state.metrics.review(outcome, decision.reason, seconds)
        self._state.log.event(
            "warning" if decision.outcome is Verdict.DENIED else "info",
            "review",
            uid=decision.uid,
            namespace=decision.namespace[:_LOGGED_CHARACTERS],
            name=decision.name[:_LOGGED_CHARACTERS],
            outcome=decision.outcome,
            reason=decision.reason,
            dryRun=decision.dry_run,
            ms=round(seconds * 1000, 3),
        )

    def _record_refusal(self, refused: RefusedError, seconds: float) -> None:
        self._state.metrics.review(Outcome.UNDECIDED, refused.reason, seconds)
        self._state.log.event(
            "warning",
            "review",
            outcome=Outcome.UNDECIDED,
            reason=refused.reason,
            status=refused.status,
            why=str(refused),
            ms=round(seconds * 1000, 3),
        )


def _parsed(body: bytes | bytearray) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RefusedError(
            400, Refusal.NOT_JSON, f"the body {_not_json(body, error)}; send an AdmissionReview"
        ) from error


def _not_json(body: bytes | bytearray, error: orjson.JSONDecodeError) -> str:
    if not body:
        return "is empty"
    try:
        body.decode()
    except UnicodeDecodeError as not_utf8:
        return f"is not UTF-8 from byte {not_utf8.start} on"
    return f"is no JSON: {error}"


def _uid(review: object) -> str:
    """Return the uid for a log line, whatever the shape of the review."""
    request = review.get("request") if isinstance(review, dict) else None
    uid = request.get("uid") if isinstance(request, dict) else None
    return uid[:_LOGGED_CHARACTERS] if isinstance(uid, str) else "without a uid"
