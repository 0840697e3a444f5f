"""The certificate loop: Secrets and webhook configurations as they are read and written."""

from __future__ import annotations

from datetime import timedelta

import pytest

from certs.plans import Rules
from certs.policy import certificates_in
from tests.webhook.controllers.certificate_stage import (
    AUTHORITY,
    FINE,
    FORBIDDEN,
    KUEUE,
    MUTATING,
    NOW,
    PLACES,
    SERVER,
    VALIDATING,
    Stage,
    bundles,
    with_kueue,
)
from webhook.controllers import certificates
from webhook.controllers.certificate_places import look
from webhook.controllers.certificate_words import kept_elsewhere
from webhook.inventory.conditions import Condition
from webhook.kube.cluster import Json
from webhook.kube.errors import ApiError


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
    assert stage.condition == FINE


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

    def test_they_agree_in_the_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        first = Stage()
        second = Stage(first.cluster)
        stale = look(first.cluster, PLACES)
        first.run()
        with monkeypatch.context() as patched:
            patched.setattr(certificates, "look", lambda *_: stale)
            second.run()
        before = dict(first.cluster.objects)
        for stage in (second, first, second):
            assert stage.run() == 15.0
        assert first.cluster.objects == before


def test_error_an_api_server_in_trouble_is_the_frame_s_to_report() -> None:
    stage = Stage()
    stage.cluster.refused[MUTATING] = ApiError("PUT", 500, "InternalError", "no")

    with pytest.raises(ApiError, match=r"^PUT: 500 InternalError: no$"):
        stage.run()
    assert SERVER not in stage.cluster.objects
    assert stage.condition == ("False", "ProblemsFound", "PUT: 500 InternalError: no")


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
        stage.cluster.objects[path]["metadata"]["annotations"] = {
            annotation: "gpuspec-system/gpuspec-webhook"
        }

        assert stage.run() == stage.run() == 15.0
        assert stage.cluster.writes == []
        (line,) = stage.logbook.lines
        assert line["problem"] == (
            f"{what} has the annotation {annotation}: cert-manager keeps the certificates and "
            "nothing is written here; run the controller with --no-certificates, or remove the "
            "annotation"
        )
        assert stage.condition == ("Unknown", "CertManager", line["problem"])
        assert stage.gauge("problems") == 1

    def test_what_it_has_trust_another_authority_is_told_and_left_to_it(self) -> None:
        stage = with_kueue(FORBIDDEN, bundle=b"theirs")
        stage.cluster.objects[KUEUE]["metadata"]["annotations"] = {
            "cert-manager.io/inject-ca-from": "team/proxy"
        }
        stage.run()

        assert SERVER in stage.cluster.objects
        (problem,) = stage.problems
        assert problem == (
            "MutatingWebhookConfiguration team-kueue calls our Service and has the annotation "
            "cert-manager.io/inject-ca-from: cert-manager has it trust another authority; remove "
            "the annotation"
        )


def test_what_is_said_without_this_loop() -> None:
    assert kept_elsewhere() == Condition(
        "CertificatesReady",
        "Unknown",
        "KeptElsewhere",
        "the controller runs with --no-certificates and does not look at any",
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
            "the clock of this node is 7000 days, 0:00:00 ahead of that of the API server, which "
            "decides; set the wrong one"
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
        assert stage.problems == [
            "the API server's clock cannot be read, ours decides: POST: 403 Forbidden: quota"
        ]

    def test_the_text_stays_the_same_while_time_passes(self) -> None:
        stage = Stage()
        for seconds in (0, 15, 30):
            stage.cluster.present = NOW + timedelta(seconds=seconds)
            stage.run(stage.cluster.present - timedelta(minutes=5, seconds=seconds % 2))

        (problem,) = stage.problems
        assert problem == (
            "the clock of this node is 0:05:00 behind that of the API server, which decides; set "
            "the wrong one"
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
