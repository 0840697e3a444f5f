"""HTTP/1.1 on one connection, within bounds that uvicorn does not set.

uvicorn waits for ever for the rest of a request, takes a head of any size, and answers bytes that
are no HTTP with plain text. Here a request has to arrive within a time and its head within a size,
and every answer is a ``Status`` object.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from webhook.web.status import status_body

# Go's server takes heads of 1 MiB, nginx of 32 KiB. The API server's is below 1 KiB, a service
# mesh's or an impersonating proxy's may be some KiB.
_HEAD_LIMIT_BYTES = 64 * 1024

# How long a client may take to read the last answer and to do its part in an orderly end of TLS.
# uvloop waits 30 s for that, meanwhile takes in whatever the client goes on sending, and so would
# keep a process that stops from stopping.
_LINGER_S = 1.0


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, bounded in time and size."""

    _receiving_since: float | None = None
    _in_head = True
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first request."""
        super().connection_made(transport)
        self._receiving_since = self.loop.time()

    def on_message_begin(self) -> None:
        """Start waiting for the rest of a request."""
        super().on_message_begin()
        self._receiving_since = self.loop.time()
        self._in_head = True

    def on_headers_complete(self) -> None:
        """Note that what follows is the body."""
        super().on_headers_complete()  # raises on a URL that is none: still in the head
        self._in_head = False

    def on_message_complete(self) -> None:
        """Stop waiting: the request is here."""
        self._receiving_since = None
        self._in_head = True
        self._head_bytes = 0
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Take bytes in, as long as a head stays within its size."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > _HEAD_LIMIT_BYTES:
            self._refuse(431, f"the request's head is larger than {_HEAD_LIMIT_BYTES} bytes")

    def close_if_late(self, longest: float) -> None:
        """End a request of which too little has arrived after so many seconds."""
        since = self._receiving_since
        if since is None or self.transport.is_closing():
            return
        if self.loop.time() - since > longest:
            self._refuse(408, f"the request did not arrive whole within {longest:g} s")

    def on_response_complete(self) -> None:
        """Go on to the next request, or end."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._end_soon()

    def shutdown(self) -> None:
        """End now where nothing is in flight, after the answer otherwise."""
        super().shutdown()
        if self.transport.is_closing():
            self._end_soon()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP."""
        self._refuse(400, f"{msg} Send HTTP/1.1.")

    def _refuse(self, code: int, message: str) -> None:
        """Answer outside the application, where an answer is due, and hang up."""
        if self._owes_answer():
            body = status_body(code, message)
            head = (
                f"HTTP/1.1 {code} {HTTPStatus(code).phrase}\r\n"
                "content-type: application/json\r\n"
                f"content-length: {len(body)}\r\n"
                "connection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()
        self._end_soon()

    def _end_soon(self) -> None:
        self.loop.call_later(_LINGER_S, self.transport.abort)

    def _owes_answer(self) -> bool:
        if self._in_head:
            # ``cycle`` is the request before this one. A connection on which nothing was sent yet
            # is owed nothing: its client would take an answer for that of its next request.
            done = self.cycle is None or self.cycle.response_complete
            return done and self._head_bytes > 0
        return not self.cycle.response_started
