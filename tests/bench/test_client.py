"""What measures can itself be trusted: an answer that is none, or another's, is never a figure."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path

import orjson
import pytest

from tests.bench.client import Answer, Connection, WrongAnswerError, run
from tests.bench.create import Way
from tests.bench.mutate import Reviews
from tests.bench.reviews import Workload, plain_pod, review, serial, workloads
from tests.bench.servers import first_answer, fixed, ours, patch_bytes, response_of
from webhook.admission.essence import essence_of
from webhook.terms import SPEC_LABEL

_SAME = {"replicas": True, "different": False, "no-spec": True}
_PATCHED = {"replicas": True, "different": True, "no-spec": False}


def _workload(name: str) -> Workload:
    (found,) = (one for one in workloads() if one.name == name)
    return found


def _asked(*pieces: bytes) -> Answer:
    """Ask a server that sends these bytes, piece by piece, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        serving = pool.submit(_serve, listener, pieces)
        try:
            return run(_ask(listener.getsockname()[1]))
        finally:
            serving.result()


def _serve(listener: socket.socket, pieces: tuple[bytes, ...]) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(1)
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.01)


async def _ask(port: int) -> Answer:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
    try:
        return await connection.ask(b"?")
    finally:
        await connection.close()


@pytest.mark.parametrize(
    ("pieces", "status", "body"),
    [
        pytest.param((b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",), 200, b"hi", id="whole"),
        pytest.param(
            (b"HTTP/1.1 201 Created\r\ncontent-le", b"ngth: 4\r\n\r\nab", b"cd"),
            *(201, b"abcd"),
            id="in pieces",
        ),
        pytest.param(
            (
                b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            ),
            *(500, b"abc"),
            id="chunked",
        ),
    ],
)
def test_an_answer_is_whole(pieces: tuple[bytes, ...], status: int, body: bytes) -> None:
    answer = _asked(*pieces)
    assert (answer.status, answer.body) == (status, body)
    assert answer.seconds > 0


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param((), id="nothing"),
        pytest.param((b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",), id="half"),
        pytest.param((b"no HTTP at all\r\n\r\n",), id="other"),
    ],
)
def test_what_is_no_answer_is_an_error(
    pieces: tuple[bytes, ...], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "asyncio")  # uvloop tells of it there too
    with pytest.raises(Exception, match=r"closed before it answered|HTTP"):
        _asked(*pieces)


@pytest.mark.parametrize("workload", workloads(), ids=lambda one: one.name)
def test_a_workload_is_what_it_says(workload: Workload) -> None:
    assert 4000 <= workload.review_bytes <= 6000
    bodies = [
        orjson.loads(workload.request(serial(number)).partition(b"\r\n\r\n")[2])
        for number in (1, 2)
    ]
    first, second = (body["request"] for body in bodies)
    assert first["uid"] != second["uid"]
    assert first["object"]["metadata"]["name"] != second["object"]["metadata"]["name"]
    same = essence_of(first["object"]) == essence_of(second["object"])
    assert same is _SAME[workload.name]


@pytest.mark.parametrize("name", ["replicas", "no-spec"])
def test_both_servers_give_the_same_answer(name: str, tmp_path: Path) -> None:
    request = _workload(name).request
    with ours(tmp_path) as our_server:
        response = response_of(first_answer(our_server, request(serial(1))))
        assert (patch_bytes(response) > 0) is _PATCHED[name]
        with fixed(tmp_path, response) as fixed_server:
            answers = [
                orjson.loads(first_answer(server, request(serial(2))))
                for server in (our_server, fixed_server)
            ]
    assert answers[0] == answers[1]
    assert answers[0]["response"]["uid"].endswith(serial(2).decode())


@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param(500, b"000000000001", id="status"),
        pytest.param(200, b"000000000002", id="another's"),
        pytest.param(200, b"000000000001 and more", id="size"),
    ],
)
def test_a_wrong_answer_to_a_review_ends_the_bench(status: int, body: bytes) -> None:
    latencies: list[float] = []
    question = next(Reviews(_workload("replicas"), answer_bytes=12).questions(latencies))
    question.take(Answer(200, b"000000000001", 0.5))
    assert latencies == [0.5]
    with pytest.raises(WrongAnswerError):
        question.take(Answer(status, body, 0.5))


@pytest.mark.parametrize("changed", [True, False])
def test_a_pod_that_was_changed_or_not_against_expectation_ends_the_bench(changed: bool) -> None:  # noqa: FBT001
    stored = {True: b'{"%s":""}' % SPEC_LABEL.encode(), False: b"{}"}
    way = Way("ours", "ours", plain_pod(), changed=changed)
    way.take(Answer(HTTPStatus.CREATED, stored[changed], 0.5))
    assert (way.latencies, way.failures) == ([0.5], [])
    with pytest.raises(WrongAnswerError):
        way.take(Answer(HTTPStatus.CREATED, stored[not changed], 0.5))


def test_pods_that_are_not_created_are_counted_and_told() -> None:
    way = Way("ours", "ours", plain_pod(), changed=False)
    for message in ("too slow: context deadline exceeded", "no such thing", "no such thing"):
        way.take(Answer(500, orjson.dumps({"message": message}), 3.0))
    assert way.row() == ("ours", "3", "3000.00", "3000.00", "3000.00", "3000.00", "3", "1")
    assert list(way.told()) == [
        "  ours, 2 times: 500 no such thing",
        "  ours, 1 times: 500 too slow: context deadline exceeded",
    ]


def test_a_review_is_json_of_its_pod() -> None:
    document = orjson.loads(review(plain_pod()))
    assert document["request"]["object"] == plain_pod()
