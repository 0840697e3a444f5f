"""A client that takes less time over a request than the servers it drives, and models nothing.

Requests are bytes that were made beforehand, connections are kept, and whatever is no answer to a
request is an error, never a figure.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import httptools
import uvloop

T = TypeVar("T")


class WrongAnswerError(Exception):
    """A server answered something else than what was asked for; its figures would mean nothing."""


class Answer(NamedTuple):
    """One HTTP answer, and the seconds from sending its request to its last byte."""

    status: int
    body: bytes
    seconds: float


class Question(NamedTuple):
    """A request, and what is done with its answer."""

    request: bytes
    take: Callable[[Answer], None]


@dataclass(slots=True)
class Drive:
    """What driving a server took: seconds by the clock, and of this process' CPU."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    answers: int = 0


class Connection(asyncio.Protocol):
    """One connection, on which one request is in flight at a time."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._body: list[bytes] = []
        self._started = 0.0
        self._gone = asyncio.Event()

    async def ask(self, request: bytes) -> Answer:
        """Send a request and wait for the whole answer.

        Raises:
            ConnectionError: The server hung up.
        """
        if self._transport is None:
            raise ConnectionResetError("the server closed the connection")
        self._answer = asyncio.get_running_loop().create_future()
        self._started = time.perf_counter()
        self._transport.write(request)
        return await self._answer

    async def close(self) -> None:
        """Hang up, and wait until the server has done so too."""
        if self._transport is not None:
            self._transport.close()
        await self._gone.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # uvloop's are of no asyncio class

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._gone.set()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("closed before it answered"))

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        seconds = time.perf_counter() - self._started
        answer = Answer(self._parser.get_status_code(), b"".join(self._body), seconds)
        self._body = []
        if self._answer is None or self._answer.done():
            raise WrongAnswerError(f"an answer that nobody waits for: {answer.body[:200]!r}")
        self._answer.set_result(answer)


class Client:
    """Some connections to one server, kept over several drives."""

    def __init__(self, connections: list[Connection]) -> None:
        self._connections = connections

    async def drive(self, questions: Iterator[Question], *, seconds: float = float("inf")) -> Drive:
        """Ask on every connection, one question after the other.

        Args:
            questions: Whichever connection is free takes the next; when none is left, it is over.
            seconds: Ask nothing new after so long.
        """
        drive = Drive()
        started, cpu = time.perf_counter(), time.process_time()
        end = started + seconds

        async def ask_on(connection: Connection) -> None:
            for question in questions:
                question.take(await connection.ask(question.request))
                drive.answers += 1
                if time.perf_counter() >= end:
                    return

        async with asyncio.TaskGroup() as group:
            for connection in self._connections:
                group.create_task(ask_on(connection))
        drive.seconds = time.perf_counter() - started
        drive.cpu_seconds = time.process_time() - cpu
        return drive


@asynccontextmanager
async def connected(port: int, tls: ssl.SSLContext, *, connections: int) -> AsyncIterator[Client]:
    """Open connections to a server on this machine, and close them in the end."""
    loop = asyncio.get_running_loop()
    opened: list[Connection] = []
    try:
        for _ in range(connections):
            _, connection = await loop.create_connection(
                Connection, "127.0.0.1", port, ssl=tls, server_hostname="127.0.0.1"
            )
            opened.append(connection)
        yield Client(opened)
    finally:
        await asyncio.gather(*(connection.close() for connection in opened))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a bench's work on the event loop that is the fastest there is."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
