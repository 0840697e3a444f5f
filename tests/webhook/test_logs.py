"""Log lines: JSON, each whole, none lost, in order."""

from __future__ import annotations

import json
import logging
import threading
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from webhook.logs import LibraryLines, Log

NOW = datetime(2026, 6, 1, 12, 0, 0, 123456, tzinfo=UTC)


class Sink:
    """Takes lines; fails when told to."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.is_broken = False

    def write(self, content: bytes) -> None:
        if self.is_broken:
            raise BrokenPipeError
        self.writes.append(content)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in b"".join(self.writes).splitlines()]


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def log(sink: Sink) -> Log:
    return Log(sink.write, clock=lambda: NOW)


def test_a_line_is_one_json_object(log: Log, sink: Sink) -> None:
    log.event("info", "review", uid="1", ms=0.25)
    log.flush()

    assert sink.writes == [
        (
            b'{"time":"2026-06-01T12:00:00.123456+00:00","level":"info","message":"review",'
            b'"uid":"1","ms":0.25}\n'
        )
    ]


def test_events_wait_for_a_flush(log: Log, sink: Sink) -> None:
    log.event("info", "first")
    log.event("info", "second")
    before = list(sink.writes)

    log.flush()
    log.flush()

    assert before == []
    assert len(sink.writes) == 1
    assert [line["message"] for line in sink.lines] == ["first", "second"]


def test_much_is_written_without_being_asked(log: Log, sink: Sink) -> None:
    for _ in range(10):
        log.event("info", "review", filler="x" * 10_000)

    assert len(sink.writes) == 2
    assert all(len(write) < 64 * 1024 for write in sink.writes)


@pytest.mark.parametrize("level", ["info", "warning", "error"])
def test_everything_else_is_written_at_once_and_in_order(log: Log, sink: Sink, level: str) -> None:
    log.event("info", "review")

    getattr(log, level)("news", detail=1)

    assert [(line["level"], line["message"]) for line in sink.lines] == [
        ("info", "review"),
        (level, "news"),
    ]


def test_a_bug_has_its_traceback_and_its_cause(log: Log, sink: Sink) -> None:
    def fail() -> None:
        try:
            dict[str, int]()["inner"]
        except KeyError as error:
            raise ValueError("outer") from error

    with pytest.raises(ValueError, match="outer") as failed:
        fail()

    log.bug("it failed", failed.value, uid="1")

    (line,) = sink.lines
    assert (line["level"], line["message"], line["uid"]) == ("error", "it failed", "1")
    assert "KeyError: 'inner'" in line["traceback"]
    assert "ValueError: outer" in line["traceback"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param("a\nb\u2028\x00", "a\nb\u2028\x00", id="line breaks"),
        pytest.param("\udcff", "\udcff", id="a file name that is not UTF-8"),
        pytest.param(10**30, 10**30, id="a large integer"),
        pytest.param(NOW, NOW.isoformat(), id="a time"),
        pytest.param({1, 2}, "{1, 2}", id="anything else"),
        pytest.param(("a", "b"), ["a", "b"], id="a tuple"),
    ],
)
def test_any_value_is_one_line(log: Log, sink: Sink, value: object, written: object) -> None:
    log.info("value", value=value)

    (write,) = sink.writes
    assert write.count(b"\n") == 1
    assert json.loads(write)["value"] == written


def test_when_nobody_reads_lines_are_dropped_and_counted(log: Log, sink: Sink) -> None:
    """Losing logs is bad; refusing Pods because of it would be worse."""
    sink.is_broken = True
    log.event("info", "review")
    log.info("news")
    log.info("more news")
    sink.is_broken = False
    log.info("again")
    log.info("and again")

    assert [(line["message"], line.get("lines")) for line in sink.lines] == [
        ("again", None),
        ("log lines were dropped", 3),
        ("and again", None),
    ]


def test_threads_lose_nothing_of_each_other(log: Log, sink: Sink) -> None:
    def write(thread: int) -> None:
        for number in range(500):
            log.event("info", "review", thread=thread, number=number)
            if number % 7 == 0:
                log.flush()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.flush()

    for number in range(8):
        mine = [line["number"] for line in sink.lines if line["thread"] == number]
        assert mine == list(range(500))


class TestLibraries:
    """What uvicorn, asyncio and others say comes in the same form."""

    @pytest.fixture
    def library(self, log: Log) -> Iterator[logging.Logger]:
        logger = logging.getLogger("uvicorn.error")
        handler = LibraryLines(log)
        logger.addHandler(handler)
        yield logger
        logger.removeHandler(handler)

    def test_a_warning(self, library: logging.Logger, sink: Sink) -> None:
        library.warning("Invalid %s request received.\n", "HTTP")

        (line,) = sink.lines
        assert line.pop("time")
        assert line == {
            "level": "warning",
            "message": "Invalid HTTP request received.",
            "logger": "uvicorn.error",
        }

    def test_a_traceback(self, library: logging.Logger, sink: Sink) -> None:
        library.error("Exception in ASGI application", exc_info=ValueError("why"))

        assert sink.lines[0]["traceback"].endswith("ValueError: why\n")

    def test_what_is_only_interesting_is_left_out(
        self, library: logging.Logger, sink: Sink
    ) -> None:
        library.info("Started server process")

        assert sink.writes == []

    def test_python_s_warnings(self, log: Log, sink: Sink) -> None:
        handler = LibraryLines(log)
        logger = logging.getLogger("py.warnings")
        logger.addHandler(handler)
        logging.captureWarnings(capture=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.warn("old", DeprecationWarning, stacklevel=1)
        finally:
            logging.captureWarnings(capture=False)
            logger.removeHandler(handler)

        assert "DeprecationWarning: old" in sink.lines[0]["message"]
