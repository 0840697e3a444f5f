"""Reviews in, answers out (R1, R2, R3, R6, R7)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.answers import admitted, answered, applied, patch_of
from tests.builders import UID, Json, PodBuilder, asking, make_pod, make_review, pfn, pfn_table
from webhook.admission.decide import decide
from webhook.admission.reasons import Reason
from webhook.admission.review import Undecidable
from webhook.admission.translate import Verdict
from webhook.snapshot import Snapshot


def nested(levels: int) -> object:
    value: object = 0
    for _ in range(levels):
        value = {"x": value}
    return value


@pytest.mark.rule("R3", "R6")
def test_a_patched_pod() -> None:
    pod = asking(any_24gb=1).build()

    decision = decide(make_review(pod, name="train"), pfn())

    assert decision.answer["response"]["uid"] == UID
    assert applied(pod, patch_of(decision.answer["response"])) == admitted(pod, pfn())
    assert (decision.outcome, decision.reason) == (Verdict.PATCHED, Reason.TRANSLATED)
    assert (decision.uid, decision.namespace, decision.name) == (UID, "team", "train")


@pytest.mark.rule("R3")
def test_the_patch_in_so_many_words() -> None:
    pod = make_pod().container("main", {"preferred.jp/gpu-a30": "1"}).spec(nodeSelector={}).build()

    assert patch_of(answered(pod, pfn())) == [
        {"op": "remove", "path": "/spec/containers/0/resources/limits/preferred.jp~1gpu-a30"},
        {
            "op": "add",
            "path": "/spec/containers/0/resources/limits/nvidia.com~1gpu",
            "value": "1",
        },
        {
            "op": "add",
            "path": "/spec/containers/0/resources/requests",
            "value": {"nvidia.com/gpu": "1"},
        },
        {"op": "add", "path": "/spec/nodeSelector/gpu-model", "value": "a30-24gb"},
        {
            "op": "add",
            "path": "/spec/tolerations",
            "value": [
                {
                    "key": "gpu-model",
                    "operator": "Equal",
                    "value": "a30-24gb",
                    "effect": "NoSchedule",
                },
                {
                    "key": "gpuspec.preferred.jp/reserved",
                    "operator": "Equal",
                    "value": "a30-24gb",
                    "effect": "NoSchedule",
                },
            ],
        },
        {
            "op": "add",
            "path": "/metadata/labels",
            "value": {"gpuspec.preferred.jp/spec": "gpu-a30"},
        },
        {
            "op": "add",
            "path": "/metadata/annotations",
            "value": {
                "gpuspec.preferred.jp/request": '{"containers":[{"name":"main","spec":"gpu-a30",'
                '"count":1}],"policy":"EveryFit","candidates":["a30-24gb"],'
                f'"table":"{pfn_table().digest}"}}'
            },
        },
    ]


@pytest.mark.rule("R6")
def test_a_denied_pod() -> None:
    response = answered(asking(h100=1).build(), pfn())

    assert response == {
        "uid": UID,
        "allowed": False,
        "status": {
            "status": "Failure",
            "code": 422,
            "reason": "Invalid",
            "message": 'container "main": preferred.jp/gpu-h100: no device is called h100; '
            "nearest: a100, v100, a30; or write preferred.jp/gpu-any; all: any, a100, a30, v100",
        },
    }


@pytest.mark.rule("R2", "R3")
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod().container("main", {"nvidia.com/gpu": "1"}), id="raw"),
        pytest.param(make_pod().container("main"), id="no resources"),
        pytest.param(make_pod().container("main", {"preferred.jp/network": "1"}), id="our domain"),
    ],
)
def test_a_pod_without_our_key_gets_nothing(pod: PodBuilder) -> None:
    assert answered(pod.build(), pfn()) == {"uid": UID, "allowed": True}


@pytest.mark.rule("R1")
@pytest.mark.parametrize(
    "fields",
    [
        {"operation": "UPDATE"},
        {"operation": "DELETE", "object": None},
        {"subResource": "ephemeralcontainers"},
        {"subResource": "binding", "kind": {"kind": "Binding"}},
        {"resource": {"group": "apps", "version": "v1", "resource": "daemonsets"}},
    ],
    ids=str,
)
def test_anything_but_the_creation_of_a_pod_is_let_in(fields: Json) -> None:
    """Even what would be denied: a denial would make old Pods undeletable."""
    wrong = asking(h100="x").build()

    decision = decide(make_review(wrong, **fields), pfn())

    assert decision.answer["response"] == {"uid": UID, "allowed": True}
    assert (decision.outcome, decision.reason) == (Verdict.UNCHANGED, Reason.OTHER_OPERATION)


@pytest.mark.rule("R7")
@pytest.mark.parametrize("pod", [asking(), asking(h100=1), make_pod().container("a")])
def test_a_dry_run_gets_the_same_answer(pod: PodBuilder) -> None:
    wet, dry = (decide(make_review(pod.build(), dryRun=said), pfn()) for said in (False, True))

    assert wet.answer == dry.answer
    assert (wet.dry_run, dry.dry_run) == (False, True)


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("tolerations", [nested(300)], id="tolerations"),
        pytest.param("affinity", nested(900), id="affinity"),
        pytest.param("os", nested(1000), id="os"),
        pytest.param("priority", 2**64, id="a number of 65 bits"),
        pytest.param("priorityClassName", "\ud800", id="half a character"),
    ],
)
def test_a_pod_that_cannot_be_written_again_is_no_pod(field: str, value: object) -> None:
    """No Kubernetes object is like that; it is the caller's mistake, not ours."""
    pod = asking().build()
    pod["spec"][field] = value

    with pytest.raises(Undecidable) as caught:
        decide(make_review(pod), pfn())

    assert caught.value.status == 400
    assert caught.value.message.startswith("request.object cannot be written as JSON: ")


@pytest.mark.rule("R3")
def test_depth_in_what_is_not_read_is_no_matter() -> None:
    pod = asking().build()
    pod["spec"]["volumes"] = [nested(900)]

    assert answered(pod, pfn())["allowed"] is True


@pytest.mark.rule("R6")
@pytest.mark.parametrize("document", [None, [], {}, {"kind": "AdmissionReview"}])
def test_no_review(document: object) -> None:
    with pytest.raises(Undecidable):
        decide(document, pfn())


@pytest.mark.rule("D8")
def test_replicas_are_answered_alike_and_once() -> None:
    """What tells replicas apart is not read, so the second is answered from memory."""
    snapshot = Snapshot(pfn_table())

    def replica(number: int) -> dict[str, Any]:
        pod = (
            asking(any_24gb=1)
            .metadata(
                name=f"train-{number}",
                labels={"pod-template-hash": str(number)},
                annotations={"checksum": str(number)},
            )
            .owner("ReplicaSet", f"rs-{number}")
            .spec(hostname=f"train-{number}", volumes=[{"name": f"v{number}"}])
        )
        return answered(pod.build(), snapshot)

    assert replica(1) == replica(2)
    assert replica(1)["patch"] is replica(2)["patch"]
