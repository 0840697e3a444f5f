"""What the certificate loop does where it may not write (and what it says then)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.webhook.controllers.certificate_stage import (
    AUTHORITY,
    FINE,
    FORBIDDEN,
    KUEUE,
    NOW,
    OURS,
    PLACES,
    SERVER,
    VALIDATING,
    Stage,
    bundles,
    configuration,
    with_kueue,
)
from webhook.kube.errors import ApiError

INVALID = ApiError("PUT", 422, "Invalid", "no")
CONFLICT = ApiError("PUT", 409, "Conflict", "changed")
GONE = ApiError("PUT", 404, "NotFound", "gone")
MAY_NOT = (
    "MutatingWebhookConfiguration team-kueue calls our Service and may not be updated; grant "
    "update on it or give it the caBundle of Secret gpuspec-ca (ca.crt) yourself"
)
AUTHORITY_KEPT = "Secret gpuspec-ca is immutable and has to change; delete it, and it is made anew"
DAY = timedelta(days=1)


class TestAnothersConfiguration:
    """What calls our Service and may not be written is told, and delays nothing of ours."""

    @pytest.mark.parametrize(
        ("error", "told"),
        [
            pytest.param(FORBIDDEN, MAY_NOT, id="forbidden"),
            pytest.param(
                INVALID,
                "MutatingWebhookConfiguration team-kueue calls our Service and cannot be updated: "
                "PUT: 422 Invalid: no; mend it or give it the caBundle of Secret gpuspec-ca "
                "(ca.crt) yourself",
                id="invalid",
            ),
        ],
    )
    def test_it_is_told_once(self, error: ApiError, told: str) -> None:
        stage = with_kueue(error)
        stage.run()
        stage.run()

        assert stage.run() == 15.0
        assert SERVER in stage.cluster.objects
        assert bundles(stage.cluster, VALIDATING) == [stage.part(AUTHORITY, "tls.crt")]
        assert stage.problems == [told]
        assert stage.gauge("problems") == 1
        assert stage.condition == ("False", "ProblemsFound", told)

    def test_a_secret_that_is_deleted_is_made_anew(self) -> None:
        stage = with_kueue(FORBIDDEN)
        stage.run()
        del stage.cluster.objects[SERVER]
        stage.run()

        assert SERVER in stage.cluster.objects

    def test_a_rotation_goes_on_without_it(self) -> None:
        stage = with_kueue(FORBIDDEN, bundle=b"theirs")
        stage.run()
        del stage.cluster.objects[AUTHORITY]
        for _ in range(15):
            stage.run()
            stage.steady += 60

        authority = stage.part(AUTHORITY, "tls.crt")
        assert stage.part(SERVER, "ca.crt") == authority
        assert bundles(stage.cluster, VALIDATING) == [authority]
        assert bundles(stage.cluster, KUEUE) == [b"theirs", b"theirs"]
        assert stage.problems.count(MAY_NOT) == 1
        assert stage.condition == ("False", "ProblemsFound", MAY_NOT)

    @pytest.mark.parametrize("how", ["granted", "by hand", "deleted"])
    def test_all_is_well_when_it_is_mended(self, how: str) -> None:
        stage = with_kueue(FORBIDDEN)
        stage.run()
        if how == "granted":
            del stage.cluster.refused[KUEUE]
        elif how == "by hand":
            bundle = stage.part(AUTHORITY, "ca.crt")
            body = configuration("MutatingWebhookConfiguration", "team-kueue", OURS, bundle=bundle)
            stage.cluster.put(KUEUE, body)
        else:
            del stage.cluster.objects[KUEUE]
        stage.run()

        assert stage.condition == FINE
        assert stage.gauge("problems") == 0

    @pytest.mark.parametrize("error", [CONFLICT, GONE], ids=["conflict", "gone"])
    def test_what_changed_meanwhile_is_a_problem_only_if_it_goes_on_so(
        self, error: ApiError
    ) -> None:
        stage = with_kueue(error)

        assert stage.run() == 1.0
        assert SERVER in stage.cluster.objects
        assert stage.condition == FINE
        stage.run()
        assert stage.run() == 15.0
        assert stage.problems == [
            (
                f"MutatingWebhookConfiguration team-kueue calls our Service and cannot be updated: "
                f"{error}; mend it or give it the caBundle of Secret gpuspec-ca (ca.crt) yourself"
            )
        ]
        changed = [one for one in stage.logbook.lines if one["message"].endswith("meanwhile")]
        assert [one["why"] for one in changed] == [str(error)] * 2  # two entries in the first look

    def test_a_rotation_waits_for_what_may_be_written(self) -> None:
        """A conflict says nothing about permissions."""
        stage = with_kueue(CONFLICT)
        stage.run()
        former = stage.part(SERVER, "tls.crt")
        del stage.cluster.objects[AUTHORITY]
        stage.pass_time(NOW)

        assert stage.part(SERVER, "tls.crt") == former


class TestSecretsThatMayNotBeWritten:
    """They are told with what to do, and nothing comes to depend on what was not stored."""

    def test_an_immutable_server_s(self) -> None:
        stage = Stage()
        stage.run()
        stage.cluster.objects[SERVER] |= {"immutable": True}
        stage.cluster.refused[SERVER] = INVALID
        later = stage.at(61 * DAY)
        stage.pass_time(later)

        told = "Secret gpuspec-webhook-tls is immutable and has to change; delete it, and it is "
        assert stage.condition == ("False", "ProblemsFound", f"{told}made anew")
        ends = NOW + PLACES.rules.server_lifetime
        assert stage.gauge("not_after_timestamp_seconds", certificate="server") == ends.timestamp()
        del stage.cluster.objects[SERVER], stage.cluster.refused[SERVER]
        stage.run(later)
        assert stage.condition == FINE

    def test_an_immutable_authority_s_signs_while_it_is_valid(self) -> None:
        stage = Stage()
        stage.run()
        former = stage.part(AUTHORITY, "tls.crt")
        stage.cluster.objects[AUTHORITY] |= {"immutable": True}
        stage.cluster.refused[AUTHORITY] = INVALID
        later = stage.at(500 * DAY)
        stage.pass_time(later)

        assert stage.condition == ("False", "ProblemsFound", AUTHORITY_KEPT)
        assert bundles(stage.cluster, VALIDATING) == [former]
        assert (
            stage.gauge("not_after_timestamp_seconds", certificate="server")
            == (later + PLACES.rules.server_lifetime).timestamp()
        )
        del stage.cluster.objects[AUTHORITY], stage.cluster.refused[AUTHORITY]
        stage.pass_time(later)
        assert bundles(stage.cluster, VALIDATING) == [stage.part(AUTHORITY, "tls.crt")] != [former]
        assert stage.condition == FINE

    @pytest.mark.parametrize("error", [FORBIDDEN, GONE], ids=["forbidden", "no namespace"])
    def test_an_authority_that_cannot_be_created(self, error: ApiError) -> None:
        stage = Stage()
        stage.cluster.refused[AUTHORITY] = error
        stage.run()
        stage.run()

        assert stage.run() == 15.0
        assert stage.cluster.writes == []
        assert stage.problems == [f"Secret gpuspec-ca cannot be written: {error}"]
        del stage.cluster.refused[AUTHORITY]
        stage.run()
        assert stage.condition == FINE

    def test_what_was_refused_before_is_told_while_an_authority_is_refused(self) -> None:
        stage = with_kueue(FORBIDDEN)
        stage.run()
        del stage.cluster.objects[AUTHORITY]
        stage.cluster.refused[AUTHORITY] = FORBIDDEN
        stage.run()

        assert stage.gauge("problems") == 3
        *_, said = stage.condition
        assert said == (
            "the server certificate is of a former authority; a new one waits until its authority "
            "is trusted; Secret gpuspec-ca cannot be written: PUT: 403 Forbidden: no; " + MAY_NOT
        )
