"""Bodies within bounds of size and memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Message

from tests.webhook.web.asgi import chunks, receiver
from webhook.web.body import BODY_LIMIT_BYTES, BodyReader, ClientGoneError
from webhook.web.status import RefusedError

MIB = 1024 * 1024


def head(**headers: str) -> dict[str, Any]:
    named = {"content-type": "application/json", **headers}
    return {
        "type": "http",
        "headers": [
            (name.replace("_", "-").encode(), value.encode()) for name, value in named.items()
        ],
    }


def read(reader: BodyReader, scope: dict[str, Any], *bodies: bytes) -> bytes:
    return bytes(asyncio.run(reader.read(scope, receiver(chunks(*bodies)))))


def test_the_limit_is_two_objects_of_3_mib_and_1_mib_around_them() -> None:
    assert BODY_LIMIT_BYTES == 2 * 3 * MIB + MIB


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param([b""], id="nothing"),
        pytest.param([b"abc"], id="one piece"),
        pytest.param([b"a", b"", b"bc", b""], id="several pieces, some empty"),
        pytest.param([b"a" * MIB, b"b" * MIB], id="beyond what may grow freely"),
        pytest.param([b"a" * (BODY_LIMIT_BYTES - 1), b"b"], id="as large as may be, in two"),
        pytest.param([b"a" * BODY_LIMIT_BYTES], id="as large as may be, in one"),
    ],
)
def test_a_body_is_read_whole(bodies: list[bytes]) -> None:
    assert read(BodyReader(), head(), *bodies) == b"".join(bodies)


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param([b"a" * BODY_LIMIT_BYTES, b"b"], id="one byte more"),
        pytest.param([b"a" * MIB] * 20, id="20 MiB"),
        pytest.param([b"", b"a" * (BODY_LIMIT_BYTES + 1)], id="all in the last piece"),
        pytest.param([b"a" * (BODY_LIMIT_BYTES + 1)], id="all in the only piece"),
    ],
)
def test_error_a_body_that_turns_out_too_large(bodies: list[bytes]) -> None:
    with pytest.raises(RefusedError) as refused:
        read(BodyReader(), head(), *bodies)

    assert refused.value.status == 413
    assert refused.value.message == (
        "the body has more than 7340032 bytes; no review of a Kubernetes object is larger"
    )


def test_error_a_body_that_says_it_is_too_large_is_not_read() -> None:
    async def never() -> Message:
        raise AssertionError("it was read")

    with pytest.raises(RefusedError) as refused:
        asyncio.run(BodyReader().read(head(content_length="20971520"), never))

    assert refused.value.status == 413
    assert refused.value.message == (
        "the body has 20971520 bytes, more than 7340032; no review of a Kubernetes object is larger"
    )


def test_reading_stops_where_the_limit_is_passed() -> None:
    """What comes after it is never held."""
    messages = chunks(*[b"a" * MIB] * 200)
    receive = receiver(messages)

    with pytest.raises(RefusedError):
        asyncio.run(BodyReader().read(head(), receive))

    assert asyncio.run(receive())["body"] == b"a" * MIB


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_client_that_goes_away_is_noticed(before: int) -> None:
    messages = [*chunks(*[b"a" * MIB] * 5)[:before], {"type": "http.disconnect"}]

    with pytest.raises(ClientGoneError):
        asyncio.run(BodyReader().read(head(), receiver(messages)))


def test_of_long_bodies_only_a_few_are_taken_in_at_once() -> None:
    """Forty clients with long bodies hold four of them in memory; short ones pass them by."""

    class Client:
        """Sends half a long body, and the rest when it is told to."""

        def __init__(self) -> None:
            self.taken = 0
            self.go_on = asyncio.Event()

        async def receive(self) -> dict[str, Any]:
            if self.taken == 4:
                await self.go_on.wait()
            self.taken += 1
            return {"type": "http.request", "body": b"a" * 200_000, "more_body": self.taken < 8}

    async def scenario() -> tuple[list[int], int, int]:
        reader = BodyReader()
        clients = [Client() for _ in range(40)]
        reads = [asyncio.create_task(reader.read(head(), client.receive)) for client in clients]
        for _ in range(20):
            await asyncio.sleep(0)
        taken = sorted(client.taken for client in clients)
        short = await reader.read(head(), receiver(chunks(b"a", b"b")))
        for client in clients:
            client.go_on.set()
        return taken, len(short), sum(len(body) for body in await asyncio.gather(*reads))

    taken, short, total = asyncio.run(scenario())

    assert taken == [2] * 36 + [4] * 4
    assert short == 2
    assert total == 40 * 8 * 200_000
