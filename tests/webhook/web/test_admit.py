"""``POST /mutate`` in process: answers, refusals, what is counted and what is logged."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest

from tests.webhook.documents import UID, pod, review, review_bytes
from tests.webhook.web.asgi import JSON, Web, refused, without_reason
from webhook.admission.decide import Decision, decide
from webhook.admission.reasons import Reason
from webhook.metrics import Outcome
from webhook.snapshot import Snapshot
from webhook.web.status import Refusal


def answer_of(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    document = orjson.loads(response.content)
    assert document["apiVersion"] == "admission.k8s.io/v1"
    assert document["kind"] == "AdmissionReview"
    found: dict[str, Any] = document["response"]
    return found


class TestAnswers:
    @pytest.mark.rule("R6")
    def test_a_pod_is_patched_under_the_uid_that_came(self) -> None:
        answer = answer_of(Web().post(review_bytes()))

        assert (answer["uid"], answer["allowed"]) == (UID, True)
        assert answer["patchType"] == "JSONPatch"
        operations = orjson.loads(base64.b64decode(answer["patch"]))
        assert {"op": "add", "path": "/spec/containers/0/resources/limits/nvidia.com~1gpu"} in [
            {key: operation[key] for key in ("op", "path")} for operation in operations
        ]

    @pytest.mark.rule("R6")
    def test_a_wrong_pod_is_denied_with_http_200(self) -> None:
        answer = answer_of(Web().post(review_bytes(pod("preferred.jp/gpu-h200"))))

        assert (answer["uid"], answer["allowed"]) == (UID, False)
        assert 400 <= answer["status"]["code"] < 500

    def test_a_pod_without_a_spec_is_left_alone(self) -> None:
        answer = answer_of(Web().post(review_bytes(pod("cpu", "4"))))

        assert answer == {"uid": UID, "allowed": True}

    def test_the_table_of_the_moment_decides(self) -> None:
        web = Web()
        before = answer_of(web.post(review_bytes(pod(amount="8"))))
        web.state.table.load(
            orjson.dumps(
                {
                    "apiVersion": "gpuspec.preferred.jp/v1alpha1",
                    "kind": "SelectionTable",
                    "metadata": {"name": "other"},
                    "spec": {
                        "resourceDomain": "preferred.jp",
                        "devices": [
                            {
                                "name": "a30",
                                "vram": "24gb",
                                "perNode": 4,
                                "nodes": {"matchLabels": {"gpu-model": "a30"}},
                                "resource": "nvidia.com/gpu",
                            }
                        ],
                    },
                }
            ),
            "other.json",
        )

        after = answer_of(web.post(review_bytes(pod(amount="8"))))

        assert (before["allowed"], after["allowed"]) == (True, False)

    @pytest.mark.parametrize(
        "content_type", ["application/json; charset=utf-8", "Application/JSON"]
    )
    def test_json_may_be_spelt_in_several_ways(self, content_type: str) -> None:
        response = Web().request(
            "POST", "/mutate", content=review_bytes(), headers={"content-type": content_type}
        )

        assert answer_of(response)["uid"] == UID

    def test_routing_leads_to_the_same_as_the_way_around_it(self) -> None:
        web = Web()
        around = web.post(review_bytes())

        web.app.middleware_stack = web.app.router
        routed = web.post(review_bytes())

        assert routed.content == around.content
        assert routed.headers == around.headers


SEND = "; send an AdmissionReview"
NO_REVIEW = "the body is no AdmissionReview; send one of admission.k8s.io/v1"
NO_REQUEST = "AdmissionReview has no request; only requests are answered"
NO_UID = "request.uid is missing, empty or no string; send the request's uid"


def without(review: dict[str, Any], field: str) -> bytes:
    return orjson.dumps({key: value for key, value in review.items() if key != field})


class TestBadBodies:
    """R6: what cannot be judged is a 4xx with a Status object, and the next request is served."""

    @pytest.mark.rule("R6")
    @pytest.mark.parametrize(
        ("body", "message"),
        [
            pytest.param(b"", "the body is empty" + SEND, id="empty"),
            pytest.param(
                b'{"kind": "\xff"}', "the body is not UTF-8 from byte 10 on" + SEND, id="not UTF-8"
            ),
            pytest.param(
                "{}".encode("utf-16"), "the body is not UTF-8 from byte 0 on" + SEND, id="UTF-16"
            ),
            pytest.param(b"null", NO_REVIEW, id="null"),
            pytest.param(b"[]", NO_REVIEW, id="list"),
            pytest.param(b'"AdmissionReview"', NO_REVIEW, id="string"),
            pytest.param(b"{}", NO_REVIEW, id="empty object"),
            pytest.param(orjson.dumps(pod()), NO_REVIEW, id="a Pod"),
            pytest.param(
                orjson.dumps(review() | {"apiVersion": "admission.k8s.io/v1beta1"}),
                "AdmissionReview is admission.k8s.io/v1beta1, only admission.k8s.io/v1 is "
                "understood; set admissionReviewVersions: [v1]",
                id="v1beta1",
            ),
            pytest.param(without(review(), "request"), NO_REQUEST, id="no request"),
            pytest.param(
                orjson.dumps(review() | {"request": None}), NO_REQUEST, id="request is null"
            ),
            pytest.param(
                orjson.dumps(review() | {"request": [1]}), NO_REQUEST, id="request is a list"
            ),
            pytest.param(orjson.dumps(review() | {"request": {}}), NO_UID, id="request is empty"),
            pytest.param(review_bytes(uid=None), NO_UID, id="uid is null"),
            pytest.param(review_bytes(uid=""), NO_UID, id="uid is empty"),
            pytest.param(review_bytes(uid=7), NO_UID, id="uid is a number"),
            pytest.param(
                review_bytes(uid="x" * 1_000_000),
                "request.uid has more than 256 characters; send a UUID",
                id="uid of a megabyte",
            ),
        ],
    )
    def test_message(self, body: bytes, message: str) -> None:
        web = Web()

        response = web.post(body)

        assert response.status_code == 400
        assert without_reason(response) == refused(400, message)
        assert answer_of(web.post(review_bytes()))["uid"] == UID

    @pytest.mark.rule("R6")
    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(b"apiVersion: admission.k8s.io/v1", id="YAML"),
            pytest.param(review_bytes()[:-1], id="cut short"),
            pytest.param(review_bytes() + b"{}", id="two documents"),
            pytest.param(b"\xef\xbb\xbf" + review_bytes(), id="byte order mark"),
            pytest.param(b"[" * 100_000 + b"]" * 100_000, id="deep lists"),
            pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="deep objects"),
            pytest.param(b"NaN", id="NaN"),
            pytest.param(b'{"a": 1' + b"0" * 400 + b"}", id="huge number"),
            pytest.param(b'{"a": "\\ud800"}', id="half a surrogate pair"),
        ],
    )
    def test_no_json(self, body: bytes) -> None:
        """The parser's own words are passed on: they have the line and the column."""
        web = Web()

        response = web.post(body)

        assert response.status_code == 400
        message = without_reason(response)["message"]
        assert re.fullmatch(
            r"the body is no JSON: .+: line 1 column \d+ \(char \d+\); send an AdmissionReview",
            message,
        )
        assert answer_of(web.post(review_bytes()))["uid"] == UID

    @pytest.mark.rule("R6")
    @pytest.mark.parametrize("depth", [100, 300, 1000, 1022])
    def test_depth_within_json_is_never_a_server_error(self, depth: int) -> None:
        """Deeper than the answer could be written, not yet too deep to be read."""
        web = Web()
        deep = review_bytes({**pod(), "x": "DEEP"}).replace(b'"DEEP"', b"[" * depth + b"]" * depth)

        response = web.post(deep)

        assert response.status_code in {200, 400}
        if response.status_code == 400:
            without_reason(response)

    @pytest.mark.rule("R6")
    @pytest.mark.parametrize(
        ("headers", "message"),
        [
            pytest.param({}, "the body's content type is ''; send application/json", id="none"),
            pytest.param(
                {"content-type": "application/yaml"},
                "the body's content type is 'application/yaml'; send application/json",
                id="YAML",
            ),
            pytest.param(
                {"content-type": "application/vnd.kubernetes.protobuf"},
                "the body's content type is 'application/vnd.kubernetes.protobuf'; "
                "send application/json",
                id="protobuf",
            ),
            pytest.param(
                JSON | {"content-encoding": "gzip"},
                "the body is encoded as 'gzip'; send it as it is",
                id="compressed",
            ),
        ],
    )
    def test_wrong_content_type(self, headers: dict[str, str], message: str) -> None:
        response = Web().request("POST", "/mutate", content=review_bytes(), headers=headers)

        assert response.status_code == 415
        assert without_reason(response) == refused(415, message)

    @pytest.mark.rule("R6")
    def test_without_a_table_nothing_is_decided(self) -> None:
        response = Web(with_table=False).post(review_bytes())

        assert response.status_code == 503
        assert orjson.loads(response.content) == {
            **refused(503, "there is no selection table yet; /readyz says why"),
            "reason": "ServiceUnavailable",
        }


class TestRouting:
    @pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
    def test_other_methods(self, method: str) -> None:
        response = Web().request(method, "/mutate")

        assert response.status_code == 405
        assert response.headers["allow"] == "POST"
        assert without_reason(response) == refused(405, f"{method} is not served at /mutate")

    @pytest.mark.parametrize("path", ["/", "/Mutate", "/mutate/", "/docs", "/openapi.json"])
    def test_other_paths(self, path: str) -> None:
        response = Web().post(review_bytes(), path)

        assert response.status_code == 404
        assert without_reason(response) == refused(
            404, f"there is nothing at {path}; reviews go to /mutate, /validate or /warn"
        )


class TestBug:
    """A decision that raises what it should not."""

    @staticmethod
    def broken(document: object, snapshot: Snapshot) -> Decision:
        if b"gpu-a30" in orjson.dumps(document):
            raise KeyError("row")
        return decide(document, snapshot)

    @pytest.mark.rule("R6")
    def test_it_is_a_500_and_the_next_request_is_served(self) -> None:
        web = Web(self.broken)

        response = web.post(review_bytes(pod("preferred.jp/gpu-a30")))

        assert response.status_code == 500
        assert orjson.loads(response.content) == {
            **refused(500, f"gpuspec failed on review {UID} with KeyError; its log has more"),
            "reason": "InternalError",
        }
        assert answer_of(web.post(review_bytes()))["uid"] == UID

    def test_the_log_has_the_uid_and_the_traceback_but_not_the_pod(self) -> None:
        web = Web(self.broken)

        web.post(review_bytes(pod("preferred.jp/gpu-a30")))

        failure, line = web.book.lines
        assert (failure["level"], failure["message"]) == ("error", "failed to decide a review")
        assert failure["uid"] == UID
        assert "in broken" in failure["traceback"]
        assert "KeyError: 'row'" in failure["traceback"]
        assert (line["outcome"], line["reason"], line["status"]) == (
            "undecided",
            "InternalError",
            500,
        )
        assert b"never-in-a-log" not in b"".join(web.book.written)

    @pytest.mark.parametrize("request_", [None, "x", {"uid": 5}, {"uid": "u" * 1000}])
    def test_even_a_review_without_a_uid_is_answered(self, request_: object) -> None:
        def fail(_document: object, _snapshot: Snapshot) -> Decision:
            raise ZeroDivisionError

        response = Web(fail).post(orjson.dumps({"request": request_}))

        assert response.status_code == 500
        assert len(response.content) < 1000

    def test_an_answer_that_cannot_be_written_is_a_bug_too(self) -> None:
        def unwritable(document: object, snapshot: Snapshot) -> Decision:
            return replace(decide(document, snapshot), answer={"response": object()})

        assert Web(unwritable).post(review_bytes()).status_code == 500


class TestRecords:
    """One line and one count a decision, and never anything of the Pod but its name."""

    @pytest.mark.parametrize(
        ("body", "level", "outcome", "reason", "dry_run"),
        [
            pytest.param(review_bytes(), "info", "patched", "Translated", False, id="patched"),
            pytest.param(
                review_bytes(pod("cpu")), "info", "unchanged", "NoSpec", False, id="unchanged"
            ),
            pytest.param(
                review_bytes(pod("preferred.jp/gpu-h200")),
                "warning",
                "denied",
                "NoSuchDevice",
                False,
                id="denied",
            ),
            pytest.param(
                review_bytes(dryRun=True), "info", "patched", "Translated", True, id="dry run"
            ),
        ],
    )
    def test_log_line(
        self, body: bytes, level: str, outcome: str, reason: str, *, dry_run: bool
    ) -> None:
        web = Web()

        web.post(body)

        (line,) = web.book.lines
        assert line.pop("ms") > 0
        assert line == {
            "level": level,
            "message": "review",
            "uid": UID,
            "namespace": "ml",
            "name": "train-",
            "outcome": outcome,
            "reason": reason,
            "dryRun": dry_run,
        }
        assert b"never-in-a-log" not in b"".join(web.book.written)

    def test_a_refusal_has_a_line_too(self) -> None:
        web = Web()

        web.post(b"{}")

        (line,) = web.book.lines
        assert line.pop("ms") > 0
        assert line == {
            "level": "warning",
            "message": "review",
            "outcome": "undecided",
            "reason": "Undecidable",
            "status": 400,
            "why": NO_REVIEW,
        }

    def test_a_name_of_a_megabyte_does_not_fill_the_log(self) -> None:
        web = Web()

        web.post(review_bytes(namespace="n" * 1_000_000, name="m" * 1_000_000))

        assert len(b"".join(web.book.written)) < 1000

    @pytest.mark.rule("R7")
    def test_dry_runs_are_counted_apart_from_what_was_asked_for(self) -> None:
        web = Web()

        for dry_run in (False, True, True):
            web.post(review_bytes(dryRun=dry_run))

        assert web.reviews() == {("patched", "Translated"): 1, ("dry_run", "Translated"): 2}

    @pytest.mark.rule("R7")
    def test_a_dry_run_gets_the_same_answer(self) -> None:
        web = Web()

        assert web.post(review_bytes(dryRun=True)).content == web.post(review_bytes()).content

    def test_every_review_is_timed_once(self) -> None:
        web = Web()

        for body in (review_bytes(), b"", review_bytes(pod("cpu"))):
            web.post(body)

        assert web.metrics.registry.get_sample_value("gpuspec_review_seconds_count") == 3
        assert web.reviews() == {
            ("patched", "Translated"): 1,
            ("undecided", "NotJson"): 1,
            ("unchanged", "NoSpec"): 1,
        }

    def test_labels_come_from_closed_sets(self) -> None:
        """Nothing that a user can write becomes a label."""
        web = Web()
        bodies = [
            review_bytes(pod(key, amount))
            for key in ("preferred.jp/gpu-any", "preferred.jp/GPU-x", "preferred.jp/gpu-zz", "cpu")
            for amount in ("1", "0", "-1", "900")
        ]

        for body in [*bodies, b"", b"{}", b"[]"]:
            web.post(body)

        outcomes = {outcome.value for outcome in Outcome}
        reasons = {reason.value for reason in Reason} | {reason.value for reason in Refusal}
        assert {outcome for outcome, _ in web.reviews()} <= outcomes
        assert {reason for _, reason in web.reviews()} <= reasons


class TestDraining:
    def test_clients_are_asked_to_come_back_elsewhere(self) -> None:
        web = Web()
        before = web.post(review_bytes())
        web.state.draining.active = True

        after = web.post(review_bytes())
        refused_after = web.post(b"")

        assert "connection" not in before.headers
        assert after.headers["connection"] == refused_after.headers["connection"] == "close"
        assert after.content == before.content
