"""What the controller shows of itself: ``/metrics``, and ``/healthz`` for the kubelet."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from socketserver import ThreadingMixIn
from typing import Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

from prometheus_client import make_wsgi_app

from webhook.controllers.loop_metrics import LoopMetrics
from webhook.settings import Address


class Observed:
    """Serves both, without TLS, as Prometheus and kubelets expect; a context manager.

    Raises:
        OSError: The address is not free.
    """

    def __init__(self, address: Address, metrics: LoopMetrics) -> None:
        exposition = make_wsgi_app(metrics.registry)

        def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
            if environ["PATH_INFO"] == "/metrics":
                page: Iterable[bytes] = exposition(environ, start)
                return page
            found = environ["PATH_INFO"] == "/healthz"
            start("200 OK" if found else "404 Not Found", [("Content-Type", "text/plain")])
            return [b"ok\n" if found else b"there are /metrics and /healthz\n"]

        server = _server_class(address.host)
        self._server = make_server(address.host, address.port, answer, server, _Quiet)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_port)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, name="observed", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Quiet(WSGIRequestHandler):
    """Logs no line a scrape, and gives up on a client that says nothing."""

    timeout = 10

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _server_class(host: str) -> type[WSGIServer]:
    class Server(ThreadingMixIn, WSGIServer):
        daemon_threads = True
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    return Server
