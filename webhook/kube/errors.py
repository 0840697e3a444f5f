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
        retry_after_s: How long it asks to be left alone; 0 where it does not say.
    """

    def __init__(
        self, request: str, code: int, reason: str, message: str, retry_after_s: float = 0.0
    ) -> None:
        super().__init__(
            f"{request}: {code} {reason}: {message}" if reason else f"{request}: {code} {message}"
        )
        self.code = code
        self.reason = reason
        self.message = message
        self.retry_after_s = retry_after_s

    @property
    def is_not_found(self) -> bool:
        """Whether the API server itself says that there is no such object, or kind of object.

        A proxy before it has another 404.
        """
        return self.code == HTTPStatus.NOT_FOUND and self.reason == "NotFound"

    @property
    def is_conflict(self) -> bool:
        """Whether somebody else has changed or created the object meanwhile."""
        return self.code == HTTPStatus.CONFLICT

    @property
    def is_leaving(self) -> bool:
        """Whether the namespace is being deleted, or gone, so that nothing is made there."""
        return self.is_not_found or "being terminated" in self.message

    @property
    def is_expired(self) -> bool:
        """Whether a resource version or a page is too old to go on from."""
        return self.code == HTTPStatus.GONE or self.reason == "Expired"

    @property
    def is_forbidden(self) -> bool:
        """Whether a permission is missing; ``message`` names it."""
        return self.code == HTTPStatus.FORBIDDEN

    @property
    def is_unauthorized(self) -> bool:
        """Whether the credentials are not, or no longer, believed."""
        return self.code == HTTPStatus.UNAUTHORIZED
