"""The two servers of a comparison: ``gpuspec serve``, and one with a fixed answer."""

from __future__ import annotations

import ssl
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import orjson

from tests.bench.client import Answer, Question, WrongAnswerError, connected, run
from tests.bench.machine import cpu_seconds, python
from tests.service import running_service

_STOP_S = 30


@dataclass(frozen=True)
class Server:
    """A running webhook.

    Attributes:
        port: Where it serves ``/mutate`` over TLS, on 127.0.0.1.
        authority: The file with what clients trust.
        pid: Its process.
    """

    port: int
    authority: Path
    pid: int

    def tls(self) -> ssl.SSLContext:
        """A client's context."""
        return ssl.create_default_context(cafile=self.authority)

    def cpu_seconds(self) -> float | None:
        """CPU time so far."""
        return cpu_seconds(self.pid)


@contextmanager
def ours(folder: Path, table: Path | None = None) -> Iterator[Server]:
    """Run the real thing; it leaves its certificate in the folder.

    Args:
        folder: Where files and logs go.
        table: The selection table, None for the built-in one.
    """
    arguments = () if table is None else ("--table", str(table))
    with running_service(folder, *arguments) as service:
        yield Server(service.port, service.authority, service.process.pid)


@contextmanager
def fixed(folder: Path, response: dict[str, object]) -> Iterator[Server]:
    """Run a server that gives every review this response, with our certificate in the folder."""
    answer, tls = folder / "answer.json", folder / "tls"
    answer.write_bytes(orjson.dumps(response))
    command = python(
        "-m", "tests.bench.fixed", *map(str, (answer, tls / "tls.crt", tls / "tls.key"))
    )
    with (folder / "fixed.log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        port = process.stdout.readline().strip()
        if not port:
            raise RuntimeError(f"it did not start: {(folder / 'fixed.log').read_text()}")
        yield Server(int(port), tls / "ca.crt", process.pid)
    finally:
        process.terminate()
        process.wait(_STOP_S)
        process.stdout.close()


def first_answer(server: Server, request: bytes) -> bytes:
    """Return the body of the answer to one request.

    Raises:
        WrongAnswerError: It is none that others could be measured by.
    """

    async def ask() -> Answer:
        answers: list[Answer] = []
        async with connected(server.port, server.tls(), connections=1) as client:
            await client.drive(iter([Question(request, answers.append)]))
        return answers[0]

    answer = run(ask())
    if answer.status != HTTPStatus.OK:
        raise WrongAnswerError(f"{answer.status} {answer.body!r}")
    return answer.body


def response_of(body: bytes) -> dict[str, object]:
    """Return the response in an answer without the uid, as a server that knows no Pod gives it."""
    response: dict[str, object] = orjson.loads(body)["response"]
    return {key: value for key, value in response.items() if key != "uid"}


def patch_bytes(response: dict[str, object]) -> int:
    """Return the size of the JSON Patch in a response, 0 without one."""
    patch = response.get("patch", "")
    return len(b64decode(patch)) if isinstance(patch, str) else 0
