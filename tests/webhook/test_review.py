"""The envelope: what is answered at all, and in which of the two channels (R1, R6)."""

from __future__ import annotations

from copy import deepcopy

import pytest

from tests.builders import UID, Json, asking, make_review
from webhook.admission.review import Undecidable, allowed, denied, encode_patch, read_review

POD = asking().metadata(name="train-0", generateName="train-").build()
REVIEW = make_review(POD)

NO_REVIEW = "the body is no AdmissionReview; send one of admission.k8s.io/v1"
NO_REQUEST = "AdmissionReview has no request; only requests are answered"
NO_UID = "request.uid is missing, empty or no string; send the request's uid"


NO_REVIEWS: list[object] = [None, 5, "x", [], [REVIEW], {}, {"kind": "Pod"}, {"kind": []}]
NO_REQUESTS: list[object] = [None, [], "x", 5]
NO_UIDS: list[object] = [None, "", 5, [], {}]


def deep(levels: int) -> object:
    nested: object = []
    for _ in range(levels):
        nested = [nested]
    return nested


NO_VERSIONS: list[object] = [None, "", 1, {}, deep(200)]


def changed(document: Json, *path: str, value: object) -> Json:
    copy = deepcopy(document)
    node = copy
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return copy


class TestReading:
    """What a request says."""

    def test_a_review(self) -> None:
        review = read_review(make_review(POD, name="train-0", dryRun=True))

        assert review.uid == UID
        assert review.is_pod_create
        assert review.pod is not None
        assert (review.namespace, review.name, review.dry_run) == ("team", "train-0", True)

    @pytest.mark.parametrize(
        ("request_name", "metadata", "name"),
        [
            pytest.param("asked", {"name": "own"}, "asked", id="the request's name"),
            pytest.param("", {"name": "own", "generateName": "g-"}, "own", id="its own"),
            pytest.param("", {"generateName": "train-"}, "train-", id="generateName"),
            pytest.param(None, {"generateName": 5}, "", id="no text"),
            pytest.param("", None, "", id="no metadata"),
            pytest.param("", [], "", id="odd metadata"),
        ],
    )
    def test_the_name_for_the_log(self, request_name: object, metadata: object, name: str) -> None:
        review = make_review({**POD, "metadata": metadata}, name=request_name)

        assert read_review(review).name == name

    @pytest.mark.rule("R7")
    @pytest.mark.parametrize("said", [None, False, "true", 1])
    def test_only_true_is_a_dry_run(self, said: object) -> None:
        assert read_review(make_review(POD, dryRun=said)).dry_run is False

    @pytest.mark.rule("R1")
    @pytest.mark.parametrize(
        ("fields", "is_pod_create"),
        [
            pytest.param({}, True, id="CREATE of a Pod"),
            pytest.param({"subResource": ""}, True, id="an empty subresource is none"),
            pytest.param({"kind": None}, True, id="no kind"),
            pytest.param(
                {"resource": {"group": None, "resource": "pods"}}, True, id="the core group as null"
            ),
            pytest.param({"operation": "UPDATE"}, False, id="UPDATE"),
            pytest.param({"operation": "DELETE", "object": None}, False, id="DELETE"),
            pytest.param({"operation": "CONNECT"}, False, id="CONNECT"),
            pytest.param({"operation": "create"}, False, id="another case"),
            pytest.param({"operation": None}, False, id="no operation"),
            pytest.param({"subResource": "ephemeralcontainers"}, False, id="ephemeralcontainers"),
            pytest.param({"subResource": "binding"}, False, id="binding"),
            pytest.param({"subResource": "status"}, False, id="status"),
            pytest.param({"subResource": "resize"}, False, id="resize"),
            pytest.param(
                {"resource": {"group": "apps", "resource": "deployments"}}, False, id="Deployments"
            ),
            pytest.param({"resource": {"group": "x", "resource": "pods"}}, False, id="namesakes"),
            pytest.param({"resource": None}, False, id="no resource"),
            pytest.param({"resource": "pods"}, False, id="odd resource"),
            pytest.param({"resource": {"group": [], "resource": {}}}, False, id="odder resource"),
            pytest.param({"kind": {"kind": "PodTemplate"}}, False, id="another kind"),
        ],
    )
    def test_what_is_the_creation_of_a_pod(self, fields: Json, is_pod_create: bool) -> None:  # noqa: FBT001
        assert read_review(make_review(POD, **fields)).is_pod_create is is_pod_create


class TestRefusing:
    """What cannot be answered ends as an HTTP status with a message that a user reads (R6)."""

    @pytest.mark.rule("R6")
    @pytest.mark.parametrize(
        ("document", "message"),
        [
            *[pytest.param(document, NO_REVIEW, id=repr(document)) for document in NO_REVIEWS],
            pytest.param(
                changed(REVIEW, "apiVersion", value="admission.k8s.io/v1beta1"),
                "AdmissionReview is admission.k8s.io/v1beta1, only admission.k8s.io/v1 is "
                "understood; set admissionReviewVersions: [v1]",
                id="v1beta1",
            ),
            *[
                pytest.param(
                    changed(REVIEW, "apiVersion", value=version),
                    "AdmissionReview is of no version, only admission.k8s.io/v1 is understood; "
                    "set admissionReviewVersions: [v1]",
                    id=f"version {str(version)[:20]}",
                )
                for version in NO_VERSIONS
            ],
            pytest.param(
                changed(REVIEW, "apiVersion", value="v" * 5000),
                f"AdmissionReview is {'v' * 64}, only admission.k8s.io/v1 is understood; "
                "set admissionReviewVersions: [v1]",
                id="a long version",
            ),
            *[
                pytest.param(
                    changed(REVIEW, "request", value=request), NO_REQUEST, id=f"request {request!r}"
                )
                for request in NO_REQUESTS
            ],
            *[
                pytest.param(
                    changed(REVIEW, "request", "uid", value=uid), NO_UID, id=f"uid {uid!r}"
                )
                for uid in NO_UIDS
            ],
            pytest.param(changed(REVIEW, "request", value={}), NO_UID, id="no uid"),
            pytest.param(
                changed(REVIEW, "request", "uid", value="u" * 257),
                "request.uid has more than 256 characters; send a UUID",
                id="a long uid",
            ),
        ],
    )
    def test_bad_requests(self, document: object, message: str) -> None:
        with pytest.raises(Undecidable) as caught:
            read_review(document)

        assert (caught.value.status, caught.value.reason) == (400, "BadRequest")
        assert caught.value.message == str(caught.value) == message

    @pytest.mark.rule("R6")
    def test_a_version_of_a_thousand_levels(self) -> None:
        """Python cannot even print it."""
        with pytest.raises(Undecidable):
            read_review(changed(REVIEW, "apiVersion", value=deep(1000)))

    @pytest.mark.rule("R6")
    def test_the_longest_uid(self) -> None:
        assert read_review(make_review(POD, uid="u" * 256)).uid == "u" * 256


class TestAnswering:
    """The documents that go out."""

    @pytest.mark.rule("R6")
    def test_allowed(self) -> None:
        assert allowed("u") == {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": "u", "allowed": True},
        }

    @pytest.mark.rule("R6", "R3")
    def test_patched(self) -> None:
        patch = encode_patch([{"op": "remove", "path": "/a"}])

        assert allowed("u", patch, ["w"])["response"] == {
            "uid": "u",
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": "W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2EifV0=",
            "warnings": ["w"],
        }

    @pytest.mark.rule("R6")
    def test_denied(self) -> None:
        assert denied("u", "no", ["w"]) == {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {
                "uid": "u",
                "allowed": False,
                "status": {"status": "Failure", "code": 422, "reason": "Invalid", "message": "no"},
                "warnings": ["w"],
            },
        }
