"""Answers for "we cannot decide": a Kubernetes ``Status`` object as JSON, never plain text (R6).

The API server shows its user the message of such an object; the text of any other body is dropped.
"""

from __future__ import annotations

from enum import StrEnum

import orjson

# The API's own reasons where it has one for the code; clients switch on them.
_REASONS = {
    400: "BadRequest",
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "Timeout",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    431: "RequestEntityTooLarge",
    500: "InternalError",
    503: "ServiceUnavailable",
}


class Refusal(StrEnum):
    """Why a request was not decided, where HTTP itself is the reason; for metrics and logs."""

    BODY_TOO_LARGE = "BodyTooLarge"
    WRONG_CONTENT_TYPE = "WrongContentType"
    NOT_JSON = "NotJson"
    UNDECIDABLE = "Undecidable"
    NO_TABLE = "NoTable"
    INTERNAL_ERROR = "InternalError"


class RefusedError(Exception):
    """A request that is not decided, and what is told to whoever sent it.

    Attributes:
        status: The HTTP status code.
        reason: Why, from a closed set.
        message: What is wrong and what to do instead.
    """

    def __init__(self, status: int, reason: Refusal, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message


def status_body(code: int, message: str) -> bytes:
    """Return a ``Status`` object of a failure, as JSON."""
    return orjson.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": _REASONS.get(code, ""),
            "code": code,
        }
    )
