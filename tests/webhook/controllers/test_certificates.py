"""The certificate loop: Secrets and webhook configurations as they are read and written."""

from __future__ import annotations

import copy
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from prometheus_client import CollectorRegistry

from certs.plans import Rules
from certs.policy import certificates_in
from tests.logbook import Logbook
from webhook.controllers.certificates import (
    CertificateLoop,
    CertificateMetrics,
    CertificatePlaces,
)
from webhook.kube.cluster import Cluster, Json
from webhook.kube.errors import ApiError

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
PLACES = CertificatePlaces("gpuspec-system")
SECRETS = "/api/v1/namespaces/gpuspec-system/secrets"
SERVER, AUTHORITY = f"{SECRETS}/gpuspec-webhook-tls", f"{SECRETS}/gpuspec-ca"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{ADMISSION}/mutatingwebhookconfigurations/zz-gpuspec"
VALIDATING = f"{ADMISSION}/validatingwebhookconfigurations/gpuspec"


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
        self.registry = CollectorRegistry()
        self.steady = 0.0
        self.loop = CertificateLoop(
            self.cluster,
            PLACES,
            PLACES.rules,
            log=self.logbook.log,
            metrics=CertificateMetrics(self.registry),
            monotonic=lambda: self.steady,
        )

    def run(self, now: datetime = NOW) -> float:
        return self.loop.run(now)

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


def test_an_empty_cluster_has_everything_after_one_run() -> None:
    stage = Stage()

    assert stage.run() == 1.0
    assert stage.cluster.writes == [
        f"create {AUTHORITY}",
        f"replace {MUTATING}",
        f"replace {MUTATING}",
        f"replace {VALIDATING}",
        f"create {SERVER}",
    ]
    authority = stage.part(AUTHORITY, "tls.crt")
    assert bundles(stage.cluster, MUTATING) == [authority, b"", b"", authority]
    assert bundles(stage.cluster, VALIDATING) == [authority]
    assert stage.part(SERVER, "ca.crt") == stage.part(AUTHORITY, "ca.crt") == authority


def test_a_second_run_writes_nothing_and_looks_again_in_a_quarter_of_a_minute() -> None:
    stage = Stage()
    stage.run()
    stage.cluster.writes.clear()

    assert stage.run() == 15.0
    assert stage.cluster.writes == []


def test_a_new_secret() -> None:
    stage = Stage()
    stage.run()
    secret = stage.cluster.objects[SERVER]
    seal = secret["metadata"]["annotations"].pop("gpuspec.preferred.jp/seal")

    assert len(seal) == 64
    assert secret["type"] == "kubernetes.io/tls"
    assert set(secret["data"]) == {"tls.crt", "tls.key", "ca.crt"}
    assert secret["metadata"] == {
        "name": "gpuspec-webhook-tls",
        "labels": {
            "app.kubernetes.io/name": "gpuspec",
            "app.kubernetes.io/part-of": "gpuspec",
            "app.kubernetes.io/managed-by": "gpuspec-controller",
        },
        "annotations": {
            "gpuspec.preferred.jp/written": (
                "2026-06-01T12:00:00Z: there is no server certificate yet"
            )
        },
        "resourceVersion": "9",
    }


def test_every_write_is_logged_and_no_key() -> None:
    stage = Stage()
    stage.run()

    assert stage.logbook.lines[0] == {
        "level": "info",
        "message": "certificates written",
        "what": "Secret gpuspec-ca",
        "why": "there is no authority certificate yet",
    }
    assert stage.logbook.lines[1]["what"] == (
        "trust of MutatingWebhookConfiguration zz-gpuspec, 0.example.com"
    )
    assert b"PRIVATE" not in b"".join(stage.logbook.written)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(None, id="no data"),
        pytest.param({}, id="empty"),
        pytest.param({"tls.crt": "bm90aGluZw==", "tls.key": "", "more": "eA=="}, id="nonsense"),
        pytest.param({"tls.crt": "%", "tls.key": None}, id="no base64"),
    ],
)
def test_what_somebody_else_wrote_is_replaced_and_the_rest_of_the_secret_stays(
    data: Json | None,
) -> None:
    stage = Stage()
    stage.run()
    secret = stage.cluster.objects[SERVER]
    secret["metadata"]["labels"]["theirs"] = "yes"
    secret["metadata"]["annotations"]["example.com/note"] = "theirs"
    secret["data"] = data
    stage.run()

    secret = stage.cluster.objects[SERVER]
    assert secret["metadata"]["labels"]["theirs"] == "yes"
    assert secret["metadata"]["annotations"]["example.com/note"] == "theirs"
    assert set(secret["data"]) == {"tls.crt", "tls.key", "ca.crt"}
    assert stage.logbook.lines[-1] == {
        "level": "warning",
        "message": "certificates written",
        "what": "Secret gpuspec-webhook-tls",
        "why": "the server certificate is not as it was written here: somebody changed it",
    }


class TestTwoLeaders:
    """Whoever loses a race looks again, and writes nothing on what is no longer so."""

    def test_the_other_one_created_the_secret_first(self) -> None:
        stage = Stage()
        stage.cluster.refused[AUTHORITY] = ApiError("POST", 409, "AlreadyExists", "exists")

        assert stage.run() == 1.0
        assert stage.cluster.writes == []
        assert stage.logbook.lines == [
            {
                "level": "info",
                "message": "certificates changed meanwhile",
                "why": "POST: 409 AlreadyExists: exists",
            }
        ]

    def test_they_agree_in_the_end(self) -> None:
        first = Stage()
        second = Stage(first.cluster)
        stale = second.loop._find()
        first.run()
        second.loop._find = lambda: stale  # type: ignore[method-assign]
        second.run()
        del second.loop._find
        before = dict(first.cluster.objects)
        for stage in (second, first, second):
            assert stage.run() == 15.0
        assert first.cluster.objects == before


def test_error_any_other_refusal_is_the_frame_s_to_report() -> None:
    stage = Stage()
    stage.cluster.refused[MUTATING] = ApiError("PUT", 403, "Forbidden", "no")

    with pytest.raises(ApiError, match=r"^PUT: 403 Forbidden: no$"):
        stage.run()
    assert SERVER not in stage.cluster.objects


class TestCertManager:
    """Where cert-manager keeps the certificates, nothing is written."""

    @pytest.mark.parametrize(
        ("path", "annotation", "what"),
        [
            pytest.param(
                SERVER,
                "cert-manager.io/certificate-name",
                "Secret gpuspec-webhook-tls",
                id="a Secret",
            ),
            pytest.param(
                VALIDATING,
                "cert-manager.io/inject-ca-from",
                "ValidatingWebhookConfiguration gpuspec",
                id="a configuration",
            ),
        ],
    )
    def test_it_is_said_once(self, path: str, annotation: str, what: str) -> None:
        stage = Stage()
        if path == SERVER:
            stage.cluster.put(SERVER, {"kind": "Secret", "metadata": {"name": SERVER[-19:]}})
        stage.cluster.objects[path]["metadata"]["annotations"] = {annotation: "x"}

        assert stage.run() == stage.run() == 15.0
        assert stage.cluster.writes == []
        (line,) = stage.logbook.lines
        assert line["problem"] == (
            f"{what} has the annotation {annotation}: cert-manager keeps the certificates and "
            "nothing is written here; run the controller with --no-certificates, or remove the "
            "annotation"
        )


class TestClock:
    """The API server verifies, so its clock is the one that counts."""

    def test_a_node_whose_clock_jumped_replaces_nothing(self) -> None:
        stage = Stage()
        stage.run()
        stage.cluster.writes.clear()
        for _ in range(100):
            stage.steady += 60
            stage.run(NOW + timedelta(days=7000))

        assert stage.cluster.writes == []
        assert stage.gauge("problems") == 1
        (line,) = stage.logbook.lines[5:]
        assert line["problem"] == (
            "the clock of this node shows 2045-07-31T12:00:00Z, that of the API server "
            "2026-06-01T12:00:00Z, which decides; set the wrong one"
        )

    def test_the_api_server_s_clock_makes_certificates_due(self) -> None:
        stage = Stage()
        stage.run()
        stage.cluster.present = NOW + timedelta(days=61)
        for _ in range(2):
            stage.run(NOW + timedelta(days=61))
            stage.steady += 60
        assert stage.cluster.writes[5:] == [f"replace {SERVER}"]
        ends = NOW + timedelta(days=61) + PLACES.rules.server_lifetime
        assert stage.gauge("not_after_timestamp_seconds", certificate="server") == ends.timestamp()

    def test_a_clock_that_cannot_be_read(self) -> None:
        stage = Stage()
        stage.cluster.refused["clock"] = ApiError("POST", 403, "Forbidden", "quota")
        stage.run()

        assert SERVER in stage.cluster.objects
        assert stage.logbook.lines[0]["problem"] == (
            "the API server's clock cannot be read, ours decides: POST: 403 Forbidden: quota"
        )


def test_a_new_authority_is_published_and_the_former_one_stays_trusted() -> None:
    stage = Stage()
    stage.run()
    former = stage.part(AUTHORITY, "tls.crt")
    del stage.cluster.objects[AUTHORITY]
    stage.run()

    assert bundles(stage.cluster, VALIDATING) == [stage.part(AUTHORITY, "tls.crt") + former]
    assert stage.part(SERVER, "ca.crt") == former
    for _ in range(15):
        stage.steady += 60
        stage.run()
    assert bundles(stage.cluster, VALIDATING) == [stage.part(AUTHORITY, "tls.crt")]
    assert len(certificates_in(stage.part(SERVER, "ca.crt"))) == 1


def test_the_usual_names_and_waits() -> None:
    assert PLACES.rules == Rules(
        names=(
            "gpuspec-webhook.gpuspec-system.svc",
            "gpuspec-webhook.gpuspec-system.svc.cluster.local",
            "gpuspec-webhook.gpuspec-system",
        ),
        authority_lifetime=timedelta(days=730),
        server_lifetime=timedelta(days=90),
        settle=timedelta(minutes=1),
        overlap=timedelta(minutes=10),
    )
