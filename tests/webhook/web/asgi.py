"""The application in process: its live values, and requests without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import orjson
from starlette.types import Message

from selection_spec.table import load_table
from tests.logbook import NOW, Logbook
from tests.webhook.documents import table_text
from webhook.admission.decide import decide
from webhook.metrics import Metrics
from webhook.serving.live_certificate import LiveCertificate
from webhook.serving.live_table import LiveTable
from webhook.web.app import DecidePod, create_app
from webhook.web.body import BodyReader
from webhook.web.state import Draining, WebState

JSON = {"content-type": "application/json"}


class Web:
    """An application around fresh live values.

    Args:
        decide: What answers reviews.
        table: The table in use, None for none.
    """

    def __init__(
        self, decide: DecidePod = decide, *, table: bytes | None = None, with_table: bool = True
    ) -> None:
        self.book = Logbook()
        self.metrics = Metrics()
        self.state = WebState(
            table=LiveTable(
                load=load_table, metrics=self.metrics, log=self.book.log, clock=lambda: NOW
            ),
            certificate=LiveCertificate(metrics=self.metrics, log=self.book.log, clock=lambda: NOW),
            metrics=self.metrics,
            log=self.book.log,
            clock=lambda: NOW,
            draining=Draining(),
            bodies=BodyReader(),
        )
        if with_table:
            self.state.table.load(table or table_text(), "table.yaml")
        self.book.written.clear()
        self.app = create_app(self.state, decide=decide)

    def request(
        self, method: str, path: str, *, content: bytes = b"", headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """Send one request through the whole application."""

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="https://gpuspec") as client:
                return await client.request(method, path, content=content, headers=headers)

        return asyncio.run(send())

    def post(self, content: bytes, path: str = "/mutate") -> httpx.Response:
        """Send a review."""
        return self.request("POST", path, content=content, headers=JSON)

    def get(self, path: str) -> httpx.Response:
        """Fetch something."""
        return self.request("GET", path)

    def reviews(self) -> dict[tuple[str, str], float]:
        """The counted reviews by outcome and reason."""
        return {
            (sample.labels["outcome"], sample.labels["reason"]): sample.value
            for family in self.metrics.registry.collect()
            for sample in family.samples
            if sample.name == "gpuspec_reviews_total"
        }


def refused(status: int, message: str) -> dict[str, object]:
    """The ``Status`` object of a refusal, without its reason."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "code": status,
    }


def without_reason(response: httpx.Response) -> dict[str, Any]:
    """A ``Status`` object without its reason, which must be there."""
    assert response.headers["content-type"] == "application/json"
    body: dict[str, Any] = orjson.loads(response.content)
    assert body.pop("reason")
    return body


def receiver(messages: Sequence[Message]) -> Callable[[], Any]:
    """An ASGI ``receive`` that hands out messages and then waits for ever."""
    left = list(messages)

    async def receive() -> Message:
        if not left:
            await asyncio.Event().wait()
        return left.pop(0)

    return receive


def chunks(*bodies: bytes) -> list[Message]:
    """A body in several pieces."""
    return [
        {"type": "http.request", "body": body, "more_body": number < len(bodies)}
        for number, body in enumerate(bodies, 1)
    ]
