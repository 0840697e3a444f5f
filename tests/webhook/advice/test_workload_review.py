"""What whoever applies a workload is told of its Pods (R4, R8)."""

from __future__ import annotations

import pytest

from tests.builders import Json, make_row, make_table
from webhook.admission.reasons import Reason
from webhook.admission.review import Undecidable
from webhook.admission.translate import Context, Verdict, translate
from webhook.advice.workload_review import decide_workload
from webhook.snapshot import Snapshot

TABLE = make_table(make_row("a30-24gb"), make_row("a100-80gb"))
SNAPSHOT = Snapshot(TABLE)
WRONG, RIGHT = "preferred.jp/gpu-a30-32gb", "preferred.jp/gpu-a30-24gb"
WHY = 'container "main": preferred.jp/gpu-a30-32gb: the largest a30 has 24 GB'


def workload(key: str = WRONG, kind: str = "Deployment", **more: Json) -> Json:
    container = {"name": "main", "image": "x", "resources": {"limits": {key: "1"}}}
    pod = {"spec": {"containers": [container], **more.get("pod", {})}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "train", **more.get("metadata", {})},
        "spec": {"template": pod, **more.get("spec", {})},
    }


def review(new: object, old: object = None, operation: str = "CREATE", **more: object) -> Json:
    request = {"uid": "u", "operation": operation, "object": new, "oldObject": old, **more}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def answer(document: Json, *, denies: bool = False, snapshot: Snapshot = SNAPSHOT) -> Json:
    response: Json = decide_workload(document, snapshot, denies=denies).answer["response"]
    return response


@pytest.mark.rule("R8")
def test_it_is_let_in_and_its_fate_is_told() -> None:
    told = answer(review(workload()))
    assert told["allowed"] is True
    (warning,) = told["warnings"]
    assert warning.startswith(f"its Pods will be refused: {WHY}")
    assert len(warning) <= 120


@pytest.mark.rule("R4")
def test_where_that_is_wanted_it_is_refused_with_every_reason() -> None:
    wrong = workload()
    second = {"name": "side", "image": "x", "resources": {"limits": {"preferred.jp/gpu-A30": "1"}}}
    wrong["spec"]["template"]["spec"]["containers"].append(second)
    told = answer(review(wrong), denies=True)
    assert told["allowed"] is False
    first, second = told["status"]["message"].splitlines()
    assert first.startswith('its Pods will be refused: container "side": preferred.jp/gpu-A30 has')
    assert second.startswith(WHY)


@pytest.mark.rule("R4")
def test_a_reason_that_is_too_long_is_cut_and_not_left_out() -> None:
    wrong = workload()
    (container,) = wrong["spec"]["template"]["spec"]["containers"]
    container["resources"]["limits"] = {f"preferred.jp/gpu-{'A' * 2000}": "1", WRONG: "1"}
    message = answer(review(wrong), denies=True)["status"]["message"]
    first, second = message.splitlines()
    assert first.startswith('its Pods will be refused: container "main": preferred.jp/gpu-AAA')
    assert (first[-1], second) == ("…", "… and 1 more")
    assert len(message.encode()) <= 1000


@pytest.mark.rule("R8")
def test_what_is_nearly_a_key_is_told_beside_what_is_refused() -> None:
    wrong = workload()
    (container,) = wrong["spec"]["template"]["spec"]["containers"]
    container["resources"]["limits"] |= {"preferred.jp/a100-80gb": "1"}
    told = answer(review(wrong), denies=True)
    assert told["warnings"] == [
        (
            "did you mean preferred.jp/gpu-a100-80gb? preferred.jp/a100-80gb is no spec: "
            'container "main"'
        )
    ]


def test_one_object_with_very_many_templates_is_judged_in_part() -> None:
    template = workload()["spec"]["template"]
    many = {"kind": "Fleet", "metadata": {"name": "x"}, "spec": {"parts": [template] * 1234}}
    warnings = answer(review(many))["warnings"]
    assert "only the first 250 of its 1234 kinds of Pods were judged" in warnings


def test_what_a_controller_tells_of_an_object_is_not_judged() -> None:
    told = {**workload(RIGHT), "status": {"stored": workload()["spec"]["template"]}}
    assert answer(review(told)) == {"uid": "u", "allowed": True}


@pytest.mark.parametrize("denies", [False, True])
def test_what_is_fine_passes_without_a_word(*, denies: bool) -> None:
    decision = decide_workload(review(workload(RIGHT)), SNAPSHOT, denies=denies)
    assert decision.answer["response"] == {"uid": "u", "allowed": True}
    assert decision.reason is Reason.GOOD_WORKLOAD


@pytest.mark.parametrize(
    "changed",
    [
        {"spec": {"replicas": 5}},
        {"metadata": {"labels": {"team": "a"}}},
    ],
)
def test_what_leaves_the_pods_alone_is_told_nothing_again(changed: Json) -> None:
    document = review(workload(**changed), workload(), "UPDATE")
    decision = decide_workload(document, SNAPSHOT, denies=True)
    assert decision.answer["response"] == {"uid": "u", "allowed": True}
    assert decision.reason is Reason.OTHER_OPERATION


@pytest.mark.rule("R8")
def test_a_template_that_is_changed_is_looked_at() -> None:
    told = answer(review(workload(), workload(RIGHT), "UPDATE"))
    assert told["warnings"]


@pytest.mark.parametrize(
    ("new", "denied"),
    [
        (workload(spec={"replicas": 0}, pod={"hostname": "a"}), False),
        (workload(spec={"suspend": True}, pod={"hostname": "a"}), False),
        (workload(metadata={"deletionTimestamp": "x"}, pod={"hostname": "a"}), False),
        (workload(pod={"hostname": "a"}), False),
        (workload("preferred.jp/gpu-nope", pod={"hostname": "a"}), True),
    ],
    ids=["scaled to zero", "suspended", "being deleted", "as wrong as before", "wrong anew"],
)
def test_nobody_is_kept_from_stopping_what_was_wrong_before(new: Json, *, denied: bool) -> None:
    told = answer(review(new, workload(), "UPDATE"), denies=True)
    assert told["allowed"] is not denied
    assert denied or told["warnings"]


@pytest.mark.parametrize("stopped", [{"suspend": True}, {"replicas": 0}, {"parallelism": 0}])
def test_what_was_stopped_is_judged_when_it_starts(stopped: Json) -> None:
    """Else whoever is refused would create it suspended, and resume it."""
    created = answer(review(workload(spec=stopped)), denies=True)
    started = review(workload(), workload(spec=stopped), "UPDATE")
    assert created["allowed"] is False
    assert answer(started, denies=True)["allowed"] is False
    assert answer(started)["warnings"][0].startswith("its Pods will be refused: ")
    right = review(workload(RIGHT), workload(RIGHT, spec=stopped), "UPDATE")
    assert answer(right, denies=True) == {"uid": "u", "allowed": True}


def test_what_an_operator_fills_in_is_no_reason_to_refuse() -> None:
    limits = {"preferred.jp/gpu-any": "1"}
    pod = {
        "container": {"image": "x", "resources": {"limits": limits}},
        "nodeSelector": {"nvidia.com/gpu.product": "{{inputs.parameters.product}}"},
    }
    flow = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "metadata": {"name": "w"},
        "spec": {"templates": [{"name": "t", **pod}]},
    }
    assert answer(review(flow), denies=True) == {"uid": "u", "allowed": True}


@pytest.mark.parametrize("odd", ["x", ["x"], 5, {"labels": "x"}])
def test_metadata_of_any_shape_is_looked_past(odd: object) -> None:
    told = answer(review({**workload(), "metadata": odd}), denies=True)
    assert told["allowed"] is False


def test_thousands_of_templates_without_a_key_of_ours_are_let_in_at_once() -> None:
    templates = [{"name": f"t{n}", "container": {"image": "x"}} for n in range(5000)]
    flow = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}
    assert answer(review({**flow, "spec": {"templates": templates}})) == {
        "uid": "u",
        "allowed": True,
    }


@pytest.mark.parametrize(
    "document",
    [
        review(None, workload(), "DELETE"),
        review(workload(), workload(RIGHT), "UPDATE", subResource="scale"),
        review(workload(), operation="CONNECT"),
        review(
            workload(
                kind="ReplicaSet",
                metadata={"ownerReferences": [{"kind": "Deployment", "controller": True}]},
            )
        ),
    ],
    ids=["deleted", "scaled", "connected", "made by a controller"],
)
def test_all_else_passes(document: Json) -> None:
    assert answer(document, denies=True) == {"uid": "u", "allowed": True}


@pytest.mark.rule("N8")
def test_a_daemon_sets_pods_would_be_refused() -> None:
    told = answer(review(workload(RIGHT, kind="DaemonSet")))
    assert "DaemonSet" in told["warnings"][0]


@pytest.mark.rule("D3", "N3")
def test_what_only_one_policy_refuses_is_not_told() -> None:
    """Ten rows and ten terms of its own are too many together; the smallest row's are not."""
    rows = [
        make_row(
            f"gpu{n}-{16 + n}gb", nodes={"matchLabels": {"gpu-model": f"m{n}", f"pool{n}": "x"}}
        )
        for n in range(10)
    ]
    terms = [{"matchExpressions": [in_zone(f"z{number}")]} for number in range(10)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    wish = workload("preferred.jp/gpu-any", pod={"affinity": {"nodeAffinity": required}})
    snapshot = Snapshot(make_table(*rows))
    pod = wish["spec"]["template"]
    assert translate(pod, Context(is_template=True), snapshot).verdict is Verdict.DENIED
    assert answer(review(wish), denies=True, snapshot=snapshot) == {"uid": "u", "allowed": True}


def in_zone(zone: str) -> Json:
    return {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}


def test_a_key_that_does_nothing_is_told() -> None:
    stray = workload(RIGHT, spec={"volumeClaimTemplates": [{"spec": {"resources": {WRONG: 1}}}]})
    (warning,) = answer(review(stray))["warnings"]
    assert warning.startswith(f"{WRONG} does nothing here")


@pytest.mark.rule("R6")
@pytest.mark.parametrize("document", [{}, review("x"), review(None)])
def test_what_cannot_be_answered_is_told_as_such(document: Json) -> None:
    with pytest.raises(Undecidable):
        decide_workload(document, SNAPSHOT)
