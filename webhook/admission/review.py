"""The AdmissionReview envelope (admission.k8s.io/v1): what came in, and the answer that goes out.

Two channels (semantics R6): a Pod that is wrong is denied in an AdmissionReview; a review that
cannot be judged raises ``Undecidable``, which the HTTP layer answers with a 4xx or 5xx and a
``Status`` object, so that ``failurePolicy`` decides.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from webhook.jsonpatch import Operation

_API_VERSION = "admission.k8s.io/v1"
_KIND = "AdmissionReview"
_BAD_REQUEST = 400
_UNPROCESSABLE = 422

# An API server makes UUIDs; anything longer is echoed by nobody.
_MAX_UID = 256


class Undecidable(Exception):  # noqa: N818 - it is no error of the Pod
    """This review cannot be judged; the API server's failurePolicy decides (R6).

    Attributes:
        status: The HTTP status of the answer.
        reason: The ``reason`` of the Status object, a word of the Kubernetes API.
        message: What the user will read.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Review:
    """The parts of a request that a decision needs; ``pod`` is the very object received."""

    uid: str
    is_pod_create: bool
    pod: object
    namespace: str
    name: str
    dry_run: bool


def read_review(document: object) -> Review:
    """Read an AdmissionReview request about a Pod.

    Raises:
        Undecidable: It is none, is of another version, or has no usable uid.
    """
    uid, request = read_request(document)
    pod = request.get("object")
    return Review(
        uid=uid,
        is_pod_create=_is_pod_create(request),
        pod=pod,
        namespace=text_of(request.get("namespace")),
        name=text_of(request.get("name")) or _generate_name(pod),
        dry_run=request.get("dryRun") is True,
    )


def read_request(document: object) -> tuple[str, dict[str, Any]]:
    """Return the uid and the request of an AdmissionReview about any object.

    Raises:
        Undecidable: It is none, is of another version, or has no usable uid.
    """
    if not isinstance(document, dict) or document.get("kind") != _KIND:
        raise bad_request("the body is no AdmissionReview; send one of admission.k8s.io/v1")
    if document.get("apiVersion") != _API_VERSION:
        got = text_of(document.get("apiVersion"))[:64] or "of no version"
        raise bad_request(
            f"AdmissionReview is {got}, only {_API_VERSION} is understood; "
            "set admissionReviewVersions: [v1]"
        )
    request = document.get("request")
    if not isinstance(request, dict):
        raise bad_request("AdmissionReview has no request; only requests are answered")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise bad_request("request.uid is missing, empty or no string; send the request's uid")
    if len(uid) > _MAX_UID:
        raise bad_request(f"request.uid has more than {_MAX_UID} characters; send a UUID")
    return uid, request


def encode_patch(operations: Sequence[Operation]) -> str:
    """Return operations as the text that a response carries: JSON in base64."""
    return b64encode(orjson.dumps(operations)).decode()


def allowed(uid: str, patch: str = "", warnings: Sequence[str] = ()) -> dict[str, Any]:
    """Return the answer that lets an object in, with its encoded patch if there is one."""
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = patch
    if warnings:
        response["warnings"] = list(warnings)
    return _envelope(response)


def denied(uid: str, message: str, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """Return the answer that refuses an object; the message is what the user reads."""
    response: dict[str, Any] = {
        "uid": uid,
        "allowed": False,
        "status": {
            "status": "Failure",
            "code": _UNPROCESSABLE,
            "reason": "Invalid",
            "message": message,
        },
    }
    if warnings:
        response["warnings"] = list(warnings)
    return _envelope(response)


def unwritable(error: Exception) -> Undecidable:
    """Return what to raise for a Pod that can be read as JSON but not written again (R6)."""
    return bad_request(f"request.object cannot be written as JSON: {error}; send a Pod")


def _envelope(response: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": _API_VERSION, "kind": _KIND, "response": response}


def bad_request(message: str) -> Undecidable:
    """Return what to raise for a review that nobody could answer (R6)."""
    return Undecidable(_BAD_REQUEST, "BadRequest", message)


def _is_pod_create(request: dict[str, Any]) -> bool:
    """R1: the creation of a Pod itself, no subresource, no other kind."""
    resource, kind = request.get("resource"), request.get("kind")
    return (
        request.get("operation") == "CREATE"
        and not request.get("subResource")
        and isinstance(resource, dict)
        and (resource.get("group") or "", resource.get("resource")) == ("", "pods")
        and (not isinstance(kind, dict) or kind.get("kind") == "Pod")
    )


def text_of(value: object) -> str:
    """Return a text, "" for anything else."""
    return value if isinstance(value, str) else ""


def _generate_name(pod: object) -> str:
    metadata = pod.get("metadata") if isinstance(pod, dict) else None
    if not isinstance(metadata, dict):
        return ""
    return text_of(metadata.get("name")) or text_of(metadata.get("generateName"))
