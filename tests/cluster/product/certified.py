"""The stage for the controller's certificates: controllers, servers that mount the Secret, load."""

from __future__ import annotations

import socket
import ssl
import sys
import threading
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import yaml

from certs.plans import Rules
from certs.policy import certificates_in
from tests.builders import asking
from tests.cluster.api import Api, ApiError, Json, path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.namespaces import create_namespace
from tests.cluster.ports import free_ports
from tests.cluster.processes import Process
from tests.cluster.product.installation import ADMISSION, EXAMPLE_TABLE, MANIFESTS
from tests.logbook import Logbook
from tests.mounted import MountedVolume
from webhook.controllers.board import Board
from webhook.controllers.certificate_places import CertificatePlaces
from webhook.controllers.certificates import CertificateLoop, CertificateMetrics
from webhook.controllers.frame import Frame, Paced
from webhook.controllers.loop_metrics import LoopMetrics
from webhook.kube.cluster import connect
from webhook.logs import utc_now

PLACES = CertificatePlaces("gpuspec-system")
NAME = "gpuspec-webhook.gpuspec-system.svc"
CONFIGURATION = "zz-gpuspec-certificates"
PLURALS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


class Server:
    """A service and the kubelet that keeps its mounted Secret fresh, a little late."""

    def __init__(self, api: Api, folder: Path, address: tuple[str, int], lag_s: float) -> None:
        self.address = address
        self._api = api
        self._lag_s = lag_s
        folder.mkdir()
        self._volume = MountedVolume(folder / "tls", secret(api))
        self._ends = threading.Event()
        self._kubelet = threading.Thread(target=self._keep_fresh)
        host, port = address
        command = [
            *("/usr/bin/env", f"PYTHONPATH={MANIFESTS.parent}", sys.executable, "-m", "webhook"),
            *("serve", f"--listen={host}:{port}", f"--table={EXAMPLE_TABLE}"),
            f"--tls-cert={self._volume / 'tls.crt'}",
            f"--tls-key={self._volume / 'tls.key'}",
            "--poll-seconds=0.1",
        ]
        self.process = Process("gpuspec", command, folder / "gpuspec.log")

    def __enter__(self) -> Self:
        self._kubelet.start()
        self.process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._kubelet.join()
        self.process.crash()

    def shake(self, bundle: bytes) -> int:
        """Shake hands as the API server does; the serial number of what was shown."""
        context = ssl.create_default_context(cadata=bundle.decode())
        with (
            socket.create_connection(self.address, timeout=5) as connection,
            context.wrap_socket(connection, server_hostname=NAME) as wrapped,
        ):
            shown = wrapped.getpeercert()
            assert shown is not None
            return int(str(shown["serialNumber"]), 16)

    def _keep_fresh(self) -> None:
        mounted = secret(self._api)
        while not self._ends.wait(self._lag_s):
            present = secret(self._api)
            if present and present != mounted:  # a mounted Secret that is deleted stays mounted
                self._volume.swap(present)
                mounted = present


class Load:
    """What came of a load."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.failures: list[str] = []

    def note(self, what: str, problem: str) -> None:
        """Count one attempt, and keep what went wrong with it."""
        self.done[what] += 1
        if problem:
            self.failures.append(f"{what}: {problem}")


def problem(server: Server, trusted: bytes) -> str:
    """Shake hands as somebody who trusts a bundle; what went wrong, if anything."""
    try:
        server.shake(trusted)
    except (OSError, ssl.SSLError) as error:
        return f"{server.address}: {error}"
    return ""


@dataclass
class Stage:
    """Controllers, servers and webhook configurations, and what the controllers logged."""

    api: Api
    logbook: Logbook
    servers: list[Server] = field(default_factory=list)

    def bundles(self) -> list[bytes]:
        """What each of the two configurations trusts."""
        return [bundle(self.api.get(path(ADMISSION, plural, CONFIGURATION))) for plural in PLURALS]

    def written(self) -> list[tuple[str, str, str]]:
        """Level, place and reason of every write so far."""
        return [
            (line["level"], line["what"], line["why"])
            for line in self.logbook.lines
            if line["message"] == "certificates written"
        ]

    def create(self, namespace: str) -> str:
        """Ask the API server for a Pod with our key; what went wrong, if anything."""
        pod = asking(any_24gb=1).build()
        try:
            stored = self.api.create(path("v1", "pods", namespace=namespace), pod, dryRun="All")
        except ApiError as error:
            return str(error)
        (container,) = stored["spec"]["containers"]
        return "" if "nvidia.com/gpu" in container["resources"]["limits"] else "not translated"

    @contextmanager
    def load(self, namespace: str) -> Iterator[Load]:
        """A time in which Pods are created and hands shaken, without a pause."""
        load, ends = Load(), threading.Event()

        def create() -> None:
            while not ends.is_set():
                load.note("creates", self.create(namespace))

        def shake() -> None:
            while not ends.is_set():
                for server in self.servers:
                    for trusted in self.bundles():
                        load.note("handshakes", problem(server, trusted))

        threads = [threading.Thread(target=one) for one in (create, create, shake)]
        for thread in threads:
            thread.start()
        try:
            yield load
        finally:
            ends.set()
            for thread in threads:
                thread.join()

    def one_authority(self) -> bool:
        """Whether the overlap is over: one authority, and both servers serve with it."""
        (first, second), found = self.bundles(), secret(self.api)
        return (
            bool(found)
            and first == second == found["ca.crt"]
            and len(certificates_in(first)) == 1
            and self.all_serve(first)
        )

    def all_serve(self, trusted: bytes) -> bool:
        """Whether every server shows the stored certificate to who trusts this bundle."""
        (stored,) = certificates_in(secret(self.api)["tls.crt"])
        return all(
            not problem(one, trusted) and one.shake(trusted) == stored.serial_number
            for one in self.servers
        )


def secret_path(name: str = PLACES.server_secret) -> str:
    return path("v1", "secrets", name, namespace=PLACES.namespace)


def secret(api: Api, name: str = PLACES.server_secret) -> dict[str, bytes]:
    """A Secret's content, nothing where there is none."""
    found = api.find(secret_path(name))
    return {} if found is None else {key: b64decode(text) for key, text in found["data"].items()}


def bundle(configuration: Json) -> bytes:
    (entry,) = configuration["webhooks"]
    return b64decode(entry["clientConfig"].get("caBundle", ""))


def configurations(port: int, namespace: str) -> list[tuple[str, Json]]:
    """The shipped configuration, for one namespace only, and a validating one beside it."""
    mutating: Json = yaml.safe_load((MANIFESTS / "base/mutatingwebhook.yaml").read_text())
    mutating["metadata"]["name"] = CONFIGURATION
    (entry,) = mutating["webhooks"]
    entry["clientConfig"]["service"]["port"] = port
    entry["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    service = entry["clientConfig"]["service"] | {"path": "/validate"}
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["nothing"]}
    validating = {
        "apiVersion": ADMISSION,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": CONFIGURATION},
        "webhooks": [
            {
                "name": "certificates.gpuspec.preferred.jp",
                "clientConfig": {"service": service},
                "rules": [rule | {"operations": ["CREATE"]}],
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
            }
        ],
    }
    return list(zip(PLURALS, [mutating, validating], strict=True))


@contextmanager
def called(api: Api, namespace: str) -> Iterator[tuple[str, int]]:
    """The address of our Service, with configurations that call it, all without certificates."""
    if api.find(path("v1", "namespaces", PLACES.namespace)) is None:
        create_namespace(api, PLACES.namespace)
    services = path("v1", "services", namespace=PLACES.namespace)
    body = {"metadata": {"name": PLACES.service}, "spec": {"ports": [{"port": 1}]}}
    made = api.create(services, body)
    host = made["spec"]["clusterIP"]
    port = free_ports(["service"], host)["service"]
    api.patch(f"{services}/{PLACES.service}", {"spec": {"ports": [{"port": port}]}})
    for plural, configuration in configurations(port, namespace):
        api.create(path(ADMISSION, plural), configuration)
    try:
        yield host, port
    finally:
        for plural in PLURALS:
            api.delete(path(ADMISSION, plural, CONFIGURATION))
        api.delete(f"{services}/{PLACES.service}")
        for name in PLACES.secrets.values():
            if secret(api, name):
                api.delete(secret_path(name))


@contextmanager
def controller(cluster: ControlPlane, logbook: Logbook, rules: Rules) -> Iterator[None]:
    """A controller that holds itself for the leader."""
    metrics = LoopMetrics()
    loop = CertificateLoop(
        connect(cluster.kubeconfig),
        PLACES,
        rules,
        board=Board(lambda: None),
        log=logbook.log,
        metrics=CertificateMetrics(metrics.registry),
        monotonic=time.monotonic,
    )
    frame = Frame([Paced(loop, 0.05)], log=logbook.log, metrics=metrics, clock=utc_now)
    stopping = threading.Event()
    thread = threading.Thread(target=frame.run, args=(stopping,))
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
