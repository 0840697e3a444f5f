"""Pod CREATE through a real API server: without a webhook, with a fixed answer, and with ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count, cycle, islice

import orjson

from tests.bench.client import Answer, Drive, Question, WrongAnswerError, connected, run
from tests.bench.figures import WIDTH, milliseconds, percentile, table
from tests.bench.installed import FIXED, NONE, OURS, Target, creation, installed
from tests.bench.reviews import Json, gpu_pod, plain_pod, serial
from webhook.terms import SPEC_LABEL

FIXED_TARGET, NO_KEY_TARGET = 1.15, 1.05

_WARM_UPS = 100
_SHOWN_FAILURES = 3
_OF_TIMEOUTS = ("deadline exceeded", "imeout")
_HEAD = ("Pods", "p50", "p90", "p99", "most", "failed", "timed out")


@dataclass
class Way:
    """One way to create Pods.

    Attributes:
        name: What it is called.
        namespace: Decides which webhook the API server knows of.
        pod: What is created.
        changed: Whether a webhook has to change it.
        latencies: Seconds of each creation.
        failures: What the API server said instead of creating a Pod.
    """

    name: str
    namespace: str
    pod: Json
    changed: bool
    latencies: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def take(self, answer: Answer) -> None:
        """Count one answer."""
        self.latencies.append(answer.seconds)
        if answer.status != HTTPStatus.CREATED:
            self.failures.append(f"{answer.status} {orjson.loads(answer.body)['message']}")
        elif (_MARK in answer.body) is not self.changed:
            raise WrongAnswerError(f"{self.name}: {answer.body!r}")

    @property
    def median(self) -> float:
        """The median latency."""
        return percentile(self.latencies, 0.5)

    def row(self) -> tuple[str, ...]:
        """Return its line of the table."""
        timeouts = sum(any(word in text for word in _OF_TIMEOUTS) for text in self.failures)
        return (
            self.name,
            f"{len(self.latencies):,}",
            *(milliseconds(percentile(self.latencies, share)) for share in (0.5, 0.9, 0.99, 1)),
            str(len(self.failures)),
            str(timeouts),
        )

    def told(self) -> Iterator[str]:
        """Yield the commonest failures as the API server put them."""
        for text, times in Counter(self.failures).most_common(_SHOWN_FAILURES):
            yield f"  {self.name}, {times} times: {text}"[:WIDTH]


_MARK = f'"{SPEC_LABEL}"'.encode()


def bench(seconds: float, *, creates: int, in_flight: int, version: str) -> None:
    """Measure and print the latency of every way, then bursts.

    Args:
        seconds: How long to create Pods in each way.
        creates: How many Pods a burst has.
        in_flight: How many of them are under way at one time.
        version: The minor version of Kubernetes.
    """
    print(f"Kubernetes {version}, API server and etcd alone: nobody schedules; times in ms.")
    with installed(version) as target:
        measured = _Creations(target)
        print("\n" + measured.one_at_a_time(seconds), flush=True)
        print("\n" + measured.bursts(creates, in_flight), flush=True)


class _Creations:
    """Creates Pods on one API server, each with a name of its own."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._numbers = count()

    def one_at_a_time(self, seconds: float) -> str:
        """Create each Pod in another way than the one before."""
        none, no_key, fixed, ours = ways = (
            Way("no webhook", NONE, plain_pod(), changed=False),
            Way("ours, Pod without our key", OURS, plain_pod(), changed=False),
            Way("fixed answer", FIXED, gpu_pod(), changed=True),
            Way("ours", OURS, gpu_pod(), changed=True),
        )
        self._drive(islice(self._questions(ways), _WARM_UPS), connections=1)
        for way in ways:
            way.latencies.clear()
        self._drive(self._questions(ways), connections=1, seconds=seconds * len(ways))
        return "\n".join(
            (
                table(("one after the other", *_HEAD), [way.row() for way in ways]),
                _ratio("of ours to fixed answer", ours, fixed, FIXED_TARGET),
                _ratio("without our key to no webhook", no_key, none, NO_KEY_TARGET),
            )
        )

    def bursts(self, creates: int, in_flight: int) -> str:
        """Create Pods as fast as the API server takes them, by the fixed answer and by ours."""
        ways = (
            Way("fixed answer", FIXED, gpu_pod(), changed=True),
            Way("ours", OURS, gpu_pod(), changed=True),
        )
        rates = []
        for way in ways:
            questions = islice(self._questions([way]), creates)
            took = self._drive(questions, connections=min(in_flight, creates))
            rates.append(f"  {way.name}: {creates / took.seconds:,.0f} Pods a second")
        head = (f"burst, {in_flight} in flight", *_HEAD)
        failures = [text for way in ways for text in way.told()]
        return "\n".join((table(head, [way.row() for way in ways]), *rates, *failures))

    def _questions(self, ways: Sequence[Way]) -> Iterator[Question]:
        """Yield creations for ever, in each of the ways in turn."""
        requests = [creation(way.pod, way.namespace) for way in ways]
        for (way, request), number in zip(
            cycle(zip(ways, requests, strict=True)), self._numbers, strict=False
        ):
            yield Question(request(serial(number)), way.take)

    def _drive(
        self, questions: Iterator[Question], *, connections: int, seconds: float = float("inf")
    ) -> Drive:
        async def work() -> Drive:
            port, tls = self._target.port, self._target.tls
            async with connected(port, tls, connections=connections) as client:
                return await client.drive(questions, seconds=seconds)

        return run(work())


def _ratio(what: str, measured: Way, baseline: Way, target: float) -> str:
    ratio = measured.median / baseline.median
    return f"  p50 {what}: {ratio:.2f}, target at most {target}"
