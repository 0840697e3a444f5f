"""What the web layer works with: made once by the composition root, passed to every part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from webhook.logs import Log
from webhook.metrics import Metrics
from webhook.serving.live_certificate import LiveCertificate
from webhook.serving.live_table import LiveTable
from webhook.web.body import BodyReader


class Draining:
    """Whether this process is on its way out.

    While it is, it still answers everything, but asks every client to come back elsewhere.
    """

    __slots__ = ("active",)

    def __init__(self) -> None:
        self.active = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WebState:
    """The live values and tools behind the routes."""

    table: LiveTable
    certificate: LiveCertificate
    metrics: Metrics
    log: Log
    clock: Callable[[], datetime]
    draining: Draining
    bodies: BodyReader
