"""``/mutate`` of the real service against a server that gives everybody a fixed answer.

Both run on one core, the load on another; they take turns, because a machine's speed drifts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.bench.client import Answer, Client, Drive, Question, WrongAnswerError, connected, run
from tests.bench.figures import milliseconds, percentile, table
from tests.bench.machine import Cores
from tests.bench.reviews import Workload, serial, workloads
from tests.bench.servers import Server, first_answer, fixed, ours, patch_bytes, response_of

CONNECTIONS = 32
TARGET = 0.8

_ROUNDS = 8
_BUSY_SHARE = 0.9
_PERCENTILES = (0.5, 0.9, 0.99, 0.999)
_HEAD = ("", "reviews/s", "p50", "p90", "p99", "p99.9", "a review", "CPU", "load")


@dataclass
class Side:
    """One of the two servers, and what was measured of it, a value a round."""

    name: str
    server: Server
    rates: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float | None = 0.0
    load_cpu_seconds: float = 0.0

    async def round(self, client: Client, questions: Iterator[Question], seconds: float) -> None:
        """Drive the server once."""
        before = self.server.cpu_seconds()
        drive = await client.drive(questions, seconds=seconds)
        self._add(drive, before, self.server.cpu_seconds())

    def _add(self, drive: Drive, before: float | None, after: float | None) -> None:
        self.rates.append(drive.answers / drive.seconds)
        self.seconds += drive.seconds
        self.load_cpu_seconds += drive.cpu_seconds
        if self.cpu_seconds is None or before is None or after is None:
            self.cpu_seconds = None
        else:
            self.cpu_seconds += after - before

    @property
    def cpu_a_review(self) -> float | None:
        """Seconds of CPU that the server spent on a review: the same on a busy machine."""
        return None if self.cpu_seconds is None else self.cpu_seconds / len(self.latencies)

    def row(self) -> tuple[str, ...]:
        """Return its line of the table."""
        return (
            self.name,
            f"{median(self.rates):,.0f}",
            *(milliseconds(percentile(self.latencies, share)) for share in _PERCENTILES),
            "?" if self.cpu_a_review is None else f"{self.cpu_a_review * 1e6:.0f} µs",
            "?" if self.cpu_seconds is None else f"{self.cpu_seconds / self.seconds:.0%}",
            f"{self.load_cpu_seconds / self.seconds:.0%}",
        )


def bench(seconds: float, *, table_file: Path | None) -> None:
    """Measure and print every workload, for so many seconds a server."""
    cores = Cores()
    place = "each on a core of its own" if cores.apart else "share a core, so both are slower"
    print(f"Server and load {place}; TLS, {CONNECTIONS} connections, times in ms.")
    print("On the right CPU time: of a review, then the shares that both had of a core.")
    for workload in workloads():
        print("\n" + _compared(workload, cores, seconds, table_file), flush=True)


def _compared(workload: Workload, cores: Cores, seconds: float, table_file: Path | None) -> str:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="gpuspec-bench-")))
        with cores.of_servers():
            our_server = stack.enter_context(ours(folder, table_file))
        answer = first_answer(our_server, workload.request(serial(0)))
        response = response_of(answer)
        with cores.of_servers():
            fixed_server = stack.enter_context(fixed(folder, response))
        sides = (Side("fixed answer", fixed_server), Side("gpuspec serve", our_server))
        with cores.of_load():
            run(_take_turns(sides, Reviews(workload, len(answer)), seconds))
    patch = patch_bytes(response)
    title = (
        f"{workload.name}: {workload.about}, {workload.review_bytes / 1000:.1f} KB a review, "
        + (f"{patch / 1000:.1f} KB a patch" if patch else "no patch")
    )
    return "\n".join((title, table(_HEAD, [side.row() for side in sides]), *_verdict(*sides)))


def _verdict(baseline: Side, measured: Side) -> Iterator[str]:
    ratio = median(measured.rates) / median(baseline.rates)
    rounds = [ours / theirs for ours, theirs in zip(measured.rates, baseline.rates, strict=True)]
    yield (
        f"  ratio {ratio:.2f} (rounds: {min(rounds):.2f} to {max(rounds):.2f}), "
        f"target at least {TARGET}"
    )
    if baseline.cpu_a_review and measured.cpu_a_review:
        ratio = baseline.cpu_a_review / measured.cpu_a_review
        yield f"  by the CPU of a review {ratio:.2f}, which other programs change less"
    for side in (baseline, measured):
        if side.cpu_seconds is not None and side.cpu_seconds < _BUSY_SHARE * side.seconds:
            share = side.cpu_seconds / side.seconds
            yield f"  {side.name} had {share:.0%} of a core, so its figure is too low"


class Reviews:
    """Requests that never repeat, whoever is asked, and what a right answer to them looks like."""

    def __init__(self, workload: Workload, answer_bytes: int) -> None:
        self._request = workload.request
        self._answer_bytes = answer_bytes
        self._numbers = count(1)

    def questions(self, latencies: list[float]) -> Iterator[Question]:
        """Yield questions for ever; the time that each took is added to ``latencies``."""
        for number in self._numbers:
            digits = serial(number)

            def take(answer: Answer, digits: bytes = digits) -> None:
                if (
                    answer.status != HTTPStatus.OK
                    or len(answer.body) != self._answer_bytes
                    or digits not in answer.body
                ):
                    raise WrongAnswerError(f"{answer.status} {answer.body!r}")
                latencies.append(answer.seconds)

            yield Question(self._request(digits), take)


async def _take_turns(sides: Sequence[Side], reviews: Reviews, seconds: float) -> None:
    """Drive one server after the other, again and again; the first turn warms up."""
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(
                connected(side.server.port, side.server.tls(), connections=CONNECTIONS)
            )
            for side in sides
        ]
        for client in clients:
            await client.drive(reviews.questions([]), seconds=seconds / _ROUNDS)
        for _ in range(_ROUNDS):
            for side, client in zip(sides, clients, strict=True):
                await side.round(client, reviews.questions(side.latencies), seconds / _ROUNDS)
