"""Many clients that send one review after the other, and count what does not come back."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """What came of a load.

    Attributes:
        statuses: Answers by HTTP status.
        failures: What went wrong with each request that got no answer, or a wrong one.
        handshakes: How many connections were opened.
        seconds: How long it took.
        latencies: Seconds from request to answer.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    handshakes: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)

    @property
    def answers(self) -> int:
        return self.statuses.total()

    def __str__(self) -> str:
        ordered = sorted(self.latencies) or [0.0]
        median, high = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
        return (
            f"{self.answers} answers in {self.seconds:.1f} s "
            f"({self.answers / self.seconds:.0f} a second), {self.handshakes} handshakes, "
            f"p50 {median * 1000:.1f} ms, p99 {high * 1000:.1f} ms, "
            f"{len(self.failures)} failed"
        )


def post(body: bytes, path: str = "/mutate") -> bytes:
    """An HTTP request as the API server sends it."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kube-apiserver-admission\r\n"
        f"Content-Length: {len(body)}\r\nAccept: application/json, */*\r\n"
        "Content-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n"
    )
    return head.encode() + body


class Load:
    """Clients that go on until they are told to stop.

    Args:
        port: Where, on this machine.
        tls: Whom to trust.
        request: What each sends, as ``post`` makes it.
        is_right: Judges an answer's body.
        per_connection: After so many requests a client opens a new connection.
        leave_when_told: Whether a client whose connection the server closes goes elsewhere, as it
            would where a Service has other endpoints; otherwise it comes back.
    """

    def __init__(  # noqa: PLR0913 -- a value each
        self,
        port: int,
        tls: ssl.SSLContext,
        request: bytes,
        is_right: Callable[[bytes], bool],
        *,
        per_connection: int = 100,
        leave_when_told: bool = False,
    ) -> None:
        self._port = port
        self._tls = tls
        self._request = request
        self._is_right = is_right
        self._per_connection = per_connection
        self._leave_when_told = leave_when_told
        self._stopping = False
        self.tally = Tally()

    def stop(self) -> None:
        """Let every client finish its request and go."""
        self._stopping = True

    async def run(self, clients: int) -> Tally:
        """Run so many clients until ``stop``."""
        started = time.perf_counter()
        await asyncio.gather(*(self._client() for _ in range(clients)))
        self.tally.seconds = time.perf_counter() - started
        return self.tally

    async def _client(self) -> None:
        while not self._stopping:
            try:
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", self._port, ssl=self._tls, server_hostname="localhost"
                )
            except OSError as error:
                self.tally.failures.append(f"connecting: {error!r}")
                continue
            self.tally.handshakes += 1
            try:
                if await self._converse(reader, writer) and self._leave_when_told:
                    return
            except (OSError, EOFError) as error:
                self.tally.failures.append(repr(error))
            finally:
                await _close(writer)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Send requests until it is time for another connection; tell if the server said so."""
        for _ in range(self._per_connection):
            started = time.perf_counter()
            writer.write(self._request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = await reader.readexactly(length)
            self.tally.latencies.append(time.perf_counter() - started)
            status = int(head.split(b" ", 2)[1])
            self.tally.statuses[status] += 1
            if not self._is_right(body):
                self.tally.failures.append(f"answer {status}: {body[:200]!r}")
            if b"connection: close" in head:
                return True
            if self._stopping:
                return False
        return False


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):  # The other side was faster.
        await writer.wait_closed()
