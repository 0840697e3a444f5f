"""The stage for the certificate loop: an API server in memory, one controller, a steady clock."""

from __future__ import annotations

import copy
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from itertools import count

from prometheus_client import CollectorRegistry

from tests.logbook import Logbook
from webhook.controllers.board import Board
from webhook.controllers.certificate_places import CertificatePlaces
from webhook.controllers.certificates import CertificateLoop, CertificateMetrics
from webhook.kube.cluster import Cluster, Json
from webhook.kube.errors import ApiError

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
PLACES = CertificatePlaces("gpuspec-system")
SECRETS = "/api/v1/namespaces/gpuspec-system/secrets"
SERVER, AUTHORITY = f"{SECRETS}/gpuspec-webhook-tls", f"{SECRETS}/gpuspec-ca"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{ADMISSION}/mutatingwebhookconfigurations/zz-gpuspec"
KUEUE = f"{ADMISSION}/mutatingwebhookconfigurations/team-kueue"
VALIDATING = f"{ADMISSION}/validatingwebhookconfigurations/gpuspec"
FORBIDDEN = ApiError("PUT", 403, "Forbidden", "no")


class FakeCluster(Cluster):
    """Objects by path, with versions that must match; writes may be refused."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.writes: list[str] = []
        self.refused: dict[str, ApiError] = {}
        self.present = NOW
        self._versions = count(1)

    def put(self, path: str, body: Json) -> Json:
        body = copy.deepcopy(body)
        body["metadata"]["resourceVersion"] = str(next(self._versions))
        self.objects[path] = body
        return copy.deepcopy(body)

    def get(self, path: str, **_: str) -> Json:
        if path not in self.objects:
            raise ApiError(f"GET {path}", 404, "NotFound", "not found")
        return copy.deepcopy(self.objects[path])

    def items(self, path: str, **_: str) -> list[Json]:  # type: ignore[override]
        found = [body for at, body in self.objects.items() if at.rpartition("/")[0] == path]
        return copy.deepcopy(found)

    def create(self, path: str, body: Json, **query: str) -> Json:
        if query == {"dryRun": "All"}:
            self._refuse("clock")
            return {"metadata": {"creationTimestamp": f"{self.present:%Y-%m-%dT%H:%M:%SZ}"}}
        at = f"{path}/{body['metadata']['name']}"
        self._refuse(at)
        if at in self.objects:
            raise ApiError(f"POST {path}", 409, "AlreadyExists", "already exists")
        self.writes.append(f"create {at}")
        return self.put(at, body)

    def replace(self, path: str, body: Json, **_: str) -> Json:
        self._refuse(path)
        version = body["metadata"]["resourceVersion"]
        if self.get(path)["metadata"]["resourceVersion"] != version:
            raise ApiError(f"PUT {path}", 409, "Conflict", "the object has been modified")
        self.writes.append(f"replace {path}")
        return self.put(path, body)

    def _refuse(self, path: str) -> None:
        if path in self.refused:
            raise self.refused[path]


class Stage:
    """One API server, one controller, and a steady clock that a test moves."""

    def __init__(self, cluster: FakeCluster | None = None) -> None:
        self.cluster = cluster or installed()
        self.logbook = Logbook()
        self.board = Board(lambda: None)
        self.registry = CollectorRegistry()
        self.steady = 0.0
        self.loop = CertificateLoop(
            self.cluster,
            PLACES,
            PLACES.rules,
            board=self.board,
            log=self.logbook.log,
            metrics=CertificateMetrics(self.registry),
            monotonic=lambda: self.steady,
        )

    def run(self, now: datetime = NOW) -> float:
        return self.loop.run(now)

    def at(self, after: timedelta) -> datetime:
        """Move both clocks; the present."""
        self.cluster.present = NOW + after
        return self.cluster.present

    def pass_time(self, now: datetime) -> None:
        """Look every minute until nothing is waited for any more."""
        for _ in range(15):
            self.run(now)
            self.steady += 60

    @property
    def problems(self) -> list[str]:
        """The problems that were logged, in order."""
        return [line["problem"] for line in self.logbook.lines if "problem" in line]

    @property
    def condition(self) -> tuple[str, str, str]:
        """Status, reason and message of what the loop says to the table's status."""
        (one,) = self.board.conditions()
        assert one.type == "CertificatesReady"
        return one.status, one.reason, one.message

    def part(self, path: str, key: str) -> bytes:
        return b64decode(self.cluster.objects[path]["data"][key])

    def gauge(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"gpuspec_issued_certificate_{name}", labels)


def configuration(kind: str, name: str, *services: tuple[str, str], bundle: bytes = b"") -> Json:
    """A configuration with an entry for each Service (name and namespace)."""
    hooks = [
        {
            "name": f"{number}.example.com",
            "clientConfig": {
                "service": {"name": service, "namespace": namespace, "path": "/x"},
                "caBundle": b64encode(bundle).decode(),
            },
        }
        for number, (service, namespace) in enumerate(services)
    ]
    return {"kind": kind, "metadata": {"name": name}, "webhooks": hooks}


OURS = ("gpuspec-webhook", "gpuspec-system")
FINE = ("True", "AllFine", "the certificates are valid, and whoever calls our Service trusts them")


def installed() -> FakeCluster:
    """What ``kubectl apply`` leaves: configurations, ours among others', and no certificate."""
    cluster = FakeCluster()
    others = (("gpuspec-webhook", "another"), ("other", "gpuspec-system"))
    cluster.put(
        MUTATING, configuration("MutatingWebhookConfiguration", "zz-gpuspec", OURS, *others, OURS)
    )
    cluster.put(VALIDATING, configuration("ValidatingWebhookConfiguration", "gpuspec", OURS))
    by_url = configuration("ValidatingWebhookConfiguration", "by-url")
    by_url["webhooks"] = [{"name": "x", "clientConfig": {"url": "https://example.com"}}]
    cluster.put(f"{ADMISSION}/validatingwebhookconfigurations/by-url", by_url)
    empty = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "empty"}}
    cluster.put(f"{ADMISSION}/mutatingwebhookconfigurations/empty", empty)
    return cluster


def bundles(cluster: FakeCluster, path: str) -> list[bytes]:
    return [b64decode(one["clientConfig"]["caBundle"]) for one in cluster.objects[path]["webhooks"]]


def with_kueue(error: ApiError, bundle: bytes = b"") -> Stage:
    """An installation beside somebody else's configuration, which cannot be written."""
    stage = Stage()
    body = configuration("MutatingWebhookConfiguration", "team-kueue", OURS, OURS, bundle=bundle)
    stage.cluster.put(KUEUE, body)
    stage.cluster.refused[KUEUE] = error
    return stage
