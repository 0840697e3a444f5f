"""Bytes that no good client sends, over real TLS to a real process: each ends in a sentence."""

from __future__ import annotations

import socket
import ssl
import struct
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import orjson
import pytest

from tests.load import post
from tests.service import Service, running_service
from tests.webhook.documents import UID, review_bytes, table_text
from tests.webhook.web.wire import Answer, is_closed

MB = 1_000_000
REQUEST_S = 3
GOOD = post(review_bytes())
HEAD = b"POST /mutate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LATE = f"the request did not arrive whole within {REQUEST_S} s"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    with running_service(
        folder, "--table", str(table_in(folder)), "--request-seconds", str(REQUEST_S)
    ) as running:
        yield running


def table_in(folder: Path) -> Path:
    path = folder / "table.yaml"
    path.write_bytes(table_text())
    return path


@pytest.fixture(autouse=True)
def served_afterwards(service: Service) -> Iterator[None]:
    """Whatever a test sends, the next client is served and the log has no traceback."""
    yield
    with service.client() as client:
        answer = client.post("/mutate", json=orjson.loads(review_bytes())).json()
    assert answer["response"]["uid"] == UID
    assert "Traceback" not in service.log_text()
    assert service.log()


def seconds_until_closed(connection: ssl.SSLSocket, more: bytes) -> float:
    """Send more and more until the server has had enough."""
    started = time.monotonic()
    while time.monotonic() - started < 30:
        try:
            connection.sendall(more)
        except OSError:
            break
        time.sleep(0.05)
    return time.monotonic() - started


class TestSlow:
    """A request has a time in which to arrive whole."""

    BEGINNINGS = (
        b"P",
        HEAD,
        HEAD + b"Content-Length: 100\r\n\r\n",
        HEAD + b"Content-Length: 100\r\n\r\n{",
        CHUNKED + b"5\r\n{",
        GOOD[:-1],
    )

    def test_then_silence(self, service: Service) -> None:
        """Wherever in a request a client falls silent; all of them at once, to save time."""
        with ExitStack() as stack:
            connections = [stack.enter_context(service.connection()) for _ in self.BEGINNINGS]
            for connection, beginning in zip(connections, self.BEGINNINGS, strict=True):
                connection.sendall(beginning)

            answers = [Answer(connection).refusal() for connection in connections]

            assert answers == [(408, LATE)] * len(self.BEGINNINGS)
            assert all(is_closed(connection) for connection in connections)

    def test_byte_by_byte(self, service: Service) -> None:
        """Activity does not buy time."""
        with service.connection() as connection:
            connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")

            assert seconds_until_closed(connection, b" ") < 3 * REQUEST_S

    def test_a_connection_without_a_request_is_closed_without_an_answer(
        self, service: Service
    ) -> None:
        """Its client would take an answer for that of its next request."""
        with service.connection() as connection:
            assert is_closed(connection)

    def test_an_idle_connection_between_requests_stays(self, service: Service) -> None:
        with service.connection() as connection:
            for _ in range(2):
                connection.sendall(GOOD)
                assert Answer(connection).status == 200
                time.sleep(REQUEST_S + 1)

    def test_the_second_request_on_a_connection_has_its_time_too(self, service: Service) -> None:
        with service.connection() as connection:
            connection.sendall(GOOD)
            assert Answer(connection).status == 200
            connection.sendall(GOOD[:40])

            assert Answer(connection).refusal() == (408, LATE)


class TestLarge:
    TOO_LARGE = (
        413,
        (
            "the body has 20000000 bytes, more than 7340032; "
            "no review of a Kubernetes object is larger"
        ),
    )
    GOES_ON = (
        413,
        "the body has more than 7340032 bytes; no review of a Kubernetes object is larger",
    )

    def test_announced(self, service: Service) -> None:
        with service.connection() as connection:
            connection.sendall(post(b" " * 20 * MB))

            assert Answer(connection).refusal() == self.TOO_LARGE
            connection.sendall(GOOD)
            assert Answer(connection).status == 200

    def test_announced_and_not_sent(self, service: Service) -> None:
        """A client that asks first does not have to send it."""
        with service.connection() as connection:
            head = HEAD + b"Content-Length: 20000000\r\nExpect: 100-continue\r\n\r\n"
            connection.sendall(head)

            assert Answer(connection).refusal() == self.TOO_LARGE

    def test_in_chunks(self, service: Service) -> None:
        chunk = b"F4240\r\n" + b" " * MB + b"\r\n"
        with service.connection() as connection:
            connection.sendall(CHUNKED + chunk * 20 + b"0\r\n\r\n")

            assert Answer(connection).refusal() == self.GOES_ON
            connection.sendall(GOOD)
            assert Answer(connection).status == 200

    def test_in_chunks_without_end(self, service: Service) -> None:
        chunk = b"F4240\r\n" + b" " * MB + b"\r\n"
        with service.connection() as connection:
            connection.sendall(CHUNKED + chunk * 8)
            assert Answer(connection).refusal() == self.GOES_ON

            assert seconds_until_closed(connection, chunk) < 3 * REQUEST_S

    def test_head(self, service: Service) -> None:
        with service.connection() as connection:
            connection.sendall(HEAD + b"X-Filler: " + b"x" * 100_000)

            assert Answer(connection).refusal() == (
                431,
                "the request's head is larger than 65536 bytes",
            )
            assert is_closed(connection)

    def test_head_on_a_used_connection(self, service: Service) -> None:
        with service.connection() as connection:
            connection.sendall(GOOD)
            assert Answer(connection).status == 200
            connection.sendall(HEAD + b"X-Filler: x\r\n" * 10_000)

            assert Answer(connection).refusal()[0] == 431

    def test_a_review_of_almost_7_mib_is_decided(self, service: Service) -> None:
        padded = review_bytes() + b" " * (7 * 1024 * 1024 - len(review_bytes()))
        with service.connection() as connection:
            connection.sendall(post(padded))

            assert Answer(connection).body["response"]["uid"] == UID


class TestNoHttp:
    @pytest.mark.parametrize(
        "garbage",
        [
            pytest.param(b"\x00" * 100, id="zeros"),
            pytest.param(b"hello\r\n\r\n", id="words"),
            pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
            pytest.param(HEAD + b"Content-Length: many\r\n\r\n", id="length that is no number"),
            pytest.param(
                HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\n", id="two lengths"
            ),
            pytest.param(CHUNKED + b"zz\r\n", id="chunk size that is no number"),
            pytest.param(b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", id="a proxy's method"),
            pytest.param(b"GET http://[::1 HTTP/1.1\r\nHost: a\r\n\r\n", id="URL that is none"),
        ],
    )
    def test_is_a_400(self, service: Service, garbage: bytes) -> None:
        with service.connection() as connection:
            connection.sendall(garbage)

            assert Answer(connection).refusal() == (
                400,
                "Invalid HTTP request received. Send HTTP/1.1.",
            )
            assert is_closed(connection)

    def test_on_a_used_connection(self, service: Service) -> None:
        with service.connection() as connection:
            connection.sendall(GOOD)
            assert Answer(connection).status == 200
            connection.sendall(b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n")

            assert Answer(connection).refusal()[0] == 400

    def test_plain_http(self, service: Service) -> None:
        with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
            connection.sendall(GOOD)

            assert b"HTTP/1.1 2" not in connection.recv(1000)

    def test_an_upgrade_is_not_taken_up(self, service: Service) -> None:
        with service.connection() as connection:
            upgrade = b"\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
            connection.sendall(GOOD.replace(b"\r\n", upgrade, 1))

            assert Answer(connection).status in {200, 400, 408}

    def test_two_requests_at_once_are_answered_in_order(self, service: Service) -> None:
        with service.connection() as connection:
            connection.sendall(GOOD + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")

            assert Answer(connection).body["response"]["uid"] == UID
            assert Answer(connection).body == {"alive": True}

    def test_http_1_0(self, service: Service) -> None:
        with service.connection() as connection:
            connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")

            assert Answer(connection).body == {"alive": True}
            assert is_closed(connection)


class TestGone:
    """Clients that go away in the middle leave nothing behind, not even a traceback."""

    PLACES = (
        pytest.param(b"", id="before anything"),
        pytest.param(HEAD, id="in the head"),
        pytest.param(HEAD + b"Content-Length: 100\r\n\r\n{", id="in the body"),
        pytest.param(CHUNKED + b"F4240\r\n" + b" " * 500_000, id="in a long body"),
        pytest.param(GOOD, id="before the answer"),
    )

    @pytest.mark.parametrize("beginning", PLACES)
    def test_orderly(self, service: Service, beginning: bytes) -> None:
        for _ in range(20):
            with service.connection() as connection:
                connection.sendall(beginning)

    @pytest.mark.parametrize("beginning", PLACES)
    def test_abruptly(self, service: Service, beginning: bytes) -> None:
        for _ in range(20):
            with service.connection() as connection:
                connection.sendall(beginning)
                # With these options closing sends a reset instead of an end.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def test_in_the_handshake(self, service: Service) -> None:
        for beginning in (b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01"):
            with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
                connection.sendall(beginning)


class TestTls:
    def test_version_1_1_is_refused(self, service: Service) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            old = service.tls()
            old.minimum_version = ssl.TLSVersion.TLSv1
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        old.set_ciphers("DEFAULT:@SECLEVEL=0")

        with (
            pytest.raises(ssl.SSLError, match=r"UNEXPECTED_EOF|PROTOCOL_VERSION"),
            service.connection(old),
        ):
            pass

    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    def test_versions_1_2_and_1_3_are_served(
        self, service: Service, version: ssl.TLSVersion
    ) -> None:
        client = service.tls()
        client.minimum_version = client.maximum_version = version

        with service.connection(client) as connection:
            connection.sendall(GOOD)

            assert Answer(connection).status == 200
            assert connection.version() == version.name.replace("v1_", "v1.")

    def test_a_client_that_does_not_trust_it_leaves_no_traceback(self, service: Service) -> None:
        stranger = ssl.create_default_context()

        with pytest.raises(ssl.SSLCertVerificationError), service.connection(stranger):
            pass


def test_memory_stays_within_bounds(tmp_path: Path) -> None:
    """Two hundred bodies of 20 MB, ten at a time, half of them without an announced length."""
    chunk = b"F4240\r\n" + b" " * MB + b"\r\n"
    bodies = (post(b" " * 20 * MB), CHUNKED + chunk * 20 + b"0\r\n\r\n")
    with running_service(tmp_path, "--table", str(table_in(tmp_path))) as service:
        with ThreadPoolExecutor(10) as pool:
            statuses = list(pool.map(lambda number: send(service, bodies[number % 2]), range(200)))

        peak = service.memory_bytes("VmHWM")

    print(f"peak memory after 200 bodies of 20 MB: {peak / 1024 / 1024:.0f} MiB")
    assert statuses == [413] * 200
    assert peak <= 300 * 1024 * 1024


def send(service: Service, request: bytes) -> int:
    with service.connection() as connection:
        connection.sendall(request)
        return Answer(connection).status
