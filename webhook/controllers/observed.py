"""What the controller shows of itself: ``/metrics``, and ``/healthz`` for the kubelet."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from socketserver import ThreadingMixIn
from typing import Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import StartResponse, WSGIEnvironment

from prometheus_client import make_wsgi_app

from webhook.controllers.loop_metrics import LoopMetrics


class Observed:
    """Serves both, without TLS, as Prometheus and kubelets expect; a context manager.

    Args:
        listener: Accepts the connections; closed at the end.
        metrics: What is shown.
    """

    def __init__(self, listener: socket.socket, metrics: LoopMetrics) -> None:
        exposition = make_wsgi_app(metrics.registry)

        def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
            if environ["PATH_INFO"] == "/metrics":
                page: Iterable[bytes] = exposition(environ, start)
                return page
            found = environ["PATH_INFO"] == "/healthz"
            start("200 OK" if found else "404 Not Found", [("Content-Type", "text/plain")])
            return [b"ok\n" if found else b"there are /metrics and /healthz\n"]

        self._server = _Server(listener)
        self._server.set_app(answer)

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


class _Server(ThreadingMixIn, WSGIServer):
    """Serves on a socket that listens already, a thread a request."""

    daemon_threads = True

    def __init__(self, listener: socket.socket) -> None:
        host, port = listener.getsockname()[:2]
        super().__init__((host, port), _Quiet, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.server_name, self.server_port = host, port
        self.setup_environ()
