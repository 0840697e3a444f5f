"""How talking to an API server fails."""

from __future__ import annotations

from http import HTTPStatus


class ClusterError(Exception):
    """The base of both; its text is a sentence for people."""


class UnreachableError(ClusterError):
    """There was no answer: nobody listens, the certificate is not believed, no kubeconfig."""


class ApiError(ClusterError):
    """The API server answered, and the answer is no.

    Attributes:
        code: The HTTP status.
        reason: The machine-readable reason of its ``Status`` object (``NotFound``), or "".
        message: Its own words.
    """

    def __init__(self, request: str, code: int, reason: str, message: str) -> None:
        super().__init__(
            f"{request}: {code} {reason}: {message}" if reason else f"{request}: {code} {message}"
        )
        self.code = code
        self.reason = reason
        self.message = message

    @property
    def is_not_found(self) -> bool:
        """Whether the object, or the kind of object, does not exist."""
        return self.code == HTTPStatus.NOT_FOUND

    @property
    def is_conflict(self) -> bool:
        """Whether somebody else has changed or created the object meanwhile."""
        return self.code == HTTPStatus.CONFLICT

    @property
    def is_expired(self) -> bool:
        """Whether a resource version or a page is too old to go on from."""
        return self.code == HTTPStatus.GONE or self.reason == "Expired"

    @property
    def is_forbidden(self) -> bool:
        """Whether a permission is missing; ``message`` names it."""
        return self.code in {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}
