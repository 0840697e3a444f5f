"""A real process that is asked to stop: nothing that it has taken on is lost."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import uvloop

from tests.load import Load, Tally, post
from tests.service import Service, running_service
from tests.webhook.documents import UID, review_bytes, table_text
from tests.webhook.web.wire import Answer, is_closed

GOOD = post(review_bytes())


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "table.yaml"
    path.write_bytes(table_text())
    return str(path)


def seconds(action: Callable[[], object]) -> float:
    started = time.monotonic()
    action()
    return time.monotonic() - started


def test_requests_in_flight_are_answered(tmp_path: Path, table: str) -> None:
    """With 32 clients at work, none of which is told to stop by anybody but the server."""

    async def stopped_under_load(service: Service) -> Tally:
        load = Load(
            service.port,
            service.tls(),
            GOOD,
            is_right=lambda body: UID.encode() in body,
            per_connection=1_000_000,
            leave_when_told=True,
        )
        running = asyncio.create_task(load.run(32))
        await asyncio.sleep(2)
        service.process.send_signal(signal.SIGTERM)
        return await running

    with running_service(tmp_path, "--table", table, "--drain-seconds", "1") as service:
        tally = uvloop.run(stopped_under_load(service))
        exit_code = service.process.wait(30)
        lines = service.log()

    print(f"stopped under load: {tally}")
    assert tally.failures == []
    assert set(tally.statuses) == {200}
    assert exit_code == 0
    assert [line["message"] for line in lines if line["message"] != "review"][-2:] == [
        "draining",
        "stopped",
    ]
    reviews = [line for line in lines if line["message"] == "review"]
    assert len(reviews) == tally.answers, "a line a decision, none lost"


def test_while_it_drains_it_is_not_ready_but_serves_everybody(tmp_path: Path, table: str) -> None:
    with (
        running_service(tmp_path, "--table", table, "--drain-seconds", "3") as service,
        service.connection() as old,
    ):
        old.sendall(GOOD)
        before = Answer(old)
        service.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)

        with service.client() as client:
            ready = client.get("/readyz")
            alive = client.get("/healthz")
        old.sendall(GOOD)
        on_the_old_connection = Answer(old)
        with service.connection() as new:
            new.sendall(GOOD)
            on_a_new_connection = Answer(new)
            closed = is_closed(new)

        assert service.process.wait(30) == 0

    assert "connection: close" not in before.head
    assert ready.status_code == 503
    assert ready.json()["checks"]["lifecycle"] == {
        "ok": False,
        "problems": ["this process is shutting down"],
    }
    assert alive.status_code == 200
    for answer in (on_the_old_connection, on_a_new_connection):
        assert answer.body["response"]["uid"] == UID
        assert "connection: close" in answer.head
    assert closed


def test_a_review_that_is_still_arriving_is_answered(tmp_path: Path, table: str) -> None:
    with (
        running_service(tmp_path, "--table", table) as service,
        service.connection() as connection,
    ):
        connection.sendall(GOOD[:-10])
        time.sleep(0.3)
        service.process.send_signal(signal.SIGTERM)
        time.sleep(1)
        with pytest.raises(httpx.ConnectError), service.client() as client:
            client.get("/healthz")
        connection.sendall(GOOD[-10:])
        answer = Answer(connection)

        assert service.process.wait(30) == 0

    assert answer.body["response"]["uid"] == UID
    assert "connection: close" in answer.head


def test_a_review_that_never_arrives_does_not_keep_it(tmp_path: Path, table: str) -> None:
    with (
        running_service(tmp_path, "--table", table, "--request-seconds", "2") as service,
        service.connection() as connection,
    ):
        connection.sendall(GOOD[:-10])
        time.sleep(0.3)

        took = seconds(service.stop)

        assert Answer(connection).refusal()[0] == 408
        assert "Traceback" not in service.log_text()
    assert took < 10


def test_an_idle_connection_is_closed_orderly(tmp_path: Path, table: str) -> None:
    with (
        running_service(tmp_path, "--table", table) as service,
        service.connection() as connection,
    ):
        connection.sendall(GOOD)
        assert Answer(connection).status == 200
        service.process.send_signal(signal.SIGTERM)

        assert is_closed(connection)
        connection.unwrap()
        assert service.process.wait(30) == 0


def test_a_dead_client_does_not_keep_it(tmp_path: Path, table: str) -> None:
    """It never reads, so that it never answers the end of TLS."""
    with (
        running_service(tmp_path, "--table", table, "--request-seconds", "2") as service,
        service.connection() as connection,
    ):
        connection.sendall(GOOD)
        assert Answer(connection).status == 200

        took = seconds(service.stop)

        assert service.process.returncode == 0
        assert [line for line in service.log() if line["level"] == "error"] == []
    assert took < 10


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGTERM]])
def test_a_terminal_or_a_second_signal_does_not_wait(
    tmp_path: Path, table: str, signals: list[signal.Signals]
) -> None:
    with running_service(tmp_path, "--table", table, "--drain-seconds", "60") as service:
        for number, sent in enumerate(signals):
            time.sleep(0.5 * number)
            service.process.send_signal(sent)

        took = seconds(lambda: service.process.wait(30))

        assert service.process.returncode == 0
        assert service.log()[-1]["message"] == "stopped"
    assert took < 10


def test_a_reader_of_the_log_that_goes_away_does_not_stop_the_service(
    tmp_path: Path, table: str
) -> None:
    with running_service(tmp_path, "--table", table, log_to_pipe=True) as service:
        assert service.process.stderr is not None
        service.process.stderr.close()
        with service.connection() as connection:
            for _ in range(500):
                connection.sendall(GOOD)
                assert Answer(connection).status == 200

        assert service.stop() == 0
