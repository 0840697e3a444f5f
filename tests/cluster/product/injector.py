"""Somebody else's mutating webhook, which adds something to the Pods of one namespace."""

from __future__ import annotations

import json
import ssl
import tempfile
import threading
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from certs.authority import create_authority, issue
from tests.cluster.api import Api, Json, path, wait_until
from tests.cluster.components import HOST
from tests.cluster.product.installation import ADMISSION

MARK = "example.com/injected"
"""The annotation that every Pod gets from it."""

_LIFETIME = timedelta(days=1)
_SEEN_SECONDS = 60.0
_CONFIGURATIONS = "mutatingwebhookconfigurations"
_PROBE = "probe"


@contextmanager
def injecting(api: Api, name: str, namespace: str, containers: Sequence[Json]) -> Iterator[None]:
    """A time in which a webhook adds containers to the namespace's Pods, once to each.

    ``name`` is that of the webhook's configuration, which decides who is called first.
    """
    with _serving(containers) as (port, authority):
        api.create(
            path(ADMISSION, _CONFIGURATIONS), _configuration(name, namespace, port, authority)
        )
        try:
            wait_until(
                lambda: _is_called(api, namespace), timeout=_SEEN_SECONDS, what=f"{name} to act"
            )
            yield
        finally:
            api.delete(path(ADMISSION, _CONFIGURATIONS, name))


def _is_called(api: Api, namespace: str) -> bool:
    body = {"metadata": {"name": _PROBE}, "spec": {"containers": [{"name": "x", "image": "x"}]}}
    stored = api.create(path("v1", "pods", namespace=namespace), body, dryRun="All")
    return MARK in stored["metadata"].get("annotations", {})


def _configuration(name: str, namespace: str, port: int, authority: bytes) -> Json:
    client = {"url": f"https://{HOST}:{port}/", "caBundle": b64encode(authority).decode()}
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    return {
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": "injector.example.com",
                "clientConfig": client,
                "rules": [pods | {"operations": ["CREATE"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "timeoutSeconds": 30,
            }
        ],
    }


@contextmanager
def _serving(containers: Sequence[Json]) -> Iterator[tuple[int, bytes]]:
    """The webhook's port, and the authority of its certificate."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = json.dumps(_answer(json.loads(body), containers)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((HOST, 0), Handler)
    authority = _encrypt(server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port, authority
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _encrypt(server: ThreadingHTTPServer) -> bytes:
    """Give the server a certificate; return the one to trust."""
    now = datetime.now(UTC)
    authority = create_authority("injector", now=now, lifetime=_LIFETIME)
    pair = issue(authority, [HOST], now=now, lifetime=_LIFETIME)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = Path(folder) / "tls.crt", Path(folder) / "tls.key"
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return authority.certificate


def _answer(review: Json, containers: Sequence[Json]) -> Json:
    request = review["request"]
    response = {
        "uid": request["uid"],
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": b64encode(json.dumps(_patch(request["object"], containers)).encode()).decode(),
    }
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


def _patch(pod: Json, containers: Sequence[Json]) -> list[Json]:
    """The mark for all, the containers for all but the probe, which must get through."""
    annotations = pod["metadata"].get("annotations", {}) | {MARK: "yes"}
    added = () if pod["metadata"].get("name") == _PROBE else containers
    return [
        {"op": "add", "path": "/metadata/annotations", "value": annotations},
        *({"op": "add", "path": "/spec/containers/-", "value": one} for one in added),
    ]
