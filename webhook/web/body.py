"""Read a request's body within bounds: of size, of memory, and of what it claims to be."""

from __future__ import annotations

import asyncio

from starlette.types import Receive, Scope

from webhook.web.status import Refusal, RefusedError

# etcd takes requests of 1.5 MiB by default. The API server lets a JSON body be twice that, since
# JSON is bulkier than what is stored: 3 MiB. A review holds at most two such objects, the new and
# the old one, and everything around them is less than 1 MiB: 7 MiB. controller-runtime's webhooks
# have the same limit for the same reason.
BODY_LIMIT_BYTES = 7 * 1024 * 1024

# A body may grow to this size as it comes; nearly every Pod ends long before.
_FREE_BYTES = 256 * 1024

# Of longer ones so many are taken in at once; the others wait, and their senders with them, because
# nothing reads their sockets meanwhile. So bodies never hold more memory than
# 4 x 7 MiB + connections x (256 KiB + what one read brings).
_LONG_BODIES = 4


class ClientGoneError(Exception):
    """The client closed its connection before its request was complete."""


class BodyReader:
    """Reads JSON bodies.

    Args:
        limit: The most bytes that a body may have.
    """

    def __init__(self, limit: int = BODY_LIMIT_BYTES) -> None:
        self._limit = limit
        self._long_bodies = asyncio.Semaphore(_LONG_BODIES)

    async def read(self, scope: Scope, receive: Receive) -> bytes | bytearray:
        """Return the whole body.

        Raises:
            RefusedError: 413 when it is too large, by its announced length before anything of it is
                read; 415 when it does not say that it is JSON, or is compressed.
            ClientGoneError: The client went away; there is nobody to answer.
        """
        self._check_head(scope)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        body: bytes = message.get("body", b"")
        if message.get("more_body", False) or len(body) > self._limit:
            return await self._read_on(body, receive)
        return body

    def _check_head(self, scope: Scope) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        content_type = headers.get(b"content-type", b"")
        if content_type != b"application/json" and not _is_json(content_type):
            shown = content_type.decode("latin-1")[:100]
            raise RefusedError(
                415,
                Refusal.WRONG_CONTENT_TYPE,
                f"the body's content type is {shown!r}; send application/json",
            )
        if b"content-encoding" in headers and headers[b"content-encoding"] != b"identity":
            shown = headers[b"content-encoding"].decode("latin-1")[:100]
            raise RefusedError(
                415,
                Refusal.WRONG_CONTENT_TYPE,
                f"the body is encoded as {shown!r}; send it as it is",
            )
        announced = headers.get(b"content-length")
        if announced is not None and int(announced) > self._limit:
            raise self._too_large(f"{int(announced)} bytes, more than {self._limit}")

    async def _read_on(self, beginning: bytes, receive: Receive) -> bytearray:
        body = bytearray(beginning)
        more = await self._collect(body, receive, min(_FREE_BYTES, self._limit))
        if more:
            async with self._long_bodies:
                more = await self._collect(body, receive, self._limit)
        if more:
            raise self._too_large(f"more than {self._limit} bytes")
        return body

    async def _collect(self, body: bytearray, receive: Receive, limit: int) -> bool:
        """Add what arrives until the body ends or is longer than the limit; tell which it was."""
        while len(body) <= limit:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            body += message.get("body", b"")
            if not message.get("more_body", False):
                return len(body) > self._limit
        return True

    def _too_large(self, amount: str) -> RefusedError:
        return RefusedError(
            413,
            Refusal.BODY_TOO_LARGE,
            f"the body has {amount}; no review of a Kubernetes object is larger",
        )


def _is_json(content_type: bytes) -> bool:
    media_type = content_type.partition(b";")[0].strip().lower()
    return media_type == b"application/json"
