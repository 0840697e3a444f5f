"""uvicorn, run so that stopping loses no request."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from math import ceil
from time import monotonic
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from webhook.settings import Settings
from webhook.web.protocol import BoundedProtocol
from webhook.web.state import WebState

# The API server's client gives up an idle connection after 90 s. A server that closed it earlier
# could do so at the moment at which the next review is on its way, and that review would fail.
_KEEP_ALIVE_S = 120


class Server(uvicorn.Server):
    """Serves until a signal, then drains.

    On SIGTERM a Pod's address is still in use for some seconds, until every node knows that it is
    going. So for ``settings.drain_s`` the listener stays open, ``/readyz`` fails, and every answer
    asks its client to open the next connection elsewhere; then the listener is closed, and requests
    in flight are finished. A second signal, or SIGINT from a terminal, skips the waiting.

    Args:
        app: What answers.
        state: Has the certificate, and learns when the drain begins.
        settings: Say how long to drain and how long a request may take to arrive.
        on_started: Called when connections are accepted.
    """

    def __init__(
        self,
        app: ASGIApp,
        state: WebState,
        settings: Settings,
        on_started: Callable[[], None],
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedProtocol,
                ws="none",
                lifespan="off",
                ssl_context_factory=lambda _config, _default: state.certificate.context,
                access_log=False,
                log_config=None,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_S,
                # What is in flight has arrived or was given up by then, and its client had a
                # moment to read the answer.
                timeout_graceful_shutdown=ceil(settings.request_s) + 3,
            )
        )
        self._state = state
        self._settings = settings
        self._on_started = on_started
        self._drain_ends: float | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, and say so."""
        await super().startup(sockets)
        self._on_started()

    async def on_tick(self, counter: int) -> bool:
        """Do what uvicorn does ten times a second, and drain when a signal has come."""
        if self._state.draining.active:
            if self._drain_ends is None:
                self._drain_ends = monotonic() + self._settings.drain_s
                self._state.log.info("draining", seconds=self._settings.drain_s)
            if monotonic() >= self._drain_ends:
                self.should_exit = True
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 -- uvicorn's
        """Begin to drain, or stop at once; a signal handler, so that it only sets flags."""
        if self._state.draining.active or sig == signal.SIGINT:
            self.force_exit = self.should_exit
            self.should_exit = True
        self._state.draining.active = True

    def close_late_requests(self) -> None:
        """End the requests that did not arrive in time; to be called about once a second."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, BoundedProtocol):
                connection.close_if_late(self._settings.request_s)
