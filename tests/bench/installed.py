"""A control plane with both webhooks installed, ours and one with a fixed answer.

Which of them the API server calls for a Pod is decided by its namespace, so that everything can be
measured in turns: a changed configuration would take a second to be seen.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.reviews import Json, Numbered, as_sent, gpu_pod, review, serial
from tests.bench.servers import Server, first_answer, fixed, ours, response_of
from tests.cluster.api import Api, path, verify_with, wait_until
from tests.cluster.configuration import webhook_configuration
from tests.cluster.control_plane import ControlPlane
from tests.cluster.credentials import ADMIN_TOKEN
from tests.cluster.namespaces import create_namespace
from tests.load import post
from webhook.terms import SPEC_LABEL

NONE, FIXED, OURS = "none", "fixed", "ours"
"""The namespaces, by the webhook that is called for their Pods."""

_CONFIGURATIONS = path("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations")
_NEEDED = ("etcd", "kube-apiserver")
_SEEN_S = 60.0


@dataclass(frozen=True)
class Target:
    """An API server that is ready to be measured."""

    port: int
    tls: ssl.SSLContext


@contextmanager
def installed(version: str) -> Iterator[Target]:
    """Start a control plane of a version and install both webhooks; nobody schedules its Pods."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="gpuspec-bench-")))
        our_server = stack.enter_context(ours(folder))
        asked = Numbered(post(review(as_sent(gpu_pod()))))
        answer = first_answer(our_server, asked(serial(0)))
        fixed_server = stack.enter_context(fixed(folder, response_of(answer)))
        control_plane = stack.enter_context(ControlPlane.start(version))
        for namespace in (NONE, FIXED, OURS):
            create_namespace(control_plane.api, namespace)
        for name, process in control_plane.processes.items():
            if name not in _NEEDED:
                process.stop()
        for namespace, server in ((FIXED, fixed_server), (OURS, our_server)):
            _install(control_plane.api, namespace, server)
        port = int(control_plane.server.rpartition(":")[2])
        yield Target(port, verify_with(control_plane.ca_file))


def creation(pod: Json, namespace: str) -> Numbered:
    """Return the requests that create Pods in a namespace."""
    body = json.dumps(as_sent(pod), separators=(",", ":")).encode()
    head, end, body = post(body, path("v1", "pods", namespace=namespace)).partition(b"\r\n\r\n")
    token = f"\r\nAuthorization: Bearer {ADMIN_TOKEN}".encode()
    return Numbered(head + token + end + body)


def _install(api: Api, namespace: str, server: Server) -> None:
    """Install the shipped configuration for one namespace, and wait until it is in force."""
    configuration = webhook_configuration(server.port, server.authority.read_bytes())
    configuration["metadata"]["name"] += f"-{namespace}"
    (webhook,) = configuration["webhooks"]
    (expression,) = webhook["namespaceSelector"]["matchExpressions"]
    expression.update(operator="In", values=[namespace])
    api.create(_CONFIGURATIONS, configuration)
    pods = path("v1", "pods", namespace=namespace)
    wait_until(
        lambda: SPEC_LABEL in api.create(pods, _PROBE, dryRun="All")["metadata"]["labels"],
        timeout=_SEEN_S,
        what=f"the webhook of namespace {namespace} to be called",
    )


_PROBE = as_sent(gpu_pod())
